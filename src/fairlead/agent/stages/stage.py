"""
What a boot stage is, and what the stages of one boot share.

A stage says in one word what its failure means for the machine. There is no third word: what is
not worth stopping a node for is reported and passed over.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.agent.host import is_regular_file
from fairlead.contract.boot_report import DONE, SKIPPED
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_secrets import secrets_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from fairlead.agent.report.status import Outcome
    from fairlead.agent.run import Run
    from fairlead.contract.hotfix.fact import HotfixFact
    from fairlead.contract.node_parse import ParsedNodeConfig
    from fairlead.trust.verify import Verified

    class FixPath(Protocol):
        """An attempt at a fix that goes on in a process of its own."""

        def wait_for(self, name: str) -> StageEnd:
            """Return how this stage ended there. Raises UnavailableError with why it failed."""


# The stages of the fix path, which run in a process of their own: agent/hotfix/.
CHECK, DOWNLOAD, CHOOSE = "check-hotfix", "download-hotfix", "choose-agent"


class StageEnd:
    """How a stage ended when nothing went wrong: done or skipped, and why."""

    __slots__ = ("cause", "outcome")

    def __init__(self, outcome: str, cause: str = "") -> None:
        self.outcome = outcome
        self.cause = cause


def done(cause: str = "") -> StageEnd:
    """The stage did its work."""
    return StageEnd(DONE, cause)


def skipped(cause: str) -> StageEnd:
    """The stage had nothing to do."""
    return StageEnd(SKIPPED, cause)


class Stage:
    """One row of the boot: a name, what it does, and what its failure means."""

    __slots__ = ("name", "on_failure", "run")

    def __init__(self, name: str, run: Callable[[Boot], StageEnd], on_failure: str) -> None:
        self.name = name
        self.run = run
        self.on_failure = on_failure


class Inputs:
    """Which of the two documents a boot starts from; '' where there is none."""

    __slots__ = ("nbc_command", "node_config")

    def __init__(self, node_config: str, nbc_command: str) -> None:
        self.node_config = node_config
        self.nbc_command = nbc_command


def find_inputs(run: Run) -> Inputs | None:
    """
    Return which of the two documents are there, or None if nothing is.

    With only a boot document both are '': the fetch-config stage brings the node config.
    """
    found = [
        path if path and is_regular_file(run.host, path) else ""
        for path in (run.layout.node_config, run.layout.nbc_command)
    ]
    if any(found) or is_regular_file(run.host, run.layout.boot_document):
        return Inputs(*found)
    return None


class Boot:
    """
    What the stages of one boot hand to each other.

    `features` is written by read-features; `agent` by choose-agent, '' meaning this process;
    `outcome` by provision. `foreign_agent` is the program BIN_PATH names, if it is not this one,
    and `program_flags` are what any other program needs to find the same files. `verified` is what
    check-hotfix proved of hotfixes, None if nothing; hotfix_fact() is what the report says of them.
    `fix_path` is the attempt at a fix that goes on in a process of its own, None if there is none.
    In that process `doing` says what it begins to do, and `fix_until_ns` is when it is given up.
    """

    __slots__ = (
        "_hotfix",
        "_parsed",
        "agent",
        "containerd_version",
        "doing",
        "features",
        "fix_path",
        "fix_until_ns",
        "foreign_agent",
        "foreign_version",
        "inputs",
        "outcome",
        "program_flags",
        "run",
        "verified",
    )

    def __init__(self, run: Run, inputs: Inputs) -> None:
        self.run = run
        self.inputs = inputs
        self.features: dict[str, str] = {}
        self.foreign_agent = ""
        # None: it was not asked. '' means that it does not say.
        self.foreign_version: str | None = None
        self.agent = ""
        self.program_flags: list[str] = []
        # None: ask the containerd on this machine. '' means that there is none.
        self.containerd_version: str | None = None
        self.outcome: Outcome | None = None
        self.verified: Verified | None = None
        self.fix_path: FixPath | None = None
        self.doing: Callable[[str], object] = str
        self.fix_until_ns = 0
        self._hotfix: HotfixFact | None = None
        self._parsed: ParsedNodeConfig | None = None

    def read_config(self) -> ParsedNodeConfig:
        """
        Return the parsed node config; from here on its secrets are masked.

        A missing file raises FileNotFoundError. A bad document does not raise: it has problems.
        """
        if self._parsed is None:
            text = self.run.host.read_file(self.inputs.node_config)
            parsed = parse_node_config(text, takes_settings=self._has_built_in_steps())
            self.run.redactor.learn(secrets_of(parsed.config))
            if parsed.unused is not None:
                self.run.redactor.learn(secrets_of(parsed.unused))
            self.run.record.note("receipt", parsed.receipt.encode())
            for problem in parsed.problems[:20]:
                self.run.log(
                    "WARN", "node config problem", field=problem.path, problem=problem.problem
                )
            self._parsed = parsed
        return self._parsed

    def _has_built_in_steps(self) -> bool:
        """Scripts and NBC commands know nothing of what a pool's owner set beside the contract."""
        script = self.run.layout.bootstrap_script
        return not self.inputs.nbc_command and not is_regular_file(self.run.host, script)

    def hotfix_fact(self) -> HotfixFact:
        """Return the one fact about fixes of this boot; whoever changes it notes it again."""
        if self._hotfix is None:
            from fairlead import __version__
            from fairlead.contract.hotfix.fact import HotfixFact

            self._hotfix = HotfixFact(__version__)
        return self._hotfix

    def note_hotfix(self) -> None:
        """Write what is known of the fix so far into the record."""
        self.run.record.note("hotfix", self.hotfix_fact().encode())

    def take_hotfix_fact(self, fact: HotfixFact) -> None:
        """Know of the fix what the fix path knows of it."""
        self._hotfix = fact
        self.note_hotfix()

    def find_config_text(self) -> bytes | None:
        """Return the node config's bytes, or None if there is no node config."""
        return find_file(self.run.host, self.inputs.node_config)
