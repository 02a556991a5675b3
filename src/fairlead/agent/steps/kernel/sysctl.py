"""
Kernel settings: what Kubernetes needs, what the kubelet insists on, and what the config asks for.

The pool's owner has the last word, in the same file: two files about one key would take turns.

Whether they are in force is read from /proc/sys, not guessed from the file: a key whose module
was loaded later is put right by the next run.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.steps.one_line import is_made_of
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd, run_command
from fairlead.agent.steps.write import PUBLIC, apply_file
from fairlead.contract.node_settings import sysctls_of
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

SETTINGS_FILE = "/etc/sysctl.d/60-fairlead.conf"
MODULES_FILE = "/etc/modules-load.d/fairlead.conf"

# Part of systemd, so it is there wherever this runs; the sysctl program is not in every image.
APPLY_SETTINGS = ["/usr/lib/systemd/systemd-sysctl", SETTINGS_FILE]

# overlay holds container roots, br_netfilter lets pod traffic on bridges meet iptables.
MODULES = ("overlay", "br_netfilter")
CONNTRACK_MODULE = "nf_conntrack"

# Without forwarding, no packet reaches a pod.
NEEDED = {
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.bridge.bridge-nf-call-ip6tables": "1",
    "net.ipv4.ip_forward": "1",
}

# With protectKernelDefaults the kubelet refuses to start unless these are set as it would.
KUBELET_DEFAULTS = {
    "kernel.keys.root_maxbytes": "25000000",
    "kernel.keys.root_maxkeys": "1000000",
    "kernel.panic": "10",
    "kernel.panic_on_oops": "1",
    "vm.overcommit_memory": "1",
    "vm.panic_on_oom": "0",
}
PROTECT_FIELD = "kubelet_config.kubelet_config_file_config.protect_kernel_defaults"
PROTECT_FLAG = "--protect-kernel-defaults"

FIELDS = "custom_linux_os_config.sysctl_config"

# field of sysctl_config: kernel key
KERNEL_KEYS = {
    "net_core_somaxconn": "net.core.somaxconn",
    "net_core_netdev_max_backlog": "net.core.netdev_max_backlog",
    "net_core_rmem_default": "net.core.rmem_default",
    "net_core_rmem_max": "net.core.rmem_max",
    "net_core_wmem_default": "net.core.wmem_default",
    "net_core_wmem_max": "net.core.wmem_max",
    "net_core_optmem_max": "net.core.optmem_max",
    "net_ipv4_tcp_max_syn_backlog": "net.ipv4.tcp_max_syn_backlog",
    "net_ipv4_tcp_max_tw_buckets": "net.ipv4.tcp_max_tw_buckets",
    "net_ipv4_tcp_fin_timeout": "net.ipv4.tcp_fin_timeout",
    "net_ipv4_tcp_keepalive_time": "net.ipv4.tcp_keepalive_time",
    "net_ipv4_tcp_keepalive_probes": "net.ipv4.tcp_keepalive_probes",
    "net_ipv4_tcpkeepalive_intvl": "net.ipv4.tcp_keepalive_intvl",
    "net_ipv4_tcp_tw_reuse": "net.ipv4.tcp_tw_reuse",
    "net_ipv4_ip_local_port_range": "net.ipv4.ip_local_port_range",
    "net_ipv4_neigh_default_gc_thresh1": "net.ipv4.neigh.default.gc_thresh1",
    "net_ipv4_neigh_default_gc_thresh2": "net.ipv4.neigh.default.gc_thresh2",
    "net_ipv4_neigh_default_gc_thresh3": "net.ipv4.neigh.default.gc_thresh3",
    "net_netfilter_nf_conntrack_max": "net.netfilter.nf_conntrack_max",
    "net_netfilter_nf_conntrack_buckets": "net.netfilter.nf_conntrack_buckets",
    "fs_inotify_max_user_watches": "fs.inotify.max_user_watches",
    "fs_file_max": "fs.file-max",
    "fs_aio_max_nr": "fs.aio-max-nr",
    "fs_nr_open": "fs.nr_open",
    "kernel_threads_max": "kernel.threads-max",
    "vm_max_map_count": "vm.max_map_count",
    "vm_swappiness": "vm.swappiness",
    "vm_vfs_cache_pressure": "vm.vfs_cache_pressure",
}

# Keys that exist only while a module is loaded: the file says to go on without them.
MODULE_PREFIXES = ("net.bridge.", "net.netfilter.")


def needed_settings(config: NodeConfig) -> dict[str, str]:
    """Return what a node cannot do without, whatever else its config says."""
    settings = dict(NEEDED)
    if config.flag(PROTECT_FIELD) or _flag_is_true(config, PROTECT_FLAG):
        settings.update(KUBELET_DEFAULTS)
    return settings


def kernel_settings(config: NodeConfig) -> dict[str, str]:
    """Return every kernel key this node needs, with its value; the config's word is the last."""
    settings = needed_settings(config)
    for field, key in KERNEL_KEYS.items():
        value = config.find(f"{FIELDS}.{field}")
        if isinstance(value, bool):
            settings[key] = "1" if value else "0"
        elif isinstance(value, int):
            settings[key] = str(value)
        elif isinstance(value, str):
            settings[key] = _port_range(value, f"{FIELDS}.{field}")
    settings.update(sysctls_of(config))
    return settings


def render_settings(settings: dict[str, str], optional: Iterable[str] = ()) -> str:
    """
    Return the sysctl.d file, one key per line, sorted.

    A kernel that lacks an `optional` key is no reason to fail: the step reads what came of it.
    """
    return "".join(
        f"{'-' if key.startswith(MODULE_PREFIXES) or key in optional else ''}{key} = {value}\n"
        for key, value in sorted(settings.items())
    )


def apply_sysctl(host: Host, config: NodeConfig) -> StepOutcome:
    """
    Put the settings into force, for now and for every boot.

    A value that cannot be used costs all tuning, but never what a node cannot do without.
    """
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    try:
        settings, optional = kernel_settings(config), sysctls_of(config)
    except InputError:
        _apply_settings(host, needed_settings(config), {}, outcome)
        raise
    _apply_settings(host, settings, optional, outcome)
    return outcome


def _apply_settings(
    host: Host, settings: dict[str, str], optional: dict[str, str], outcome: StepOutcome
) -> None:
    modules = [*MODULES]
    if any(key.startswith("net.netfilter.") for key in settings):
        modules.append(CONNTRACK_MODULE)
    apply_file(host, MODULES_FILE, ("\n".join(modules) + "\n").encode(), PUBLIC, outcome)
    text = render_settings(settings, optional)
    apply_file(host, SETTINGS_FILE, text.encode(), PUBLIC, outcome)
    if not has_systemd(host):
        return
    if _absent(host, settings):
        _load_modules(host, modules)
    if not _different(host, settings):
        outcome.already.append("kernel settings are in force")
    else:
        run_command(host, APPLY_SETTINGS)
        outcome.changed.append(f"applied {SETTINGS_FILE}")
    refused = _different(host, settings)
    if refused:
        raise UnavailableError(f"the kernel did not take {', '.join(refused)}")
    absent = _absent(host, settings)
    if absent:
        outcome.note = f"this kernel has no {', '.join(absent)}"


def _load_modules(host: Host, modules: list[str]) -> None:
    # Built-in modules and kernels without them both fail here; what counts is /proc/sys after.
    try:
        host.run(["modprobe", "-q", "-a", *modules], deadline_s=10.0)
    except FileNotFoundError:
        return


def _different(host: Host, settings: dict[str, str]) -> list[str]:
    found = {key: _find_value(host, key) for key in settings}
    return [
        key
        for key, value in settings.items()
        if (now := found[key]) is not None
        and now.decode("utf-8", "replace").split() != value.split()
    ]


def _find_value(host: Host, key: str) -> bytes | None:
    try:
        return find_file(host, _path_of(key))
    except OSError:
        return b""  # a setting that can be written only, or a directory


def _absent(host: Host, settings: dict[str, str]) -> list[str]:
    return [key for key in settings if host.file_mode(_path_of(key)) is None]


def _path_of(key: str) -> str:
    # Dots separate names, and a slash is a dot in a name: net.ipv4.conf.eth0/100.rp_filter.
    return "/proc/sys/" + "/".join(name.replace("/", ".") for name in key.split("."))


def _flag_is_true(config: NodeConfig, flag: str) -> bool:
    return config.mapping("kubelet_config.kubelet_flags").get(flag) == "true"


def _port_range(value: str, field: str) -> str:
    ends = value.split()
    if len(ends) != 2 or not all(is_made_of(end, "0123456789") for end in ends):  # noqa: PLR2004
        raise InputError("not a range of ports", field=field, hint='expected "FIRST LAST"')
    return " ".join(ends)
