"""
The kubelet's config file: our defaults, the contract's fields, the owner's document on top.

The owner's KubeletConfiguration goes through as it was written, field by field: which fields
there are is the kubelet's to say.

Written as JSON, which is YAML, so that no value can leave its string. Kubelet flags override
this file, which is how configs that carry flags only keep their meaning.
"""

from __future__ import annotations

from fairlead.agent.host import is_regular_file
from fairlead.agent.steps.containerd_config import SOCKET
from fairlead.agent.steps.one_line import one_line
from fairlead.agent.steps.step import FILES_ONLY, StepOutcome
from fairlead.agent.steps.systemd import has_systemd
from fairlead.agent.steps.taken_files import CA_FILE, KUBELET_CONFIG
from fairlead.agent.steps.write import PUBLIC, apply_file
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_settings import (
    KUBELET,
    KUBELET_API,
    KUBELET_OURS,
    NAME,
    kubelet_of,
)
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.contract.node_config import NodeConfig

STATIC_PODS = "/etc/kubernetes/manifests"

# What systemd-resolved hands to others; its stub in /etc/resolv.conf loops when a pod's DNS
# forwards to it.
RESOLVED_FILE = "/run/systemd/resolve/resolv.conf"

FIELDS = "kubelet_config.kubelet_config_file_config"
DNS_FIELD = "cluster_config.cluster_network_config.core_dns_service_ip"

# Settings that we open or create ourselves.
PATH_FIELDS = ("static_pod_path", "tls_cert_file", "tls_private_key_file")
PATH_SETTINGS = ("staticPodPath", "tlsCertFile", "tlsPrivateKeyFile")

# field of kubelet_config_file_config: path in KubeletConfiguration, in the order of the file
SETTINGS = {
    "static_pod_path": "staticPodPath",
    "address": "address",
    "read_only_port": "readOnlyPort",
    "tls_cert_file": "tlsCertFile",
    "tls_private_key_file": "tlsPrivateKeyFile",
    "tls_cipher_suites": "tlsCipherSuites",
    "rotate_certificates": "rotateCertificates",
    "server_tls_bootstrap": "serverTLSBootstrap",
    "authentication.x509.client_ca_file": "authentication.x509.clientCAFile",
    "authentication.webhook.enabled": "authentication.webhook.enabled",
    "authentication.webhook.cache_ttl": "authentication.webhook.cacheTTL",
    "authentication.anonymous.enabled": "authentication.anonymous.enabled",
    "authorization.mode": "authorization.mode",
    "authorization.webhook.cache_authorized_ttl": "authorization.webhook.cacheAuthorizedTTL",
    "authorization.webhook.cache_unauthorized_ttl": "authorization.webhook.cacheUnauthorizedTTL",
    "event_record_qps": "eventRecordQPS",
    "cluster_domain": "clusterDomain",
    "cluster_dns": "clusterDNS",
    "streaming_connection_idle_timeout": "streamingConnectionIdleTimeout",
    "node_status_update_frequency": "nodeStatusUpdateFrequency",
    "node_status_report_frequency": "nodeStatusReportFrequency",
    "image_gc_high_threshold_percent": "imageGCHighThresholdPercent",
    "image_gc_low_threshold_percent": "imageGCLowThresholdPercent",
    "cgroups_per_qos": "cgroupsPerQOS",
    "cpu_manager_policy": "cpuManagerPolicy",
    "topology_manager_policy": "topologyManagerPolicy",
    "max_pods": "maxPods",
    "pod_pids_limit": "podPidsLimit",
    "resolv_conf": "resolvConf",
    "cpu_cfs_quota": "cpuCFSQuota",
    "cpu_cfs_quota_period": "cpuCFSQuotaPeriod",
    "eviction_hard": "evictionHard",
    "protect_kernel_defaults": "protectKernelDefaults",
    "feature_gates": "featureGates",
    "fail_swap_on": "failSwapOn",
    "container_log_max_size": "containerLogMaxSize",
    "container_log_max_files": "containerLogMaxFiles",
    "system_reserved": "systemReserved",
    "kube_reserved": "kubeReserved",
    "enforce_node_allocatable": "enforceNodeAllocatable",
    "allowed_unsafe_sysctls": "allowedUnsafeSysctls",
    "serialize_image_pulls": "serializeImagePulls",
    "seccomp_default": "seccompDefault",
    "eviction_soft": "evictionSoft",
    "eviction_soft_grace_period": "evictionSoftGracePeriod",
    "eviction_max_pod_grace_period": "evictionMaxPodGracePeriod",
    "kube_reserved_cgroup": "kubeReservedCgroup",
    "system_reserved_cgroup": "systemReservedCgroup",
}


def kubelet_settings(host: Host, config: NodeConfig) -> dict[str, object]:
    """Return the KubeletConfiguration for this host, as nested dicts."""
    settings = _defaults(host, config)
    for field in PATH_FIELDS:
        one_line(config.text(f"{FIELDS}.{field}"), f"{FIELDS}.{field}")
    for field, path in SETTINGS.items():
        value = config.find(f"{FIELDS}.{field}")
        # Empty text, list or map is how proto3 says unset; the kubelet would refuse some of them.
        if value is not None and value not in ("", [], {}):
            _put(settings, path, value)
    _refuse_other_kind(config)
    _merge(settings, _owner_settings(config))
    return settings


def apply_kubelet_config(host: Host, config: NodeConfig) -> StepOutcome:
    """Leave the config file that --config names."""
    outcome = StepOutcome([], [], "" if has_systemd(host) else FILES_ONLY)
    settings = kubelet_settings(host, config)
    _leave_out_missing_certificate(host, settings, outcome)
    if unused := sorted(KUBELET_OURS.keys() & kubelet_of(config).keys()):
        names = ", ".join(unused)
        outcome.add_note(f"{names} of the pool is not used: the built-in steps set it")
    text = encode_json(settings, indent=2) + "\n"
    apply_file(host, KUBELET_CONFIG, text.encode(), PUBLIC, outcome)
    static_pods = settings["staticPodPath"]
    # The kubelet watches this directory and complains for ever if it is missing.
    if isinstance(static_pods, str) and static_pods.startswith("/"):
        host.make_directory(static_pods)
    return outcome


def _defaults(host: Host, config: NodeConfig) -> dict[str, object]:
    settings: dict[str, object] = {
        "kind": "KubeletConfiguration",
        "apiVersion": KUBELET_API,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "systemd",
        "staticPodPath": STATIC_PODS,
        "rotateCertificates": True,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": CA_FILE},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDomain": "cluster.local",
    }
    dns = config.text(DNS_FIELD)
    if dns:
        settings["clusterDNS"] = [dns]
    if host.file_mode(RESOLVED_FILE) is not None:
        settings["resolvConf"] = RESOLVED_FILE
    if config.flag("custom_linux_os_config.enable_swap_config"):
        settings["failSwapOn"] = False
    return settings


def _put(settings: dict[str, object], path: str, value: object) -> None:
    place = settings
    *outer, last = path.split(".")
    for name in outer:
        inner = place.setdefault(name, {})
        if isinstance(inner, dict):
            place = inner
    place[last] = value


def _owner_settings(config: NodeConfig) -> dict[str, object]:
    written = kubelet_of(config)
    for name in PATH_SETTINGS:
        path = written.get(name)
        if isinstance(path, str):
            one_line(path, f"{NAME}[{KUBELET}{name}]")
    kept = {name: value for name, value in written.items() if name not in KUBELET_OURS}
    return {name: _with_whole_numbers(value) for name, value in kept.items()}


def _with_whole_numbers(value: object) -> object:
    """Return the value with 50 for 50.0, which is the same to everybody but the kubelet."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _merge(ours: dict[str, object], theirs: dict[str, object]) -> None:
    """Put their settings over ours; of an object only what they wrote in it."""
    for name, value in theirs.items():
        found = ours.get(name)
        if isinstance(found, dict) and isinstance(value, dict) and value:
            _merge(found, value)
        elif type(found) is int and isinstance(value, str):
            continue  # "50" is a number to the contract, which read it, and none to the kubelet
        else:
            ours[name] = value


def _refuse_other_kind(config: NodeConfig) -> None:
    # The file is built for one API; another name would make the kubelet refuse all of it.
    for field, expected in (
        ("kind", "KubeletConfiguration"),
        ("api_version", KUBELET_API),
    ):
        if config.text(f"{FIELDS}.{field}") not in ("", expected):
            raise InputError(
                "another API", field=f"{FIELDS}.{field}", hint=f"expected {expected} or nothing"
            )


def _leave_out_missing_certificate(
    host: Host, settings: dict[str, object], outcome: StepOutcome
) -> None:
    """
    Drop the serving certificate if its files are not there, and say so.

    AKS configs name files that its scripts make. Without the two settings the kubelet makes a
    certificate for itself; with them and no files it does not start.
    """
    named = [settings.get("tlsCertFile"), settings.get("tlsPrivateKeyFile")]
    if all(
        path is None or (isinstance(path, str) and is_regular_file(host, path)) for path in named
    ):
        return
    settings.pop("tlsCertFile", None)
    settings.pop("tlsPrivateKeyFile", None)
    outcome.add_note("tls_cert_file is not on this machine: the kubelet makes its own")
