"""
The sysctl file that the scripts write, as base64.

Unset and zero differ: a default replaces only what the document leaves out.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import base64_of, sorted_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine

SYSCTL = "custom_linux_os_config.sysctl_config"

DEFAULTS: dict[str, object] = {
    "net.core.message_burst": 80,
    "net.core.message_cost": 40,
    "net.core.somaxconn": 16384,
    "net.ipv4.neigh.default.gc_thresh1": 4096,
    "net.ipv4.neigh.default.gc_thresh2": 8192,
    "net.ipv4.neigh.default.gc_thresh3": 16384,
    "net.ipv4.tcp_max_syn_backlog": 16384,
    "net.ipv4.tcp_retries2": 8,
}

# Upstream's spelling of one field lacks an underscore: tcpkeepalive.
KEYS = {
    "fs_aio_max_nr": "fs.aio-max-nr",
    "fs_file_max": "fs.file-max",
    "fs_inotify_max_user_watches": "fs.inotify.max_user_watches",
    "fs_nr_open": "fs.nr_open",
    "kernel_threads_max": "kernel.threads-max",
    "net_core_netdev_max_backlog": "net.core.netdev_max_backlog",
    "net_core_optmem_max": "net.core.optmem_max",
    "net_core_rmem_default": "net.core.rmem_default",
    "net_core_rmem_max": "net.core.rmem_max",
    "net_core_somaxconn": "net.core.somaxconn",
    "net_core_wmem_default": "net.core.wmem_default",
    "net_core_wmem_max": "net.core.wmem_max",
    "net_ipv4_ip_local_port_range": "net.ipv4.ip_local_port_range",
    "net_ipv4_neigh_default_gc_thresh1": "net.ipv4.neigh.default.gc_thresh1",
    "net_ipv4_neigh_default_gc_thresh2": "net.ipv4.neigh.default.gc_thresh2",
    "net_ipv4_neigh_default_gc_thresh3": "net.ipv4.neigh.default.gc_thresh3",
    "net_ipv4_tcp_fin_timeout": "net.ipv4.tcp_fin_timeout",
    "net_ipv4_tcp_keepalive_probes": "net.ipv4.tcp_keepalive_probes",
    "net_ipv4_tcp_keepalive_time": "net.ipv4.tcp_keepalive_time",
    "net_ipv4_tcp_max_syn_backlog": "net.ipv4.tcp_max_syn_backlog",
    "net_ipv4_tcp_max_tw_buckets": "net.ipv4.tcp_max_tw_buckets",
    "net_ipv4_tcp_tw_reuse": "net.ipv4.tcp_tw_reuse",
    "net_ipv4_tcpkeepalive_intvl": "net.ipv4.tcp_keepalive_intvl",
    "net_netfilter_nf_conntrack_buckets": "net.netfilter.nf_conntrack_buckets",
    "net_netfilter_nf_conntrack_max": "net.netfilter.nf_conntrack_max",
    "vm_max_map_count": "vm.max_map_count",
    "vm_swappiness": "vm.swappiness",
    "vm_vfs_cache_pressure": "vm.vfs_cache_pressure",
}

# A port range that reaches beyond this port has it reserved.
RESERVED_PORT = 65330
HIGHEST_NUMBER = 2**63 - 1
# Python refuses to read thousands of digits.
MOST_DIGITS = 1000


def sysctl_content(machine: Machine) -> str:
    """SYSCTL_CONTENT."""
    settings = dict(DEFAULTS)
    for name, value in machine.config.mapping(SYSCTL).items():
        # An empty port range is left out; True is 1.
        if value != "":
            settings[KEYS[name]] = int(value) if isinstance(value, bool) else value
    if last_port_of(machine.config.text(f"{SYSCTL}.net_ipv4_ip_local_port_range")) > RESERVED_PORT:
        settings["net.ipv4.ip_local_reserved_ports"] = RESERVED_PORT
    return base64_of(sorted_pairs(settings, "\n") + "\n")


def last_port_of(port_range: str) -> int:
    """Return the end of `FIRST LAST` with one space between; -1 if it is no rising range."""
    first, space, last = port_range.partition(" ")
    if not (space and _is_number(first) and _is_number(last)):
        return -1
    return int(last) if 0 < int(first) < int(last) <= HIGHEST_NUMBER else -1


def _is_number(word: str) -> bool:
    digits = word[1:] if word[:1] in ("+", "-") else word
    return digits.isascii() and digits.isdigit() and len(digits) < MOST_DIGITS
