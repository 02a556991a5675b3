"""
What a VM size says about GPUs: which driver image, and whether fabric manager is needed.

Sizes match in any case, but the SGX sizes only as written. Every size has a driver, also those
without a GPU: the scripts look at GPU_NODE first.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import render_flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine

# K80 machines run no driver later than this; no image provides it.
NC_V1_DRIVER_VERSION = "cuda-470.82.01"

# A10: one driver serves both compute and graphics.
GRID_SIZES = frozenset(
    (
        "standard_nv6ads_a10_v5",
        "standard_nv12ads_a10_v5",
        "standard_nv18ads_a10_v5",
        "standard_nv36ads_a10_v5",
        "standard_nv36adms_a10_v5",
        "standard_nv72ads_a10_v5",
        "standard_nc8ads_a10_v4",
        "standard_nc16ads_a10_v4",
        "standard_nc32ads_a10_v4",
    )
)

# RTX PRO 6000. The sizes of 128, 256 and 320 cores were a preview.
GRID_V20_SIZES = frozenset(
    (
        "standard_nc24lds_xl_rtxpro6000bse_v6",
        "standard_nc36ds_xl_rtxpro6000bse_v6",
        "standard_nc36lds_xl_rtxpro6000bse_v6",
        "standard_nc72ds_xl_rtxpro6000bse_v6",
        "standard_nc72lds_xl_rtxpro6000bse_v6",
        "standard_nc128ds_xl_rtxpro6000bse_v6",
        "standard_nc128lds_xl_rtxpro6000bse_v6",
        "standard_nc144ds_xl_rtxpro6000bse_v6",
        "standard_nc144lds_xl_rtxpro6000bse_v6",
        "standard_nc256ds_xl_rtxpro6000bse_v6",
        "standard_nc256lds_xl_rtxpro6000bse_v6",
        "standard_nc288ds_xl_rtxpro6000bse_v6",
        "standard_nc288lds_xl_rtxpro6000bse_v6",
        "standard_nc320ds_xl_rtxpro6000bse_v6",
        "standard_nc320lds_xl_rtxpro6000bse_v6",
    )
)

# Machines whose GPUs are linked by NVSwitch.
FABRIC_MANAGER_SIZES = frozenset(
    (
        # A100
        "standard_nd96asr_v4",
        "standard_nd112asr_a100_v4",
        "standard_nd120asr_a100_v4",
        "standard_nd96amsr_a100_v4",
        "standard_nd112amsr_a100_v4",
        "standard_nd120amsr_a100_v4",
        "standard_nd96ams_a100_v4",
        "standard_nd96ams_v4",
        # H100
        "standard_nd46s_h100_v5",
        "standard_nd48s_h100_v5",
        "standard_nd50s_h100_v5",
        "standard_nd92is_h100_v5",
        "standard_nd96is_h100_v5",
        "standard_nd100is_h100_v5",
        "standard_nd92isr_h100_v5",
        "standard_nd96isr_h100_v5",
        "standard_nd100isr_h100_v5",
        # H200
        "standard_nd96is_h200_v5",
        "standard_nd96isr_h200_v5",
        "standard_nd96isrf_h200_v5",
    )
)

SGX_SIZES = ("Standard_DC2s", "Standard_DC4s")


def driver_type_of(vm_size: str) -> str:
    """Return the kind of driver, which is also the last part of its image's name."""
    size = vm_size.lower()
    if size in GRID_V20_SIZES:
        return "grid-v20"
    if size in GRID_SIZES:
        return "grid"
    # NC of the first generation: the later ones have _v2, _v3 and so on.
    if size.startswith("standard_nc") and "_v" not in size:
        return "cuda"
    return "cuda-lts"


def driver_type(machine: Machine) -> str:
    """GPU_DRIVER_TYPE."""
    return driver_type_of(machine.config.text("vm_size"))


def driver_version(machine: Machine) -> str:
    """GPU_DRIVER_VERSION."""
    kind = driver_type(machine)
    if kind == "cuda":
        return NC_V1_DRIVER_VERSION
    return machine.components.driver_version(f"aks-gpu-{kind}")


def image_suffix(machine: Machine) -> str:
    """GPU_IMAGE_SHA. The K80's driver comes in the image of cuda-lts."""
    kind = driver_type(machine)
    return machine.components.image_suffix(f"aks-gpu-{'cuda-lts' if kind == 'cuda' else kind}")


def fabric_manager(machine: Machine) -> str:
    """GPU_NEEDS_FABRIC_MANAGER."""
    return render_flag(machine.config.text("vm_size").lower() in FABRIC_MANAGER_SIZES)


def sgx_node(machine: Machine) -> str:
    """SGX_NODE."""
    return render_flag(machine.config.text("vm_size") in SGX_SIZES)
