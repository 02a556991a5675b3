"""
How 1,000 machines in 50 pools roll to another version, their nodes played by KWOK.

    make bench-kube

The server, its etcd, Cluster API's core and `kwok` are real processes; the operator runs in this
one, with the provider of machines and what looks at every change. Seconds are of this computer and
of whatever else it does; what must hold is that no budget was passed and every step told rightly.
How far it is, and who used how much CPU, is told on the way; it ends after --minutes for either
half, and says what was left.

Nine tenths of the work is the API server's and Cluster API's own. Its core keeps the limit that it
comes with, one look at an object a second, and looks at few of them at once: see FEW_AT_ONCE.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "src")]

from kube_processes import Row, printed  # noqa: E402

from kube.kwok_fleet import Rolled, roll_all, running_kwok_fleet  # noqa: E402

POOLS, MACHINES = 50, 1000
MINUTES = 20.0


def main() -> int:
    """Print what was measured; exit 1 if a budget was passed or a step told wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=POOLS, metavar="N")
    parser.add_argument("--machines", type=int, default=MACHINES, metavar="N", help="in all pools")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="N", help="for either half, at most"
    )
    arguments = parser.parse_args()
    names = [f"bench-{number}" for number in range(arguments.pools)]
    with (
        tempfile.TemporaryDirectory(prefix="fairlead-bench-") as scratch,
        running_kwok_fleet(Path(scratch) / "cluster") as fleet,
    ):
        each, deadline_s = arguments.machines // arguments.pools, arguments.minutes * 60
        rolled = roll_all(fleet, names, each, deadline_s, tell)
    return printed(rows_of(rolled, arguments.pools))


def tell(text: str) -> None:
    """Say how far it is."""
    print(text, flush=True)


def rows_of(rolled: Rolled, pools: int) -> list[Row]:
    """What was measured, and its bars."""
    for one in (*rolled.violations[:10], *rolled.wrong[:10]):
        sys.stderr.write(f"{one}\n")
    telling = sum(len(steps) > 1 for steps in rolled.steps.values())
    left = len(rolled.unsettled)
    return [
        ("pools that were left when the time was over", f"{left}", "0", not left),
        ("seconds until all pools are up", f"{rolled.up_s:.0f}", "", True),
        ("seconds of the rollout", f"{rolled.roll_s:.0f}", "", True),
        ("looks at machines", f"{rolled.looks}", "", True),
        ("looks that passed a budget", f"{len(rolled.violations)}", "0", not rolled.violations),
        ("pools that told of steps on the way", f"{telling}", f"{pools}", telling == pools),
        ("steps told wrongly", f"{len(rolled.wrong)}", "0", not rolled.wrong),
    ]


if __name__ == "__main__":
    sys.exit(main())
