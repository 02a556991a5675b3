"""
The localdns service: its limits and its Corefile, with and without the hosts plugin.

A number that an override leaves out is written as Go writes it, `<nil>`; CoreDNS then refuses
the file, as it does upstream. The node listener serves the host, the cluster listener the pods.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import WHITE_SPACE, base64_of, render_flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine
    from fairlead.contract.node_config import Value

    Override = dict[str, Value]

PROFILE = "local_dns_profile"
NODE_LISTENER = "169.254.10.10"
CLUSTER_LISTENER = "169.254.10.11"
AZURE_DNS = "168.63.129.16"
DEFAULT_CORE_DNS = "10.0.0.10"
DEFAULT_CPU_LIMIT = "200.0%"
DEFAULT_MEMORY_LIMIT = "128M"

QUERY_LOGGING = {"Error": "    errors\n", "Log": "    log\n"}
PROTOCOLS = {"PreferUDP": "prefer_udp", "ForceTCP": "force_tcp"}
FORWARD_POLICIES = {"RoundRobin": "round_robin", "Random": "random"}
STALE_MODES = {"Verify": "verify", "Immediate": "immediate"}

HEAD = f"""\
# ***********************************************************************************
# WARNING: Changes to this file will be overwritten and not persisted.
# ***********************************************************************************
# whoami (used for health check of DNS)
health-check.localdns.local:53 {{
    bind {NODE_LISTENER} {CLUSTER_LISTENER}
    whoami
}}
"""
VNET_HEAD = (
    "# VnetDNS overrides apply to DNS traffic from pods with dnsPolicy:default or kubelet "
    "(referred to as VnetDNS traffic).\n"
)
KUBE_HEAD = (
    "# KubeDNS overrides apply to DNS traffic from pods with dnsPolicy:ClusterFirst "
    "(referred to as KubeDNS traffic).\n"
)
HOSTS_PLUGIN = """\
    # Check /etc/localdns/hosts first for critical AKS FQDNs (mcr.microsoft.com, packages.aks.azure.com, etc.)
    hosts /etc/localdns/hosts {
        ttl 5
        reload 5s
        fallthrough
    }
"""  # noqa: E501
ROOT_TEMPLATES = r"""    template ANY ANY internal.cloudapp.net {
        match "^(?:[^.]+\.){4,}internal\.cloudapp\.net\.$"
        rcode NXDOMAIN
        fallthrough
    }
    template ANY ANY reddog.microsoft.com {
        rcode NXDOMAIN
    }
"""


def is_enabled(machine: Machine) -> bool:
    """Say whether the machine runs localdns."""
    return machine.config.flag(f"{PROFILE}.enable_local_dns")


def enabled(machine: Machine) -> str:
    """SHOULD_ENABLE_LOCALDNS."""
    return render_flag(is_enabled(machine))


def hosts_plugin_enabled(machine: Machine) -> str:
    """SHOULD_ENABLE_HOSTS_PLUGIN."""
    wanted = machine.config.flag(f"{PROFILE}.enable_hosts_plugin")
    return render_flag(wanted and is_enabled(machine))


def cpu_limit(machine: Machine) -> str:
    """LOCALDNS_CPU_LIMIT: thousandths of a core as a percentage of one."""
    millicores = machine.config.number(f"{PROFILE}.cpu_limit_in_milli_cores")
    return f"{millicores / 10:.1f}%" if millicores and is_enabled(machine) else DEFAULT_CPU_LIMIT


def memory_limit(machine: Machine) -> str:
    """LOCALDNS_MEMORY_LIMIT."""
    megabytes = machine.config.number(f"{PROFILE}.memory_limit_in_mb")
    return f"{megabytes}M" if megabytes and is_enabled(machine) else DEFAULT_MEMORY_LIMIT


def critical_names(machine: Machine) -> str:
    """LOCALDNS_CRITICAL_FQDNS, also where localdns is off."""
    names = [name.strip(WHITE_SPACE) for name in machine.config.texts(f"{PROFILE}.critical_fqdns")]
    return ",".join(name for name in names if name)


def hosts_refresh_seconds(machine: Machine) -> str:
    """LOCALDNS_HOSTS_PLUGIN_REFRESH_INTERVAL_IN_SECONDS; '' leaves it to the timer unit."""
    seconds = machine.config.number(f"{PROFILE}.hosts_plugin_refresh_interval_in_seconds")
    return str(seconds) if seconds > 0 else ""


def corefile(machine: Machine) -> str:
    """LOCALDNS_COREFILE_BASE, and LOCALDNS_GENERATED_COREFILE for older images."""
    return base64_of(render_corefile(machine, hosts_plugin="")) if is_enabled(machine) else ""


def corefile_with_hosts(machine: Machine) -> str:
    """LOCALDNS_COREFILE_WITH_HOSTS."""
    if not is_enabled(machine):
        return ""
    return base64_of(render_corefile(machine, hosts_plugin=HOSTS_PLUGIN))


def render_corefile(machine: Machine, hosts_plugin: str) -> str:
    """Return the Corefile with this text, or none, in its blocks for the root domain."""
    config = machine.config
    core_dns = config.text("cluster_config.cluster_network_config.core_dns_service_ip")
    core_dns = core_dns or DEFAULT_CORE_DNS
    blocks = [HEAD, VNET_HEAD]
    for domain, override in _overrides(machine, "vnet_dns_overrides"):
        # The host's root domain goes to Azure whatever the override says.
        server = core_dns if domain != "." and _is_for_core_dns(domain, override) else AZURE_DNS
        bind = Listener(NODE_LISTENER, "localdns", server, hosts_plugin)
        blocks.append(_server_block(domain, override, bind))
    blocks.append(KUBE_HEAD)
    for domain, override in _overrides(machine, "kube_dns_overrides"):
        server = core_dns if _is_for_core_dns(domain, override) else AZURE_DNS
        bind = Listener(CLUSTER_LISTENER, "localdns-pod", server, hosts_plugin)
        blocks.append(_server_block(domain, override, bind))
    return "".join(blocks)


class Listener:
    """Where a server block listens, who it says it is, and whom it asks."""

    __slots__ = ("address", "hosts_plugin", "name", "server")

    def __init__(self, address: str, name: str, server: str, hosts_plugin: str) -> None:
        self.address = address
        self.name = name
        self.server = server
        self.hosts_plugin = hosts_plugin


def _overrides(machine: Machine, field: str) -> list[tuple[str, Override]]:
    overrides = machine.config.mapping(f"{PROFILE}.{field}")
    return [(name, value) for name, value in sorted(overrides.items()) if isinstance(value, dict)]


def _is_for_core_dns(domain: str, override: Override) -> bool:
    return (
        domain.endswith("cluster.local") or override.get("forward_destination") == "ClusterCoreDNS"
    )


def _server_block(domain: str, override: Override, listener: Listener) -> str:
    is_root = domain == "."
    return (
        f"{domain}:53 {{\n"
        + QUERY_LOGGING.get(str(override.get("query_logging")), "")
        + f"    bind {listener.address}\n"
        + (listener.hosts_plugin if is_root else "")
        + f"    forward . {listener.server} {{\n{_forward_options(override)}    }}\n"
        + f"    ready {listener.address}:8181\n"
        + f"    cache {_number(override, 'cache_duration_in_seconds')} {{\n"
        + "        success 9984\n        denial 9984\n"
        + _serve_stale(override)
        + "        servfail 0\n    }\n"
        + f"    loop\n    nsid {listener.name}\n    prometheus :9253\n"
        + (ROOT_TEMPLATES if is_root else "")
        + "}\n"
    )


def _forward_options(override: Override) -> str:
    protocol = PROTOCOLS.get(str(override.get("protocol")))
    options = [protocol] if protocol else []
    policy = FORWARD_POLICIES.get(str(override.get("forward_policy")), "sequential")
    options += [f"policy {policy}", f"max_concurrent {_number(override, 'max_concurrent')}"]
    check = override.get("health_check")
    if isinstance(check, dict) and check.get("duration"):
        no_recursion = " no_rec" if check.get("no_rec") else ""
        domain = f" domain {check['domain']}" if check.get("domain") else ""
        options.append(f"health_check {check['duration']}{no_recursion}{domain}")
    if override.get("failfast_all_unhealthy_upstreams"):
        options.append("failfast_all_unhealthy_upstreams")
    return "".join(f"        {option}\n" for option in options)


def _serve_stale(override: Override) -> str:
    mode = STALE_MODES.get(str(override.get("serve_stale")))
    seconds = _number(override, "serve_stale_duration_in_seconds")
    return f"        serve_stale {seconds}s {mode}\n" if mode else ""


def _number(override: Override, field: str) -> str:
    return str(override.get(field, "<nil>"))
