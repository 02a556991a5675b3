"""
Node labels and taints, held to the rules that the kubelet starts with.

A label that the kubelet refuses keeps it from starting at all, in a loop, on every node of the
pool; here it is one sentence with the field's path. The syntax also keeps commas and equals
signs out, so that one value cannot become two labels.
"""

from __future__ import annotations

from fairlead.agent.steps.one_line import entry_field, is_made_of
from fairlead.errors import InputError

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
ALPHANUMERIC = LETTERS + LETTERS.upper() + DIGITS

LONGEST_NAME = 63
LONGEST_PREFIX = 253

LABELS_FIELD = "kubelet_config.kubelet_node_labels"

# Kubernetes keeps these domains, and what is below them, for itself ...
RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")

# ... and lets a kubelet set these: whole domains, and single labels.
OPEN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
OPEN_LABELS = (
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.kubernetes.io/region",
    "failure-domain.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def render_labels(labels: dict[str, object]) -> str:
    """Return the value of --node-labels, sorted, '' without labels."""
    pairs = []
    for key, value in sorted(labels.items()):
        field = entry_field(LABELS_FIELD, key)
        if not _is_qualified_name(key):
            raise InputError("not a label name", field=field, hint="expected [domain/]name")
        if _is_reserved(key):
            raise InputError(
                "the kubelet may not set this label",
                field=field,
                hint=f"of the reserved domains only {', '.join(OPEN_DOMAINS)} are open",
            )
        if not isinstance(value, str) or not _is_name(value, may_be_empty=True):
            raise InputError(
                "not a label value",
                field=field,
                hint=f"expected up to {LONGEST_NAME} letters, digits, '-', '_' or '.'",
            )
        pairs.append(f"{key}={value}")
    return ",".join(pairs)


def require_taints(value: str, field: str) -> None:
    """Raise InputError unless this is a list of taints that the kubelet reads."""
    for number, taint in enumerate(value.split(",")):
        left, colon, effect = taint.rpartition(":")
        key, _, taint_value = left.partition("=")
        is_taint = (
            colon != ""
            and effect in EFFECTS
            and _is_qualified_name(key)
            and _is_name(taint_value, may_be_empty=True)
        )
        if not is_taint:
            raise InputError(
                f"entry {number} is not a taint",
                field=field,
                hint=f"expected key=value:effect, the effect one of {', '.join(EFFECTS)}",
            )


def _is_qualified_name(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _is_name(name) and (slash == "" or _is_domain(prefix))


def _is_name(name: str, *, may_be_empty: bool = False) -> bool:
    if name == "":
        return may_be_empty
    return (
        len(name) <= LONGEST_NAME
        and is_made_of(name, ALPHANUMERIC + "-_.")
        and name[0] in ALPHANUMERIC
        and name[-1] in ALPHANUMERIC
    )


def _is_domain(prefix: str) -> bool:
    return len(prefix) <= LONGEST_PREFIX and all(
        is_made_of(part, LETTERS + DIGITS + "-") and part[0] != "-" and part[-1] != "-"
        for part in prefix.split(".")
    )


def _is_reserved(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return (
        _is_within(domain, RESERVED_DOMAINS)
        and not _is_within(domain, OPEN_DOMAINS)
        and key not in OPEN_LABELS
    )


def _is_within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == outer or domain.endswith("." + outer) for outer in domains)
