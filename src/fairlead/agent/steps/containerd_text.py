"""
The text of containerd's config.toml, in the format of the containerd that will read it.

Version 3 came with containerd 2.0 and renamed the plugins. 2.x still reads version 2, so version
2 is the answer when nobody can be asked. Sections of the pool's owner go over ours, and are in one
of the two formats themselves. Nothing here touches a machine: admission asks the same question.
"""

from __future__ import annotations

from fairlead.agent.steps.one_line import one_line
from fairlead.agent.steps.taken_files import REGISTRY_HOSTS
from fairlead.contract.node_settings import CONTAINERD, NAME, containerd_of, kubelet_of
from fairlead.contract.toml_text import key_text, render_toml
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.contract.node_config import NodeConfig

SANDBOX_FIELD = "kube_binary_config.pod_infra_container_image_url"
ROOT_FIELD = "kubelet_config.container_data_dir"

# The first containerd that reads version 3.
FIRST_MAJOR_WITH_VERSION_3 = 2

# How the two formats call what runs containers.
PLUGIN_OF_VERSION_2 = "io.containerd.grpc.v1.cri"
IMAGES_OF_VERSION_3 = "io.containerd.cri.v1.images"
RUNTIME_OF_VERSION_3 = "io.containerd.cri.v1.runtime"

# The kubelet's name for the other cgroup driver.
CGROUPFS = "cgroupfs"

VERSION_FIELD = f"{NAME}[{CONTAINERD}version]"


def render_containerd_config(
    config: NodeConfig, version: int, network: dict[str, object] | None = None
) -> str:
    """
    Return config.toml in format version 2 or 3: our tables, and the pool's over them.

    network: what the image needs in the table `cni`, from network_plugins_of.
    """
    sections = containerd_of(config)
    tables = _tables_of(config, version, {} if _names_plugins(sections) else network or {})
    _merge(tables, {**sections, "version": version}, "")
    return render_toml(tables)


def _tables_of(config: NodeConfig, version: int, network: dict[str, object]) -> dict[str, object]:
    sandbox = one_line(config.text(SANDBOX_FIELD), SANDBOX_FIELD)
    root = one_line(config.text(ROOT_FIELD), ROOT_FIELD)
    if root and not root.startswith("/"):
        raise InputError("not an absolute path", field=ROOT_FIELD)
    # The cgroup driver must be the kubelet's: systemd, if the owner says nothing else.
    is_systemd = kubelet_of(config).get("cgroupDriver") != CGROUPFS
    runc = {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": is_systemd}}
    runtime: dict[str, object] = {
        "containerd": {"default_runtime_name": "runc", "runtimes": {"runc": runc}},
        **({"cni": network} if network else {}),
    }
    registry = {"config_path": REGISTRY_HOSTS}
    if version == 2:  # noqa: PLR2004 - a version is compared with a number
        image: dict[str, object] = {"sandbox_image": sandbox} if sandbox else {}
        plugins = {PLUGIN_OF_VERSION_2: {**image, **runtime, "registry": registry}}
    else:
        image = {"pinned_images": {"sandbox": sandbox}} if sandbox else {}
        plugins = {
            IMAGES_OF_VERSION_3: {**image, "registry": registry},
            RUNTIME_OF_VERSION_3: runtime,
        }
    top: dict[str, object] = {"version": version}
    return {**top, **({"root": root} if root else {}), "plugins": plugins}


def _names_plugins(sections: dict[str, object]) -> bool:
    """Say whether the pool's sections name a directory of plugins; containerd takes one word."""
    plugins = sections.get("plugins")
    tables = list(plugins.values()) if isinstance(plugins, dict) else []
    found = [table.get("cni") for table in tables if isinstance(table, dict)]
    return any("bin_dir" in cni or "bin_dirs" in cni for cni in found if isinstance(cni, dict))


def _merge(ours: dict[str, object], theirs: dict[str, object], path: str) -> None:
    """Put their settings over ours; a table stays a table."""
    for key, value in theirs.items():
        found = ours.get(key)
        inner = f"{path}.{key_text(key)}" if path else key_text(key)
        if isinstance(found, dict) and isinstance(value, dict):
            _merge(found, value, inner)
        elif found is not None and isinstance(found, dict) != isinstance(value, dict):
            kind = "a table" if isinstance(found, dict) else "one setting"
            raise InputError(f"{inner} is {kind} of this config", field=f"{NAME}[{CONTAINERD}...]")
        else:
            ours[key] = value


def config_version(sections: dict[str, object], major: int | None) -> int:
    """
    Return the format to write: the one that the pool's sections are in, else the machine's own.

    `major` is the version of the containerd that will read it, None if nobody can be asked.
    """
    plugins = sections.get("plugins")
    names = [str(name) for name in plugins] if isinstance(plugins, dict) else []
    wanted = sections.get("version")
    if wanted is None and any(name.startswith("io.containerd.cri.v1.") for name in names):
        wanted = 3
    elif wanted is None and PLUGIN_OF_VERSION_2 in names:
        wanted = 2
    if wanted is None:
        return 3 if (major or 0) >= FIRST_MAJOR_WITH_VERSION_3 else 2
    if wanted not in (2, 3) or not isinstance(wanted, int):
        raise InputError("expected version 2 or 3", field=VERSION_FIELD)
    if wanted == 3 and major is not None and major < FIRST_MAJOR_WITH_VERSION_3:  # noqa: PLR2004
        raise InputError(
            f"version 3 is for containerd 2 and later, found {major}",
            field=VERSION_FIELD,
            hint=f"write the sections for {PLUGIN_OF_VERSION_2}, or take a newer image",
        )
    return wanted
