"""
When the agent starts, and when the image's bootstrap script does, as a fraction of the way to
cloud-init.target in the same boot.

    make bench-boot

The script waits for network and host name whoever starts it: what an early start still gains is
that everything of ours is done by then.

Real boots on real systemd and cloud-init (see tests/boot). Absolute times move by a factor of two
with the load of the machine; the fraction inside one boot does not. The variants take turns in a
shuffled order, among them the two models of AgentBaker#8082 that the bars are measured against.
"""

import argparse
import random
import statistics
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "src")]

from boot.boot_case import CASES, BootCase, booted, load_case  # noqa: E402 - after the path is set
from boot.node import missing_tools, sweep_leftovers  # noqa: E402
from boot.roots import SUITES  # noqa: E402

MODELS = REPOSITORY / "tests" / "boot" / "models"

OURS = "fairlead-node.service"
SEED = "fairlead-node-seed.service"
THEIRS = "aks-node-controller.service"

SCRIPT_BEGAN = "/var/lib/boot-test/script-began"

# What the script's start is compared with.
MODEL = "model: boothook, network-online"

# The case that is booted, and the unit whose start is measured.
VARIANTS: dict[str, tuple[Path, str]] = {
    "model: unit after cloud-init.target": (MODELS / "unit-after-cloud-init-target", THEIRS),
    MODEL: (MODELS / "boothook-and-network-online", THEIRS),
    "ours: write_files only": (CASES / "path-write-files", OURS),
    "ours: boothook only": (CASES / "boothook-starts-the-agent", OURS),
    "ours: local seed": (CASES / "floor-directory", OURS),
    "ours: credential": (CASES / "floor-credential-and-boothook", OURS),
}

# The largest allowed fraction, per suite.
BARS = {
    "ours: boothook only": {"bookworm": 0.50, "trixie": 0.80},
    "ours: local seed": {"bookworm": 0.20, "trixie": 0.35},
    "ours: credential": {"bookworm": 0.20, "trixie": 0.35},
}


class Sample:
    """One boot: ms after PID 1 began."""

    def __init__(self, case: BootCase, unit: str, suite: str) -> None:
        with booted(case, suite) as result:
            if result.runs != 1 or result.state != "running":
                raise SystemExit(f"{case.name} on {suite}: {result.runs} runs, {result.state}")
            self.start = result.since_start_ms(unit, "ExecMainStart")
            # Where a seed is read first, the agent's first process; else the same.
            self.first = result.since_start_ms(SEED, "ExecMainStart") or self.start
            self.target = result.since_start_ms("cloud-init.target", "ActiveEnter")
            # The script reads the clock of systemd's stamps, in steps of 10 ms.
            began_us = float(result.node.read(SCRIPT_BEGAN)) * 1e6
            pid1_us = int(result.units["manager"]["UserspaceTimestampMonotonic"])
            self.script = (began_us - pid1_us) / 1000


def main() -> int:
    """Print the table; exit 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description="Measure when the agent starts.")
    parser.add_argument("--boots", type=int, default=7, help="boots per variant and suite")
    boots = parser.parse_args().boots
    missing = missing_tools()
    if missing:
        raise SystemExit(f"this benchmark boots real systems and needs {', '.join(missing)}")
    sweep_leftovers()
    is_met = True
    for suite in SUITES:
        is_met &= print_table(suite, measure(suite, boots), boots)
    print("bars met" if is_met else "MISSED")
    return 0 if is_met else 1


def measure(suite: str, boots: int) -> dict[str, list[Sample]]:
    """Boot every variant this often, in a new order each round."""
    samples: dict[str, list[Sample]] = {name: [] for name in VARIANTS}
    cases = {name: load_case(folder) for name, (folder, _) in VARIANTS.items()}
    order = random.Random(1)  # noqa: S311 - the same order in every run
    for _ in range(boots):
        for name in order.sample(list(VARIANTS), len(VARIANTS)):
            samples[name].append(Sample(cases[name], VARIANTS[name][1], suite))
    return samples


def print_table(suite: str, samples: dict[str, list[Sample]], boots: int) -> bool:
    """Print medians; return whether every bar is met."""
    is_met = True
    print(f"\n{suite}, {boots} interleaved boots each; ms after PID 1, medians")
    print(
        f"{'variant':38} {'agent':>7} {'boot':>7} {'script':>7} {'target':>7} {'fraction':>9} "
        f"{'bar':>6} {'script':>7}"
    )
    for name, boots_of in samples.items():
        first = statistics.median(sample.first for sample in boots_of)
        start = statistics.median(sample.start for sample in boots_of)
        target = statistics.median(sample.target for sample in boots_of)
        fraction = statistics.median(sample.start / sample.target for sample in boots_of)
        bar = BARS.get(name, {}).get(suite)
        is_met &= bar is None or fraction <= bar
        shown = f"{bar:.2f}" if bar else ""
        script = statistics.median(sample.script for sample in boots_of)
        print(
            f"{name:38} {first:7.0f} {start:7.0f} {script:7.0f} {target:7.0f} {fraction:9.2f} "
            f"{shown:>6} {script_fraction(boots_of):7.2f}"
        )
    print_gain(samples)
    return is_met


def script_fraction(boots_of: list[Sample]) -> float:
    """Return where on the way to cloud-init.target the script began, the median."""
    return statistics.median(sample.script / sample.target for sample in boots_of)


def print_gain(samples: dict[str, list[Sample]]) -> None:
    """Say how much of the way to cloud-init.target each start gains for the script."""
    model = script_fraction(samples[MODEL])
    gains = [
        f"{name.removeprefix('ours: ')} {model - script_fraction(boots_of):+.2f}"
        for name, boots_of in samples.items()
        if name.startswith("ours")
    ]
    print(f"the script begins earlier than with {MODEL.removeprefix('model: ')!r} by: ", end="")
    print(", ".join(gains))


if __name__ == "__main__":
    sys.exit(main())
