"""Runs of hurt boots, counted by fault: what must hold for each, and the table of them all."""

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from process.fix_fault_run import Case, Outcome
from process.fix_kit import TOKEN

# The bar: how much longer than its deadline an attempt may take.
LARGEST_EXCESS_S = 0.5


@dataclass
class Row:
    """All runs of one fault."""

    runs: int = 0
    provisioned: int = 0
    excess_s: float = -1000.0


@dataclass
class Table:
    """Every run so far."""

    rows: dict[str, Row] = field(default_factory=dict)

    def judge(self, fault: str, case: Case, outcome: Outcome) -> None:
        """Count a run, and refuse one that no fault excuses."""
        row = self.rows.setdefault(fault, Row())
        excess_s = outcome.excess_s(case.decide_s, case.install_s)
        row.runs += 1
        row.provisioned += outcome.is_provisioned
        row.excess_s = max(row.excess_s, excess_s)
        assert outcome.is_provisioned, (fault, outcome)
        assert excess_s < LARGEST_EXCESS_S, (fault, outcome)
        assert outcome.survivors == [], (fault, outcome)
        assert TOKEN not in outcome.told
        assert files_that_tell(Path(case.root)) == [], fault

    @property
    def runs(self) -> int:
        return sum(row.runs for row in self.rows.values())

    def show(self) -> None:
        lines = [f"{'fault':44} {'runs':>5} {'provisioned':>12} {'longest excess':>15}"]
        lines += [
            f"{name:44} {row.runs:5} {row.provisioned:12} {max(0.0, row.excess_s):13.2f} s"
            for name, row in self.rows.items()
        ]
        sys.stdout.write("\n" + "\n".join(lines) + f"\n{self.runs} runs\n")


def files_that_tell(root: Path) -> list[str]:
    """Return which files below what a boot writes hold the proof of the machine."""
    found = []
    for top in ("var/log", "var/lib/fairlead", "opt/azure", "run", "tmp"):
        for path in (root / top).rglob("*"):
            is_given = path.name == "fairlead-boot-document.json"
            if path.is_file() and not is_given and TOKEN.encode() in path.read_bytes():
                found.append(str(path))
    return found


def fresh(root: Path) -> Path:
    """Return a place where nothing is."""
    shutil.rmtree(root, ignore_errors=True)
    return root
