"""
What the baked agent hands to the fix that provisions in its place: the fact that it is one.

The status is published by whoever provisions, and a fix does not know by itself why it was started.
"""

from __future__ import annotations

from fairlead import __version__
from fairlead.contract.boot_report import BootReport
from fairlead.contract.hotfix.fact import FACT, hotfix_in
from fairlead.contract.json_text import encode_line, parse_json, plain
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.stages.stage import Boot


def hand_fact(boot: Boot) -> str:
    """Return the fact of this boot as one line."""
    return encode_line(boot.hotfix_fact().encode())


def take_fact(boot: Boot, handed: str) -> None:
    """Note the fact that was handed over, if it is about this very version."""
    try:
        value = plain(parse_json(handed.encode()))
    except InputError:
        return
    report = BootReport("", agent="", layout="", started="")
    report.facts[FACT] = value
    fact = hotfix_in(report)
    if fact.used == __version__:
        boot.take_hotfix_fact(fact)
