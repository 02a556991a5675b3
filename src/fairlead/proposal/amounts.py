"""What is more than anybody may ask for: by field, with what was found and what is allowed."""

from collections.abc import Iterator, Mapping

from fairlead.contract.canonical import canonical_bytes
from fairlead.inputs.bounds import (
    LARGEST_CONFIG,
    LARGEST_PLATFORM,
    LARGEST_REST,
    LATEST,
    LONGEST_S,
    LONGEST_WINDOW_S,
    MOST_MACHINES,
    duration_text,
    read_moment,
)
from fairlead.inputs.leaf import Json, Leaves
from fairlead.inputs.parse import written
from fairlead.inputs.registry import find_row
from fairlead.inputs.shape import DURATION
from fairlead.proposal.complaint import Complaint

KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20

# Numbers of machines. replicas and autoscaling are refused where they are read.
COUNTS = ("management.maxSurge", "management.maxUnavailable", "rollout.haltAfter")

# How long something may take before a machine has failed: in no time at all, every machine has.
PATIENCE = ("timeouts.join", "timeouts.ready")


def excessive_settings(settings: Leaves) -> Iterator[Complaint]:
    """List the settings that are beyond a bound."""
    for path, value in settings.items():
        row = find_row(path)
        if row and row.shape is DURATION:
            yield from _too_long(value, written(path), LONGEST_S)
            if value == 0 and path in PATIENCE:
                hint = "leave it out for the usual time"
                yield Complaint(written(path), "found 0s, expected at least 1s", hint)
        elif path in COUNTS:
            yield from _too_many(value, written(path))
    for at, size in enumerate(_list_of(settings.get("rollout.canary"))):
        yield from _too_many(size, f"spec.rollout.canary[{at}]")
    for at, window in enumerate(_list_of(settings.get("rollout.windows"))):
        duration = window.get("duration") if isinstance(window, Mapping) else None
        yield from _too_long(duration, f"spec.rollout.windows[{at}].duration", LONGEST_WINDOW_S)
    yield from _too_late(settings.get("paused"))


def beyond_capacity(settings: Leaves, in_force: Leaves, most: int, why: str) -> Iterator[Complaint]:
    """List what asks for more machines than an edge holds. What is in force goes on as it is."""
    for path in ("replicas", "autoscaling.max"):
        count, before = settings.get(path), in_force.get(path)
        is_more = not isinstance(before, int) or not isinstance(count, int) or count > before
        if isinstance(count, int) and count > most and is_more:
            problem = f"found {count}, expected at most {most} machines in one pool here: {why}"
            yield Complaint(written(path), problem, "make several pools, or use a larger edge")


def excessive_config(leaves: Leaves) -> Iterator[Complaint]:
    """Say that an owner configures more than a machine can fetch."""
    size = len(canonical_bytes(dict(leaves)))
    if size > LARGEST_CONFIG:
        allowed = f"at most {LARGEST_CONFIG // MEBIBYTE} MiB"
        problem = f"found {size / MEBIBYTE:.1f} MiB in all, expected {allowed}"
        hint = "a machine fetches no larger config; put large files into its image"
        yield Complaint("spec.config", problem, hint)


def excessive_rest(document: Mapping[str, Json]) -> Iterator[Complaint]:
    """Say that a pool's document is larger than any needs to be, its configuration left out."""
    spec = document.get("spec")
    kept = spec.items() if isinstance(spec, Mapping) else ()
    rest = {**document, "spec": {name: value for name, value in kept if name != "config"}}
    size = len(canonical_bytes(rest))
    if size > LARGEST_REST:
        allowed = f"at most {LARGEST_REST // KIBIBYTE} KiB"
        problem = f"found {size // KIBIBYTE} KiB beside config, expected {allowed}"
        yield Complaint("spec", problem, "every machine fetches its labels and taints")


def excessive_platform(leaves: Leaves) -> Iterator[Complaint]:
    """Say that the platform adds more to every node config than there is room for."""
    size = len(canonical_bytes(dict(leaves)))
    if size > LARGEST_PLATFORM:
        allowed = f"at most {LARGEST_PLATFORM // KIBIBYTE} KiB"
        problem = f"found {size // KIBIBYTE} KiB in all, expected {allowed}"
        yield Complaint("spec", problem, "a machine fetches all of it")


def _too_long(value: Json, field: str, longest: int) -> Iterator[Complaint]:
    if isinstance(value, int) and value > longest:
        problem = f"found {duration_text(value)}, expected at most {duration_text(longest)}"
        yield Complaint(field, problem)


def _too_many(value: Json, field: str) -> Iterator[Complaint]:
    if isinstance(value, int) and value > MOST_MACHINES:
        yield Complaint(field, f"found {value}, expected at most {MOST_MACHINES}")


def _too_late(pause: Json) -> Iterator[Complaint]:
    until = pause.get("until") if isinstance(pause, Mapping) else None
    if isinstance(until, str) and read_moment(until) is None:
        problem = f"found {until}, expected a moment before {LATEST:%Y-%m-%d}"
        yield Complaint("spec.paused", problem, "write true for a pause without an end")


def _list_of(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
