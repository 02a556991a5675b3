"""
Facts to the pool's conditions: standard Kubernetes conditions with stable reasons.

`since` (lastTransitionTime) moves only when the status does. Messages carry no ages and no
counters that move by themselves, so that a quiet pool is never written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fairlead.answers.fix import Adoption
from fairlead.answers.pool import Condition
from fairlead.answers.text import shortened
from fairlead.answers.wait import Wait
from fairlead.answers.words import GAVE_UP, LeafClass, Phase, WaitFor
from fairlead.decision.decision import (
    Adopt,
    Decision,
    DeletePool,
    HoldPlatformChange,
    Keep,
    ReplaceMachines,
    Unknown,
)
from fairlead.decision.explain import explain, reason_text
from fairlead.inputs.versions import ControlPlane
from fairlead.revision.hashing import half_of
from fairlead.revision.revision import Revision, means_the_same
from fairlead.rollout.machines import Machine, Template
from fairlead.rollout.plan import MachineChange
from fairlead.rollout.progress import Progress, is_updated
from fairlead.rollout.record import Evidence, PoolRecord

AS_EXPECTED = "AsExpected"
DELETED = "PoolDeleted"

LONGEST_MESSAGE = 3000
MOST_WAITS = 5

# Waits that hold a whole rollout; they give the reason, the others only the message.
GATES = (
    WaitFor.STOP,
    WaitFor.HALT,
    WaitFor.PAUSE,
    WaitFor.UNSERVED,
    WaitFor.WINDOW,
    WaitFor.PLAN,
)
BRAKES = (WaitFor.STOP, WaitFor.PAUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFacts:
    """
    The pool as it is once the next steps are taken: what conditions are made from, and secrets.

    steps: those on machines. pinned_problem: why the pair in use cannot be served, or ''.
    refreshes: new machines get held platform changes. in_place: machines are changed and none is
    replaced. problems: why settings cannot be used, or ''.
    repairs: the owner wants machines that died replaced.
    not_applied: leaves that the machines are told and do not apply, each with the reason.
    lacking: machines that are still to be replaced for a fix. failures: what machines died of, by
    name. control_plane: what versions are held against in each pass, or None; skew: how the
    declared one goes beyond it, or ''.
    """

    decision: Decision
    record: PoolRecord
    progress: Progress | None
    machines: tuple[Machine, ...]
    waits: tuple[Wait, ...] = ()
    template: Template | None = None
    steps: tuple[MachineChange, ...] = ()
    pinned_problem: str = ""
    refreshes: bool = False
    in_place: bool = False
    problems: str = ""
    repairs: bool = False
    fetched: bool = False
    not_applied: Mapping[str, str] = field(default_factory=dict)
    lacking: frozenset[str] = frozenset()
    failures: Mapping[str, str] = field(default_factory=dict)
    control_plane: ControlPlane | None = None
    skew: str = ""

    @property
    def is_replacing(self) -> bool:
        """Say whether machines are being replaced: for another revision, or for a fix."""
        return self.record.is_rolling or self.record.adoption is not None

    @property
    def updated(self) -> int:
        """How many machines have what is wanted, also while something keeps it from beginning."""
        if not isinstance(self.decision, ReplaceMachines):
            return self.progress.updated if self.progress else 0
        wanted, applied = self.decision.wanted, self.record.applied
        had = applied.id if applied and means_the_same(applied, wanted) else wanted.id
        return sum(is_updated(machine, had) for machine in self.machines)


Row = tuple[str, str, str, str]
Failures = Mapping[str, str]


def conditions_of(
    facts: PoolFacts, sentence: str, previous: tuple[Condition, ...], now: datetime
) -> tuple[Condition, ...]:
    """
    Return the conditions, sorted by type; each keeps its moment unless its status moved.

    sentence: see sentence_of.
    """
    before = {condition.type: condition for condition in previous}
    found = []
    for kind, status, reason, text in sorted(_rows(facts, sentence)):
        known, message = before.get(kind), shortened(text, LONGEST_MESSAGE)
        is_kept = known is not None and known.status == status
        if known and is_kept and (known.reason, known.message) == (reason, message):
            found.append(known)
            continue
        since = known.since if known and is_kept else now
        found.append(
            Condition(type=kind, status=status, reason=reason, message=message, since=since)
        )
    return tuple(found)


def _rows(facts: PoolFacts, sentence: str) -> Iterator[Row]:
    yield _pending(facts, sentence)
    yield from _updating(facts)
    yield from _valid(facts)
    yield from _version_skew(facts)
    yield from _machines(facts)
    yield _repair(facts)
    yield _applied(facts)
    if brake := _first_wait(facts, BRAKES):
        yield "ReconciliationActive", "False", brake.wait_for.value, brake.says
    else:
        yield "ReconciliationActive", "True", AS_EXPECTED, ""
    seeded = facts.record.seeded
    status = "False" if seeded is Evidence.COMPUTED else "True"
    yield "Seeded", status, seeded.value, ""


def _applied(facts: PoolFacts) -> Row:
    """Say whether machines apply all that they are told. Most pools have some of it: no alarm."""
    if not facts.not_applied:
        return "AllApplied", "True", AS_EXPECTED, ""
    told = "; ".join(f"{leaf}: {why}" for leaf, why in facts.not_applied.items())
    return "AllApplied", "False", "NotApplied", f"not applied by this kind of machine: {told}"


def sentence_of(facts: PoolFacts) -> str:
    """Return the one sentence that says why machines are, or are not, being replaced."""
    sentence = _sentence_without_gates(facts)
    if isinstance(facts.decision, Unknown):
        return sentence
    gate = held_by(facts)
    return f"{sentence} Not now: {gate.says}." if gate else sentence


def _sentence_without_gates(facts: PoolFacts) -> str:
    sentence = explain(facts.decision, refreshes=facts.refreshes, in_place=facts.in_place)
    if isinstance(facts.decision, ReplaceMachines | Unknown | DeletePool):
        return sentence
    if facts.record.is_rolling and isinstance(facts.decision, HoldPlatformChange):
        return f"{facts.record.sentence} A further platform change is queued."
    if facts.record.is_rolling:
        return facts.record.sentence
    if facts.record.adoption:
        is_held = isinstance(facts.decision, HoldPlatformChange)
        inputs = "Platform changes stay held" if is_held else "Every input is as recorded"
        return f"{inputs}; {_adoption_text(facts.record.adoption)}."
    if isinstance(facts.decision, Keep) and facts.progress:
        return _unsettled_text(facts.progress) or sentence
    return sentence


def _adoption_text(adoption: Adoption) -> str:
    if len(adoption.machines) == 1:
        return f"1 machine without the fix {adoption.fix} is replaced, as the pool's owner asked"
    many = f"{len(adoption.machines)} machines without the fix {adoption.fix}"
    return f"{many} are replaced, as the pool's owner asked"


def _unsettled_text(progress: Progress) -> str:
    """Return what is missing although every input is as recorded, or ''."""
    if progress.available < progress.desired:
        far = f"{progress.available} of {progress.desired} machines are available"
        return f"Every input is as recorded; {far}."
    if progress.total > progress.desired:
        return "Every input is as recorded; machines that are not needed leave."
    return ""


def _pending(facts: PoolFacts, sentence: str) -> Row:
    kind = "ConfigUpdatePending"
    decision = facts.decision
    if isinstance(decision, Unknown):
        return kind, "Unknown", "DriftUnknown", sentence
    if isinstance(decision, DeletePool):
        return kind, "False", DELETED, sentence
    if facts.is_replacing or isinstance(decision, ReplaceMachines | Adopt):
        gate = held_by(facts)
        held = ("True", gate.wait_for.value) if gate else ("False", "RolloutInProgress")
        return kind, *held, sentence
    if facts.pinned_problem and isinstance(decision, HoldPlatformChange):
        message = f"{sentence} The recorded inputs cannot be served: {facts.pinned_problem}."
        return kind, "True", "PinnedPayloadUnavailable", message
    if isinstance(decision, HoldPlatformChange):
        return kind, "True", "ManagementConfigDrift", sentence
    return kind, "False", AS_EXPECTED, sentence


def _updating(facts: PoolFacts) -> Iterator[Row]:
    goal = facts.record.target
    if isinstance(facts.decision, ReplaceMachines):
        goal = facts.decision.wanted
    is_leaving = isinstance(facts.decision, DeletePool)
    aspects = set() if is_leaving else _aspects(facts.record.applied, goal)
    gate = held_by(facts)
    reason = gate.wait_for.value if gate else "RolloutInProgress"
    for kind, aspect in (
        ("UpdatingConfig", "config"),
        ("UpdatingVersion", "version"),
        ("UpdatingPlatformMachineTemplate", "template"),
    ):
        if aspect in aspects:
            yield kind, "True", reason, _waiting_text(facts)
        else:
            yield kind, "False", AS_EXPECTED, ""


def _aspects(applied: Revision | None, goal: Revision | None) -> set[str]:
    if goal is None or (applied and applied.id == goal.id):
        return set()
    if applied is None:
        return {"config", "version"}
    aspects = set()
    for path in applied.leaves.keys() | goal.leaves.keys():
        if applied.leaves.get(path) == goal.leaves.get(path):
            continue
        if half_of(path, goal.content) is LeafClass.INTENT:
            is_template = path.startswith("machineTemplate.")
            is_version = path == "release.version"
            aspects.add("template" if is_template else "version" if is_version else "config")
    return aspects or {"config"}


def _waiting_text(facts: PoolFacts) -> str:
    told = facts.record.reason
    if isinstance(facts.decision, ReplaceMachines):
        told = reason_text(facts.decision.because)
    if facts.progress:
        told += f"; {facts.updated} of {facts.progress.desired} machines have it"
    says = [wait.says for wait in facts.waits[:MOST_WAITS]]
    rest = len(facts.waits) - MOST_WAITS
    says += [f"and {rest} more"] if rest > 0 else []
    return "; ".join([told, *says]).removeprefix("; ") + "."


def held_by(facts: PoolFacts) -> Wait | None:
    """Return the gate that keeps machines from being replaced, if any is to be replaced."""
    gate = _first_wait(facts, GATES)
    wants_more = facts.is_replacing or isinstance(
        facts.decision, ReplaceMachines | Adopt | DeletePool
    )
    if gate is None or not wants_more:
        return None
    # A pause holds replacements, and no machine that only takes its time to boot.
    return gate if gate.wait_for is not WaitFor.PAUSE or _is_replacing(facts) else None


def _is_replacing(facts: PoolFacts) -> bool:
    if isinstance(facts.decision, ReplaceMachines | Adopt):
        return True
    target = facts.record.target.id if facts.record.target else ""
    staying = [machine for machine in facts.machines if not machine.is_leaving]
    is_short = facts.progress is not None and len(staying) < facts.progress.desired
    is_stale = any(machine.revision != target for machine in staying)
    return is_short or is_stale or bool(facts.lacking)


def _first_wait(facts: PoolFacts, kinds: tuple[WaitFor, ...]) -> Wait | None:
    if not facts.waits:
        return None  # most pools
    found = {wait.wait_for: wait for wait in facts.waits}
    return next((found[kind] for kind in kinds if kind in found), None)


def _valid(facts: PoolFacts) -> Iterator[Row]:
    problems: list[str] = [facts.problems] if facts.problems else []
    release = ""
    if isinstance(facts.decision, Unknown):
        for problem in facts.decision.unusable.problems:
            if problem.field.startswith("spec.release"):
                release = str(problem)
            else:
                problems.append(str(problem))
    for kind, text in (("ValidConfig", "; ".join(problems)), ("ValidRelease", release)):
        yield (kind, "False", "ValidationFailed", text) if text else (kind, "True", AS_EXPECTED, "")
    if facts.record.target is None:
        yield "ValidGeneratedPayload", "Unknown", "NotFound", ""
    elif facts.pinned_problem:
        yield "ValidGeneratedPayload", "False", "InvalidConfig", facts.pinned_problem
    else:
        yield "ValidGeneratedPayload", "True", AS_EXPECTED, ""
    reached = "True" if facts.fetched else "False"
    reason = AS_EXPECTED if facts.fetched else "PayloadNotReached"
    yield "ReachedPayloadEndpoint", reached, reason, ""


def _version_skew(facts: PoolFacts) -> Iterator[Row]:
    """Say whether the control plane supports the version, also one that its owner insists on."""
    if facts.control_plane is None or facts.control_plane == ControlPlane():
        return
    kind = "SupportedVersionSkew"
    if facts.skew:
        yield kind, "False", "BeyondPolicy", facts.skew
    elif facts.control_plane.problem:
        yield kind, "Unknown", "ControlPlaneUnknown", facts.control_plane.problem
    else:
        yield kind, "True", AS_EXPECTED, ""


def _machines(facts: PoolFacts) -> Iterator[Row]:
    staying = [machine for machine in facts.machines if not machine.is_leaving]
    unready = [machine for machine in staying if not machine.is_available]
    if not staying:
        text = "every machine leaves" if facts.machines else "no machines"
        for kind in ("AllMachinesReady", "AllNodesHealthy"):
            yield kind, "False", "NotFound", text
    else:
        yield _aggregate("AllMachinesReady", unready, "MachinesNotReady", facts.failures)
        is_sick = any(_is_sick(machine, facts) for machine in unready)
        reason = "NodesUnhealthy" if is_sick else "WaitingForNodes"
        yield _aggregate("AllNodesHealthy", unready, reason, facts.failures)
    progress = facts.progress
    if isinstance(facts.decision, DeletePool):
        yield "Ready", "False", DELETED, ""
    elif progress and progress.available >= progress.desired:
        yield "Ready", "True", AS_EXPECTED, ""
    elif progress:
        text = f"{progress.available} of {progress.desired} machines are available"
        gave_up = _first_wait(facts, GAVE_UP)
        if gave_up:
            yield "Ready", "False", gave_up.wait_for.value, f"{text}; {gave_up.says}"
        else:
            yield "Ready", "False", "MachinesUnavailable", text
    else:
        yield "Ready", "False", "NotFound", ""


def _is_sick(machine: Machine, facts: PoolFacts) -> bool:
    return machine.phase in (Phase.FAILED, Phase.NOT_READY) or machine.name in facts.failures


def _repair(facts: PoolFacts) -> Row:
    kind = "AutorepairEnabled"
    if gave_up := _first_wait(facts, GAVE_UP):
        return kind, "False", gave_up.wait_for.value, gave_up.says
    return (kind, "True", AS_EXPECTED, "") if facts.repairs else (kind, "False", "NotAsked", "")


def _aggregate(kind: str, machines: list[Machine], reason: str, failures: Failures) -> Row:
    if not machines:
        return kind, "True", AS_EXPECTED, ""
    # A machine that only takes its time is counted, not named: its name is drawn after this.
    known = {machine.name: failures.get(machine.name) or machine.problem for machine in machines}
    told = sorted(f"{name}: {says}" for name, says in known.items() if says)
    quiet = len(machines) - len(told)
    if quiet:
        told.append(f"{quiet} more not ready" if told else f"{quiet} not ready")
    return kind, "False", reason, "; ".join(told)
