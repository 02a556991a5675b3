"""What an image brings for fixes: whom to trust, where packages are, how long it may take."""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

DIRECTORY = "/etc/fairlead/hotfix"
ANCHOR = f"{DIRECTORY}/root.json"

# Where packages of fixes of ours put their files, and the program among them.
PREFIX = "/usr/lib/fairlead-node/hotfix"
PROGRAM = "fairlead-node"
SETTINGS = f"{DIRECTORY}/service.json"
APT_SOURCES = (f"{DIRECTORY}/repository.list", f"{DIRECTORY}/repository.sources")
DNF_REPOSITORY = f"{DIRECTORY}/repository.repo"
REPOSITORY_CA = f"{DIRECTORY}/ca.pem"

# Packages on their way, and what is known across boots.
STATE = "/var/lib/fairlead"

# spec/hotfix.md section 3. The bounds keep a typing error from costing a boot its fix, or minutes.
DECIDE_S = 8.0
INSTALL_S = 20.0
SHORTEST_S = 0.5
LONGEST_DECIDE_S = 60.0
LONGEST_INSTALL_S = 300.0


class Limits:
    """How long an attempt may take, in seconds: until it is decided, and from there to its end."""

    __slots__ = ("decide_s", "install_s")

    def __init__(self, decide_s: float = DECIDE_S, install_s: float = INSTALL_S) -> None:
        self.decide_s = decide_s
        self.install_s = install_s


def read_limits(host: Host) -> Limits:
    """Return what the image sets; what it does not set or cannot mean is ours. Never raises."""
    try:
        document = parse_json(find_file(host, SETTINGS) or b"{}")
    except (InputError, OSError):
        return Limits()
    fields = plain(document) if isinstance(document, Pairs) else {}
    return Limits(
        _seconds(fields.get("decide_s"), DECIDE_S, LONGEST_DECIDE_S),
        _seconds(fields.get("install_s"), INSTALL_S, LONGEST_INSTALL_S),
    )


def _seconds(value: object, default: float, longest: float) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not SHORTEST_S <= value <= longest:  # type: ignore[operator]
        return default
    return float(value)  # type: ignore[arg-type]
