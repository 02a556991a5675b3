"""
What was shown, agreed to and carried out, over random histories of two shells at one pool.

Nothing is replaced that no agreed plan showed, by names and by inputs; no shell undoes what the
other did while its question stood; and what was agreed to goes on once nothing holds it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_counts import examples
from fairlead.answers.plan import Plan, beyond
from fairlead.answers.words import Phase, WaitFor
from fairlead.controller.reconcile import preview
from fairlead.embedded.serve.apply import apply
from fairlead.errors import ConflictError
from fairlead.proposal.patch import merged
from fairlead.proposal.propose import Proposal, Shown, propose
from fairlead.rollout.machines import Machine
from pool_documents import platform_document, pool_document
from service.stored_plane import StoredPlane

POOL = "workers"
FEW = settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))

# The clock starts at noon.
NIGHT = {"windows": [{"start": "22:00", "duration": "8h"}]}
PATCHES = st.sampled_from(
    [
        {"replicas": 1},
        {"replicas": 2},
        {"replicas": 4},
        {"paused": True},
        {"labels": {"team": "a"}},
        {"rollout": NIGHT},
        {"autoRepair": True},
    ]
)
BASES = st.sampled_from(["202607.02", "202608.01", "202609.01"])
WAITING_EDITS = st.builds(
    lambda base, gate: {"imageBase": base, **gate},
    BASES,
    st.sampled_from([{"paused": True}, {"rollout": NIGHT}]),
)
EDITS = st.fixed_dictionaries(
    {},
    optional={
        "imageBase": BASES,
        "replicas": st.integers(1, 4),
        "force": st.sampled_from(["1", "2"]),
        "paused": st.booleans(),
        "description": st.sampled_from(["a note", "another"]),
        "rollout": st.sampled_from([NIGHT, None]),
    },
)
IMAGES = st.sampled_from(["cp@sha256:aa", "cp@sha256:bb", "cp@sha256:cc", None])


@dataclass(frozen=True)
class Question:
    """A shell that has shown a plan and waits for its answer. live: what was in force then."""

    document: Any
    live: Any
    shown: Proposal


# Something that is done to a history, and with what.
Act = tuple[Callable[..., None], Any]


class ApprovedHistory:
    """One pool, its owner at two shells, and the platform."""

    def __init__(self, path: Path, *, in_place: bool) -> None:
        self.plane = StoredPlane(path)
        management = {"type": "InPlace", "maxUnavailable": 1} if in_place else {}
        documents = [pool_document(management=management), platform_document()]
        apply(self.plane.world, documents, Shown(), self.plane.now())
        self.plane.settle()
        self.questions: list[Question] = []
        self.agreed: Plan | None = None
        self.failed: set[str] = set()
        self.inputs = {self._inputs()}
        self.known = self._machines()

    # What people do.

    def ask(self, edit: dict[str, Any]) -> None:
        """Show what an edit would do; the answer comes later."""
        live = self._document()
        document = merged(live, {"spec": edit})
        shown = propose(self.plane.world.world(), [document], self.plane.now())
        self.questions.append(Question(document, live, shown))

    def answer(self, which: int) -> None:
        """Say yes to one of the questions that stand."""
        if not self.questions:
            return
        question = self.questions.pop(which % len(self.questions))
        before = self._document()
        seen = Shown(plans=question.shown.plans, bases=question.shown.bases)
        try:
            apply(self.plane.world, [question.document], seen, self.plane.now())
        except ConflictError:
            assert self._document() == before
            return
        assert before == question.live, "it undid what the other shell did"
        if POOL in question.shown.rollouts:
            self.agreed = question.shown.plans[0]
            self.inputs.add((self.agreed.intent_hash, self.agreed.platform_hash))

    def agree(self, edit: dict[str, Any]) -> None:
        """Ask, and say yes at once."""
        self.ask(edit)
        self.answer(-1)

    def hesitate(self, acts: tuple[dict[str, Any], Act]) -> None:
        """Ask, and say yes after something else happened."""
        edit, (does, argument) = acts
        self.ask(edit)
        does(self, argument)
        self.answer(-1)

    def change(self, patch: dict[str, Any]) -> None:
        """Change a few fields without a question, as `pool scale` and `pool pause` do."""
        document = merged(self._document(), {"spec": patch})
        apply(self.plane.world, [document], Shown(is_patch=True), self.plane.now())

    def release(self, rounds: int) -> None:
        """Let nothing hold the pool any more, and see how far it comes."""
        self.change({"paused": None, "rollout": None})
        self.pass_over(rounds)

    def change_platform(self, image: str | None) -> None:
        live = self.plane.world.pools.read_platform()
        document = merged(live, {"spec": {"controlPlaneImage": image}})
        apply(self.plane.world, [document], Shown(), self.plane.now())

    # What happens.

    def lose_machine(self, which: int) -> None:
        machines = [one for one in self._machines().values() if not one.is_leaving]
        if len(machines) > 1:
            self.plane.world.machines.delete_machine(machines[which % len(machines)].name)
            self.pass_over(2)

    def fail_machine(self, which: int) -> None:
        machines = [one for one in self._machines().values() if one.is_available]
        if len(machines) > 1:
            failed = machines[which % len(machines)]
            self.failed.add(failed.name)
            self.plane.world.machines.write_machine(
                replace(failed, phase=Phase.FAILED, ready_at=None, problem="its disk is gone")
            )

    def wait(self, hours: int) -> None:
        self.plane.moment += timedelta(hours=hours)

    def pass_over(self, rounds: int) -> None:
        for _ in range(rounds):
            self.plane.one_pass()
            self.check()
            self.plane.run_machines()
            self.check()
            self.plane.moment += timedelta(minutes=1)

    # What must hold.

    def check(self) -> None:
        allowed = set(self.agreed.disturbed) if self.agreed else set()
        found = self._machines()
        for name, machine in found.items():
            before = self.known.get(name, machine)
            if is_disturbed(machine) and not is_disturbed(before):
                assert name in allowed, f"{name} is replaced, and no agreed plan showed it"
        assert self._inputs() in self.inputs, "machines are made from what nobody was shown"
        self.known = found

    def come_to_rest(self) -> None:
        """Whatever the platform did: only machines that were not shown keep a rollout waiting."""
        self.change({"paused": None, "rollout": None, "autoRepair": True})
        self.plane.settle(after_each=self.check)
        thought = preview(POOL, self.plane.world.world(), self.plane.now())
        held = [wait.says for wait in thought.waits if wait.wait_for is WaitFor.PLAN]
        if held:
            assert self.agreed is not None
            assert beyond(self.agreed, thought.shown.disturbed), held
        status = self.plane.world.pools.find_status(POOL)
        assert status is not None
        is_failing = any(machine.phase is Phase.FAILED for machine in self._machines().values())
        # Two of its target halt a rollout until somebody resumes it, also once they were repaired.
        record = self.plane.world.pools.find_record(POOL)
        assert record is not None
        is_failing |= bool(record.halted) and len(self.failed.intersection(record.failed)) > 1
        assert held or is_failing or status.state.value in ("Settled", "Drifted"), status

    def _document(self) -> Any:
        return self.plane.world.pools.read_documents(POOL).pool

    def _machines(self) -> dict[str, Machine]:
        return {one.name: one for one in self.plane.world.machines.list_machines(POOL)}

    def _inputs(self) -> tuple[str, str]:
        record = self.plane.world.pools.find_record(POOL)
        assert record is not None
        assert record.target is not None
        return record.target.intent_hash, record.target.platform_hash


def is_disturbed(machine: Machine) -> bool:
    """Say whether a rollout took hold of a machine; what else takes one has another reason."""
    is_replaced = machine.is_leaving and machine.reason.startswith("the pool's owner")
    return is_replaced or machine.is_in_flight


def act(does: Callable[..., None], argument: st.SearchStrategy[Any]) -> st.SearchStrategy[Act]:
    return st.tuples(st.just(does), argument)


WHICH = st.integers(0, 3)
OTHERS = st.one_of(
    act(ApprovedHistory.change, PATCHES),
    act(ApprovedHistory.change_platform, IMAGES),
    act(ApprovedHistory.lose_machine, WHICH),
    act(ApprovedHistory.pass_over, st.integers(1, 6)),
)
ACTS = st.one_of(
    OTHERS,
    # What is agreed to often has to wait.
    act(ApprovedHistory.agree, EDITS | WAITING_EDITS),
    act(ApprovedHistory.hesitate, st.tuples(EDITS | WAITING_EDITS, OTHERS)),
    act(ApprovedHistory.ask, EDITS),
    act(ApprovedHistory.answer, WHICH),
    act(ApprovedHistory.release, st.integers(1, 6)),
    act(ApprovedHistory.fail_machine, WHICH),
    act(ApprovedHistory.wait, st.sampled_from([1, 11])),
)


def run(acts: list[Act], *, in_place: bool) -> None:
    memory = Path("/dev/shm")  # where a commit does not wait for a disk
    place = str(memory) if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        history = ApprovedHistory(Path(directory), in_place=in_place)
        try:
            for does, argument in acts:
                does(history, argument)
                history.check()
            history.come_to_rest()
        finally:
            history.plane.close()


@FEW
@given(acts=st.lists(ACTS, min_size=4, max_size=12), in_place=st.booleans())
def test_nothing_is_replaced_that_no_agreed_plan_showed(acts: list[Act], in_place: bool) -> None:
    run(acts, in_place=in_place)


@pytest.mark.slow
@settings(FEW, max_examples=2000, derandomize=False)
@given(acts=st.lists(ACTS, min_size=4, max_size=30), in_place=st.booleans())
def test_nothing_is_replaced_that_no_agreed_plan_showed_over_many_histories(
    acts: list[Act], in_place: bool
) -> None:
    run(acts, in_place=in_place)
