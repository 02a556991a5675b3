"""
What the platform adds on its own, our defaults included. A change here waits; it never rolls.

Each leaf names the team that owns it and how much holding it may hurt, since a held change is
shown to the pool's owner with both.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache

from fairlead.answers.words import LeafClass, Severity
from fairlead.inputs.defaults import DEFAULTS, REACHING
from fairlead.inputs.leaf import Json, Leaf, Leaves, Shape
from fairlead.inputs.shape import ANY, IMAGE, TEXT, TEXT_SET

PLATFORM = "platform."


def _platform(
    path: str, shape: Shape, owner: str, says: str, severity: Severity = Severity.ROUTINE
) -> Leaf:
    return Leaf(
        path=PLATFORM + path,
        leaf_class=LeafClass.PLATFORM,
        shape=shape,
        says=says,
        owner=owner,
        severity=severity,
    )


# Paths are those of the PlatformConfig document below `spec`, after the prefix.
PLATFORM_LEAVES = (
    _platform("proxy.image", IMAGE, "networking", "data-plane proxy image of the fleet"),
    _platform("proxy.template", ANY, "networking", "data-plane proxy template"),
    _platform("registryOverrides.*", TEXT, "registry", "where one registry is read from"),
    _platform("controlPlaneImage", IMAGE, "control plane", "control-plane image"),
    _platform("noProxy", TEXT_SET, "networking", "computed addresses that bypass the proxy"),
    _platform("metadataAddress", TEXT, "infrastructure", "address of the cloud's metadata"),
    _platform("regionDomains", TEXT_SET, "infrastructure", "domains of the region"),
    _platform(
        "loadBalancerAddress",
        TEXT,
        "infrastructure",
        "address of the load balancer",
        Severity.CONNECTIVITY,
    ),
    _platform("machineTemplateDefaults.*", ANY, "infrastructure", "a machine-template default"),
    _platform("components.*", ANY, "platform components", "what a component rendered"),
    _platform("cloudConfig", ANY, "infrastructure", "cloud configuration"),
    _platform("defaults.*", ANY, "releases", "a default version"),
    _platform("hotfix.*", ANY, "releases", "hotfix of one image base", Severity.SECURITY),
    _platform("code.*", ANY, "fairlead", "a default in our own code"),
)

UNREGISTERED_OWNER = "unregistered"

# Defaults of our own code, as inputs like any other: changing one is drift, never a rollout.
# `renderer` goes up with every change of what render_node_config makes of equal inputs.
CODE_DEFAULTS: Mapping[str, Json] = {
    "renderer": 3,
    "enableHostsConfigAgent": False,
    **{name: DEFAULTS[row] for row, name in REACHING.items()},
}


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """What a team says about a change of its leaf: an id to talk about, and how much it matters."""

    id: str = ""
    owner: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """What a machine needs to fetch its node config and report. Refreshed in place, in no hash."""

    endpoint: str = ""
    ca: str = ""
    proxy: str = ""
    report: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformInputs:
    """
    The platform's half: leaves by path, notices by leaf, and what is refreshed in place.

    control_plane_version: what versions of pools are held against, '' if nobody says.
    """

    leaves: Leaves
    notices: Mapping[str, ChangeNotice] = field(default_factory=dict)
    stub: Stub = Stub()
    is_stopped: bool = False
    control_plane_version: str = ""


def with_code_defaults(platform: PlatformInputs, defaults: Mapping[str, Json]) -> PlatformInputs:
    """Return the platform inputs with the defaults of the running code among them."""
    leaves = dict(platform.leaves)
    leaves |= {f"{PLATFORM}code.{name}": value for name, value in defaults.items()}
    return replace(platform, leaves=leaves)


def with_stub(platform: Json, stub: Stub) -> Json:
    """Return the platform's document with this stub where it names none of its own."""
    if not isinstance(platform, Mapping):
        return platform
    spec = platform.get("spec") or {}
    written = (spec.get("stub") or {}) if isinstance(spec, Mapping) else None
    if not isinstance(written, Mapping):
        return platform
    kept = {name: value for name, value in written.items() if value}
    return {**platform, "spec": {**spec, "stub": {**_document_of(stub), **kept}}}


# One for all pools of a control plane, and asked for with every pass of each.
@lru_cache(maxsize=1)
def _document_of(stub: Stub) -> Mapping[str, Json]:
    return asdict(stub)
