"""
The kubelet's flags, labels and config file.

The config file is JSON as Go writes it: fields in the order of the contract, maps by key, and
<, >, & and two Unicode line ends escaped. An empty kubelet_config gives `{}`; none gives nothing.
Kubernetes 1.34 refuses the idle timeout of streaming connections, so it is left out there.
"""

from __future__ import annotations

from fairlead.agent.aks.go_text import base64_of, sorted_pairs
from fairlead.agent.aks.semantic_version import is_at_least
from fairlead.contract.json_text import encode_json
from fairlead.contract.node_parse import json_name_of
from fairlead.contract.node_schema import MESSAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.aks.sources import Machine

NO_STREAMING_IDLE_TIMEOUT = (1, 34, 0)
STREAMING_IDLE_FLAG = "--streaming-connection-idle-timeout"
STREAMING_IDLE_NAME = "streaming_connection_idle_timeout"

# encode_json leaves these as they are; Go's encoder escapes them.
GO_ESCAPES = str.maketrans(
    {mark: f"\\u{ord(mark):04x}" for mark in ("<", ">", "&", "\u2028", "\u2029")}
)


def kubelet_flags(machine: Machine) -> str:
    """KUBELET_FLAGS."""
    flags = machine.config.mapping("kubelet_config.kubelet_flags")
    if STREAMING_IDLE_FLAG in flags and _refuses_streaming_idle_timeout(machine):
        flags = {name: value for name, value in flags.items() if name != STREAMING_IDLE_FLAG}
    return sorted_pairs(flags, " ")


def node_labels(machine: Machine) -> str:
    """KUBELET_NODE_LABELS."""
    return sorted_pairs(machine.config.mapping("kubelet_config.kubelet_node_labels"), ",")


def config_file_content(machine: Machine) -> str:
    """KUBELET_CONFIG_FILE_CONTENT."""
    if not machine.config.has("kubelet_config"):
        return ""
    fields = machine.config.mapping("kubelet_config.kubelet_config_file_config")
    if STREAMING_IDLE_NAME in fields and _refuses_streaming_idle_timeout(machine):
        fields = {name: value for name, value in fields.items() if name != STREAMING_IDLE_NAME}
    document = _json_of("KubeletConfigFileConfig", fields)
    return base64_of(encode_json(document, indent=4, ascii_only=False).translate(GO_ESCAPES))


def _refuses_streaming_idle_timeout(machine: Machine) -> bool:
    return is_at_least(machine.config.text("kubernetes_version"), NO_STREAMING_IDLE_TIMEOUT)


def _json_of(message: str, fields: dict[str, object]) -> dict[str, object]:
    """Return a message by JSON names, in the order of the contract."""
    document: dict[str, object] = {}
    for name, (_, kind, label) in MESSAGES[message].items():
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, dict):
            value = dict(sorted(value.items())) if label == "map" else _json_of(kind, value)
        document[json_name_of(name)] = value
    return document
