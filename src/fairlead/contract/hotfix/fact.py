"""
What a boot report says of the fix: what was wanted, what the node ran, and why they differ.

It is the fact `hotfix` of a boot report; whoever counts boots by fix reads it here.
"""

from __future__ import annotations

from fairlead.contract.image_version import is_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.contract.boot_report import BootReport

FACT = "hotfix"

LONGEST_CAUSE = 300
LONGEST_WORD = 40


class HotfixFact:
    """
    The fix in one boot.

    baked: the version of the image's own agent. checked: the outcome of asking, '' if nobody asked.
    wanted: the version that the pointer names for this node, '' for none. used: the version that
    provisioned it instead of the baked one, '' if the baked one did. cause: why a wanted fix was
    not used, or ''.
    """

    __slots__ = ("baked", "cause", "checked", "used", "wanted")

    def __init__(self, baked: str) -> None:
        self.baked = baked
        self.checked = ""
        self.wanted = ""
        self.used = ""
        self.cause = ""

    def encode(self) -> dict[str, str]:
        """Return the fact as JSON values; what is empty is left out."""
        return {name: getattr(self, name) for name in self.__slots__ if getattr(self, name)}


def hotfix_in(report: BootReport) -> HotfixFact:
    """Return what a report says. Reports of strangers are read too: what is no version is ''."""
    found = report.facts.get(FACT)
    values = found if isinstance(found, dict) else {}
    fact = HotfixFact(_version(values.get("baked")) or _version(report.agent))
    fact.checked = _text(values.get("checked"), LONGEST_WORD)
    fact.wanted = _version(values.get("wanted"))
    fact.used = _version(values.get("used"))
    fact.cause = _text(values.get("cause"), LONGEST_CAUSE)
    return fact


def agent_in(report: BootReport) -> str:
    """Return the version of the agent that provisioned a machine, or '' if it does not say."""
    fact = hotfix_in(report)
    return fact.used or fact.baked


def _version(value: object) -> str:
    is_one = isinstance(value, str) and len(value) <= LONGEST_WORD and is_version(value)
    return str(value) if is_one else ""


def _text(value: object, longest: int) -> str:
    return value[:longest] if isinstance(value, str) and value.isprintable() else ""
