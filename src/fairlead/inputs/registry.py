"""
The class of every leaf: the one table that says what a change of an input means.

A leaf that no row names is unknown. It is treated as the platform's, so that it shows as drift
and never rolls; tests/unit/inputs fails the build before such a leaf can ship.
"""

from collections.abc import Mapping
from functools import cache

from fairlead.answers.words import LeafClass, Severity
from fairlead.inputs.leaf import Leaf, Leaves, Shape
from fairlead.inputs.platform_inputs import PLATFORM, PLATFORM_LEAVES, UNREGISTERED_OWNER
from fairlead.inputs.shape import (
    ANY,
    BATCHES,
    BUDGET,
    COUNT,
    DURATION,
    FIX,
    FLAG,
    LABEL,
    MACHINES,
    PAUSE,
    TAINTS,
    TEXT,
    VERSION,
    WINDOWS,
    one_of,
    some_of,
)
from fairlead.inputs.user_intent import INTENT_LEAVES

WILDCARD = ".*"

# What an owner may allow against the version skew policy of Kubernetes, by name.
DOWNGRADE, SKEW = "Downgrade", "Skew"
ALLOWANCES = (DOWNGRADE, SKEW)


def _setting(path: str, shape: Shape, says: str, owner: str = "pool owner") -> Leaf:
    return Leaf(path=path, leaf_class=LeafClass.IN_PLACE, shape=shape, says=says, owner=owner)


def _ignored(path: str, shape: Shape, reason: str) -> Leaf:
    return Leaf(path=path, leaf_class=LeafClass.IGNORED, shape=shape, says=reason)


# Applied to a pool without replacing a machine. Paths below `spec` of the NodePool document.
SETTING_LEAVES = (
    _setting("release.allow", some_of(*ALLOWANCES), "what the judge is to let pass"),
    _setting("replicas", MACHINES, "how many machines"),
    _setting("autoscaling.min", MACHINES, "fewest machines"),
    _setting("autoscaling.max", MACHINES, "most machines"),
    _setting("labels.*", LABEL, "a node label"),
    _setting("taints", TAINTS, "node taints"),
    _setting("timeouts.drain", DURATION, "how long a drain may take"),
    _setting("timeouts.detach", DURATION, "how long detaching volumes may take"),
    _setting("timeouts.join", DURATION, "how long a machine may take to become ready"),
    _setting("timeouts.ready", DURATION, "how long a machine may be not ready before it failed"),
    _setting("autoRepair", FLAG, "whether failed machines are replaced"),
    _setting("maxUnhealthy", BUDGET, "unhealthy machines above which none is repaired"),
    _setting("management.type", one_of("Replace", "InPlace"), "how machines change"),
    _setting("management.strategy", one_of("RollingUpdate", "OnDelete"), "who removes machines"),
    _setting("management.maxSurge", BUDGET, "machines above the wanted number; rounds up"),
    _setting("management.maxUnavailable", BUDGET, "machines that may be missing; rounds down"),
    _setting("rollout.windows", WINDOWS, "when machines may be replaced"),
    _setting("rollout.canary", BATCHES, "sizes of the first batches"),
    _setting("rollout.soak", DURATION, "how long a batch must hold before the next"),
    _setting("rollout.haltAfter", COUNT, "failed machines that halt a rollout"),
    _setting("rollout.estimate", DURATION, "how long replacing one machine takes"),
    _setting("rollout.resume", TEXT, "a value that was not seen before ends a halt once"),
    _setting("rollout.replaceWithout.fix", FIX, "machines without this hotfix are replaced once"),
    _setting(
        "rollout.replaceWithout.request", TEXT, "a value that was not seen before asks once more"
    ),
    _setting("platformChanges.newNodes", one_of("Hold", "Refresh"), "what new machines boot from"),
    _setting("platformChanges.maximumAge.routine", DURATION, "longest hold of a routine change"),
    _setting("platformChanges.maximumAge.security", DURATION, "longest hold of a security change"),
    _setting(
        "platformChanges.maximumAge.connectivity", DURATION, "longest hold of a connectivity change"
    ),
    _setting("secretContent", one_of("Ignore", "Drift", "Roll"), "what changed secrets mean"),
    _setting("paused", PAUSE, "whether rollouts wait"),
    _setting("force", TEXT, "a value that was not seen before replaces every machine once"),
)

# Leaves that are read and that nothing carries out: an owner who writes one is told so. Pools that
# have one in force go on as they are.
NOT_CARRIED_OUT = {
    "fips": "no kind of machine applies it yet; take an image that is in FIPS mode, and leave "
    "this field out",
    "tlsProfile": "no kind of machine applies it yet; write tlsMinVersion and tlsCipherSuites in a "
    "KubeletConfiguration instead",
    "imagePolicy.*": "no kind of machine applies it yet; leave this field out",
    "endpoint.access": "no kind of machine applies it yet; leave this field out",
    "endpoint.port": "no kind of machine applies it yet; write NAME:PORT in endpoint.name instead",
}

# Digests of what the two names point to; the pool's secretContent says what a change means.
CONTENT_LEAVES = tuple(
    Leaf(path=path, leaf_class=LeafClass.CONTENT, shape=TEXT, says=says)
    for path, says in (
        ("pullSecret.content", "content of the pull secret"),
        ("trustBundle.content", "content of the trust bundle"),
    )
)

IGNORED_LEAVES = (
    _ignored("description", TEXT, "a note for people; no machine sees it"),
    _ignored("platform.description", TEXT, "a note for people; no machine sees it"),
    _ignored(
        "platform.controlPlaneVersion",
        VERSION,
        "what versions of pools are held against; no machine sees it",
    ),
    _ignored("platform.notices.*", ANY, "says who owns a change; is not itself a change"),
)

PLATFORM_OWNER = "infrastructure"

# What is written into user data; every machine that boots reads the current one.
STUB_LEAVES = (
    _setting("platform.stub.endpoint", TEXT, "where node configs are fetched", PLATFORM_OWNER),
    _setting("platform.stub.ca", TEXT, "certificate authority of that endpoint", PLATFORM_OWNER),
    _setting("platform.stub.proxy", TEXT, "proxy on the way to that endpoint", PLATFORM_OWNER),
    _setting("platform.stub.report", TEXT, "where boot reports are sent", PLATFORM_OWNER),
    _setting(
        "platform.stopEverything", FLAG, "the kill switch: no machine comes or goes", PLATFORM_OWNER
    ),
)

REGISTRY = (
    *INTENT_LEAVES,
    *CONTENT_LEAVES,
    *PLATFORM_LEAVES,
    *SETTING_LEAVES,
    *STUB_LEAVES,
    *IGNORED_LEAVES,
)

_EXACT = {row.path: row for row in REGISTRY if not row.path.endswith(WILDCARD)}
_FAMILIES = tuple((row.path.removesuffix("*"), row) for row in REGISTRY if row.path[-1] == "*")


@cache
def find_row(path: str) -> Leaf | None:
    """Return the row that registers a leaf, or None for an unknown leaf."""
    if path in _EXACT:
        return _EXACT[path]
    return next((row for prefix, row in _FAMILIES if path.startswith(prefix)), None)


def why_not_carried_out(path: str) -> str:
    """Return why nothing carries out this leaf, or ''."""
    row = find_row(path)
    return NOT_CARRIED_OUT.get(row.path, "") if row else ""


def unapplied(leaves: Leaves, lacks: Mapping[str, str]) -> dict[str, str]:
    """
    Return those of the leaves that some machines do not apply, each with the reason.

    lacks: the reason by the path of a row, or of one leaf below it; '' for a leaf that is applied
    though the rest of its row is not.
    """
    found = {}
    for path in sorted(leaves):
        row = find_row(path)
        why = lacks[path] if path in lacks else row and lacks.get(row.path)
        if why:
            found[path] = why
    return found


def class_of(path: str) -> LeafClass:
    """Return the class of a leaf; an unknown leaf is the platform's."""
    row = find_row(path)
    return row.leaf_class if row else LeafClass.PLATFORM


def owner_of(path: str) -> str:
    """Return who owns a leaf."""
    row = find_row(path)
    return row.owner if row else UNREGISTERED_OWNER


def severity_of(path: str) -> Severity:
    """Return how much holding a change of this leaf may hurt."""
    row = find_row(path)
    return row.severity if row else Severity.ROUTINE


def is_platform_path(path: str) -> bool:
    """Say whether a leaf comes from the PlatformConfig document."""
    return path.startswith(PLATFORM)
