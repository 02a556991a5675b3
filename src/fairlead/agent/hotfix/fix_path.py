"""
The fix path as the boot sees it: three stages that go on in another process, under one deadline.

The other process asks, installs and proves. This one waits for the end of each stage, never longer
than the image allows, and believes only what it can check. When the time is over, or the other
process is gone, everything that was started is killed and the boot goes on with the baked agent.
"""

from __future__ import annotations

from fairlead.agent.hotfix.image_files import read_limits
from fairlead.agent.hotfix.stages_apart import CHECK_FACT, STAGES, run_stages_apart
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.agent.stages.stage import CHECK, CHOOSE, StageEnd, skipped
from fairlead.contract.boot_report import DONE, SKIPPED, BootReport
from fairlead.contract.hotfix.fact import FACT, hotfix_in
from fairlead.contract.json_text import parse_json, plain
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.hotfix.in_fork import Apart
    from fairlead.agent.stages.stage import Boot

LONGEST_TEXT = 1000
# More than a stage ever begins.
MOST_LINES = 200


class FixPath:
    """One attempt at a fix, from its first stage to its last; nothing of it is left then."""

    __slots__ = (
        "_apart", "_boot", "_doing", "_is_deciding", "_last", "_limits", "_lines", "_until_ns"
    )  # fmt: skip

    def __init__(self, boot: Boot, first: str, last: str = CHOOSE) -> None:
        self._boot = boot
        self._last = last
        self._limits = read_limits(boot.run.host)
        self._doing = first
        self._lines = 0
        self._is_deciding = first == CHECK
        self._until_ns = self._end_of_half()
        names = STAGES[STAGES.index(first) : STAGES.index(last) + 1]
        self._apart: Apart | None = boot.run.host.start_apart(
            lambda tell: run_stages_apart(boot, names, self._limits, tell)
        )

    def wait_for(self, name: str) -> StageEnd:
        """Return how this stage ended there. Raises UnavailableError with why it failed."""
        if self._apart is None:
            return skipped("the fix path was given up before this")
        while True:
            message = self._next_message(self._apart)
            if message.get("stage") == name:
                break
        if name == CHECK:
            self._is_deciding = False
            self._until_ns = self._end_of_half()
        if name == self._last:
            self._finish()
        if name == CHOOSE and message.get("takes_over") is True:
            self._boot.agent = self._boot.run.layout.staged_agent
        cause = _text(message.get("cause"))
        if message.get("outcome") not in (DONE, SKIPPED):
            raise UnavailableError(cause or f"{name} failed without a cause")
        return StageEnd(message["outcome"], cause)

    def _next_message(self, apart: Apart) -> dict[str, Any]:
        line = apart.next_line(self._until_ns)
        self._lines += 1
        if line is None:
            raise self._give_up(self._why_silent(apart))
        try:
            message = plain(parse_json(line))
        except InputError as error:
            raise self._give_up(f"the fix path says what nobody understands: {error}") from error
        if not isinstance(message, dict) or self._lines > MOST_LINES:
            raise self._give_up("the fix path says what nobody understands")
        self._doing = _text(message.get("doing")) or self._doing
        self._take_facts(message.get("facts"))
        return message

    def _why_silent(self, apart: Apart) -> str:
        too_much = apart.why_given_up()
        if too_much:
            return f"gave up: {too_much}"
        is_late = self._boot.run.host.monotonic_ns() >= self._until_ns
        return f"gave up after {self._seconds():g} s" if is_late else "the fix path died"

    def _take_facts(self, facts: object) -> None:
        if not isinstance(facts, dict):
            return
        run = self._boot.run
        outcome = facts.get(CHECK_FACT)
        if isinstance(outcome, str) and run.record.report.facts.get(CHECK_FACT) != outcome:
            run.record.note(CHECK_FACT, _text(outcome))
        fact = facts.get(FACT)
        if isinstance(fact, dict) and run.record.report.facts.get(FACT) != fact:
            report = BootReport("", agent="", layout="", started="")
            report.facts[FACT] = fact
            self._boot.take_hotfix_fact(hotfix_in(report))

    def _give_up(self, how: str) -> UnavailableError:
        """Kill everything that was started; return the error that says so."""
        left = self._finish()
        cause = f"{how}: {self._doing}"
        if left:
            cause += f" (processes that could not be ended: {left})"
        self._boot.hotfix_fact().cause = cause
        self._boot.note_hotfix()
        return UnavailableError(cause)

    def _finish(self) -> int:
        apart, self._apart = self._apart, None
        left = apart.end() if apart is not None else 0
        if left:
            self._boot.run.log("WARN", "processes of the fix path did not end yet", count=left)
        return left

    def _end_of_half(self) -> int:
        return self._boot.run.host.monotonic_ns() + int(self._seconds() * NS_PER_S)

    def _seconds(self) -> float:
        return self._limits.decide_s if self._is_deciding else self._limits.install_s


def _text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return "".join(one if one.isprintable() else " " for one in value[:LONGEST_TEXT])
