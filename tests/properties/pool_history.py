"""
Random histories of one pool, and what must hold at every write and after every pass.

The expectations are computed here from what was written into the documents, never with the code
under test: which intent the template was last given, how many machines may be missing, which
secrets are named.
"""

from __future__ import annotations

import copy
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fairlead.answers.words import Phase
from fairlead.controller.observe import Code, PoolDocuments, Resolved
from fairlead.controller.reconcile import preview
from fairlead.inputs.platform_inputs import CODE_DEFAULTS
from fairlead.revision.hashing import Scheme
from fairlead.rollout.machines import Machine, Template
from fairlead.rollout.secrets import hashed, is_valid
from fairlead.rollout.step import CreateMachine, PointTemplate, RemoveMachine
from fairlead.sim.world import ControllerKilledError, SimWorld
from pool_documents import platform_document, pool_document

if TYPE_CHECKING:
    from fairlead.rollout.record import PoolRecord
    from fairlead.rollout.secrets import TokenSecret

POOL = "workers"


class WatchedWorld(SimWorld):
    """A world that looks at every write as it happens."""

    def __init__(self, *, in_place: bool) -> None:
        super().__init__()
        self.spec: dict[str, Any] = {"imageBase": "a", "vmSize": "m", "maxPods": 0}
        self.settings: dict[str, Any] = {"replicas": 3}
        self.platform: dict[str, Any] = {"image": "a", "address": "a"}
        self.management: dict[str, Any] = {"type": "InPlace" if in_place else "Replace"}
        self.in_place = in_place
        self.is_broken = False
        self.is_stopped = False
        self.is_leaving = False
        self.shuffled = False
        self.rollout: dict[str, Any] = {}
        self.given_intent: dict[str, Any] | None = None
        self.given_force: set[str] = set()
        self.given_resume: set[str] = set()
        self.targets: set[str] = set()
        self.deaths = 0
        # What the payload service remembers: only hashes, and nothing across a restart.
        self.service: dict[str, str] = {}
        self.declare()

    # What is declared.

    def declare(self) -> None:
        spec: dict[str, Any] = {
            **self.settings,
            "imageBase": self.spec["imageBase"],
            "machineTemplate": {"vmSize": self.spec["vmSize"]},
            "config": self._documents(),
            "management": dict(self.management),
            "rollout": dict(self.rollout),
        }
        if self.is_broken:
            spec["config"] = [{"kind": "Nonsense"}]
        platform = platform_document(
            proxy={"image": self.platform["image"]},
            loadBalancerAddress=self.platform["address"],
            stopEverything=self.is_stopped,
        )
        document = pool_document(**spec)
        if self.shuffled:
            document["spec"] = dict(reversed(document["spec"].items()))
            document["spec"] |= {"sshKeys": [], "proxy": {"http": None}, "trustBundle": {}}
        self.documents[POOL] = PoolDocuments(
            pool=document,
            platform=platform,
            resolved=Resolved(release_digest="sha256:1"),
            is_leaving=self.is_leaving,
        )

    def _documents(self) -> list[dict[str, Any]]:
        sysctl = {"kind": "Sysctl", "settings": {"vm.swappiness": "1"}}
        if self.shuffled:
            sysctl = {"text": "# why\nvm/swappiness =  1\n", "kind": "Sysctl"}
        kubelet = {"kind": "KubeletConfiguration", "maxPods": self.spec["maxPods"]}
        return [kubelet, sysctl] if self.shuffled else [sysctl, kubelet]

    @property
    def desired(self) -> int:
        covers = isinstance(self.settings.get("paused"), dict) and not self.is_leaving
        if (covers or self.is_stopped) and POOL in self.templates:
            return self.templates[POOL].replicas
        return 0 if self.is_leaving else int(self.settings["replicas"])

    @property
    def is_halted(self) -> bool:
        record = self.records.get(POOL)
        return bool(record and record.halted)

    @property
    def surge(self) -> int:
        value = 0 if self.in_place else self.management.get("maxSurge", 1)
        return -(-int(value[:-1]) * self.desired // 100) if isinstance(value, str) else int(value)

    @property
    def unavailable(self) -> int:
        value = self.management.get("maxUnavailable", 1 if self.in_place else 0)
        down = int(value[:-1]) * self.desired // 100 if isinstance(value, str) else int(value)
        return down or (0 if self.surge else 1)

    # What is watched at every write.

    def point_template(self, pool: str, template: Template) -> None:
        is_empty = not self.living and not self.desired
        force = self.settings.get("force", "")
        is_forced = bool(force) and force not in self.given_force
        differs = self.given_intent != self.spec
        assert not self.is_broken, "I-9: a template was written though nothing can be computed"
        assert not self.settings.get("paused"), "a template was written while paused"
        assert not self.is_stopped, "a template was written though everything is stopped"
        assert not self.is_leaving, "a template was written for a pool that leaves"
        assert differs or is_forced or is_empty, (
            "I-1, I-2, I-8, I-10: a template was written though the owner changed nothing"
        )
        super().point_template(pool, template)
        self.given_intent = dict(self.spec)
        if force:
            self.given_force.add(force)
        self.targets.add(template.revision)

    def write_record(self, record: PoolRecord) -> None:
        if record.applied:
            assert record.applied.id in self.targets, "I-3: applied was never a target"
        known = self.records.get(POOL)
        request = self.rollout.get("resume", "")
        if known and known.halted and not record.halted and _goes_on(known, record):
            assert request not in {"", *self.given_resume}, "a halt ended without a fresh request"
        super().write_record(record)
        self.given_resume.add(request)

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        assert not self.is_stopped, "a machine came though everything is stopped"
        assert not self.is_leaving, "a machine came to a pool that leaves"
        super().create_machine(pool, name, revision)
        assert len(self.living) <= self.desired + self.surge, "I-11: above the surge"

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        was_available = self.living[name].is_available
        assert not self.is_stopped, "a machine was removed though everything is stopped"
        super().remove_machine(name, reason, asked_by)
        self._watch_availability(was_available)

    def change_machine(self, name: str, revision: str) -> None:
        was_available = self.living[name].is_available
        assert not self.is_stopped, "a machine was changed though everything is stopped"
        super().change_machine(name, revision)
        self._watch_availability(was_available)

    def _watch_availability(self, was_available: bool) -> None:
        available = sum(machine.is_available for machine in self.living.values())
        if was_available and not self.is_leaving:
            assert available >= self.desired - self.unavailable, "I-11: too few are available"

    # What is watched around every pass.

    def watched_pass(self) -> None:
        thought = preview(POOL, self.world(), self.clock.now)
        before, known = self.writes, set(self.living)
        removed = {step.machine for step in thought.steps if isinstance(step, RemoveMachine)}
        created = sum(isinstance(step, CreateMachine) for step in thought.steps)
        pointed = [s.template.revision for s in thought.steps if isinstance(s, PointTemplate)]

        self.one_pass()

        log = self.log[before:]
        assert {name for kind, name in log if kind == "remove"} == removed, "I-13"
        assert len(set(self.living) - known) == created, "I-13"
        assert [text.split()[1] for kind, text in log if kind == "template"] == pointed, "I-13"
        assert (POOL not in self.documents) is thought.is_over, "I-13"
        if thought.is_over:
            self.begin_again()
            return
        self.watch_secrets()
        assert self.one_pass() == 0, f"I-6: a second pass wrote {self.log[before:]}"
        record = self.records[POOL]
        if record.is_rolling and not (removed or created or pointed):
            assert thought.waits, "a rollout neither moves nor says why it waits"

    def watch_secrets(self) -> None:
        now = self.clock.now
        record = self.records[POOL]
        named = {revision.id for revision in (record.applied, record.target) if revision}
        if POOL in self.templates:
            named.add(self.templates[POOL].revision)
        for machine in self.living.values():
            named |= {machine.revision, machine.heading_for} - {""}
        for pair in named:
            token, user_data = self.tokens.get((POOL, pair)), self.user_data.get((POOL, pair))
            if token is None and self.documents[POOL].is_leaving:
                continue  # what is lost of a pool that leaves stays lost: nobody boots any more
            assert token is not None, "I-4: a named token secret does not exist"
            assert user_data is not None, "I-4: a named user-data secret does not exist"
            assert is_valid(token, user_data.token, now), "I-4: the token is not valid"
            assert token.expires_at is None, "I-5: something referenced carries an expiry"
        for (_, pair), token in self.tokens.items():
            if pair not in named:
                assert token.expires_at is not None, "I-5: something unreferenced never expires"
                assert token.expires_at > now, "I-5: something expired is still there"
        for _, pair in self.user_data:
            assert pair in named or (POOL, pair) in self.tokens, "I-5: user data without a token"

    def crashed_pass(self, after: int) -> None:
        """I-7: cut the controller off, run it again, and compare with a pass that was not."""
        whole = copy.deepcopy(self)
        whole.one_pass()

        self.crash_at = self.writes + after
        try:
            self.one_pass()
        except ControllerKilledError:
            self.one_pass()
        self.crash_at = None

        assert self.summary() == whole.summary(), "I-7: a crash changed where it ends"
        if POOL not in self.documents:
            self.begin_again()
            return
        self.watch_secrets()

    def fail_next_release(self, letter: str) -> None:
        """The owner changes something, and what comes of it fails."""
        self.fates[:0] = ["fail", "fail"]
        self.spec["imageBase"] = letter
        self.rollout["haltAfter"] = 2
        self.declare()
        for _ in range(4):
            self.watched_pass()
            self.run_machines()

    def begin_again(self) -> None:
        """A pool is gone, and its owner makes another of the same name."""
        left = (self.records, self.statuses, self.templates, self.living, self.tokens)
        assert not any(left), "something of a deleted pool is left"
        assert not self.user_data, "user data of a deleted pool is left"
        self.deaths += 1
        told = [event.kind.value for event in self.read_events(POOL)]
        assert told.count("PoolDeleted") == self.deaths, "a deletion was not told once"
        self.is_leaving = False
        self.given_intent = None
        self.given_force.clear()
        self.given_resume.clear()
        self.declare()

    def restart_service(self) -> None:
        """The payload service loses its memory and reads the secrets; then it must know all."""
        self.service.clear()
        for (_, pair), secret in self.tokens.items():
            for token in (secret.token, secret.previous):
                if token:
                    self.service[hashed(token)] = pair
        for (_, pair), data in self.user_data.items():
            if (POOL, pair) in self.tokens:
                assert self.service.get(hashed(data.token)) == pair, "I-4: a token is not known"

    def summary(self) -> dict[str, Any]:
        """Everything that matters, without names that were drawn and moments."""
        if POOL not in self.documents:
            return {"kinds of events": {event.kind for event in self.read_events(POOL)}}
        template, record = self.templates.get(POOL), self.records[POOL]
        status = self.statuses[POOL]
        return {
            "template": template
            and (template.revision, template.replicas, template.settings, template.version),
            "machines": Counter(_kind_of(machine) for machine in self.living.values()),
            "tokens": {pair: _life_of(token) for (_, pair), token in self.tokens.items()},
            "user data": {pair for _, pair in self.user_data},
            "applied": record.applied and record.applied.id,
            "target": record.target and record.target.id,
            "honoured": record.honoured,
            "held": [held.leaf for held in record.held],
            "failed": record.failed,
            "halted": record.halted,
            "resumed": record.resumed,
            "forgiven": record.forgiven,
            "state": status.state,
            "conditions": [
                (row.type, row.status, row.reason if row.type != "Seeded" else "")
                for row in status.conditions
            ],
        }

    def release_code(self, scheme: int, default: bool) -> None:
        self.code = Code(
            scheme=Scheme(scheme), defaults={**CODE_DEFAULTS, "enableHostsConfigAgent": default}
        )

    def come_to_rest(self) -> None:
        """Take every obstacle away: then the pool must be what its owner wrote, and stay so."""
        self.is_broken = False
        self.is_stopped = False
        self.settings.pop("paused", None)
        self.management.pop("strategy", None)
        self.stuck.clear()
        self.fates.clear()
        self._fate_of.clear()
        self.settings["force"] = "last"
        self.declare()
        if self.is_leaving:
            self.settle(POOL)
            self.begin_again()
        for _ in range(20):
            for name in list(self.living):
                self.recover(name)
                machine = self.living[name]
                # Dead, or made with a token whose secret was deleted by hand.
                if machine.phase is Phase.FAILED or "511" in machine.problem:
                    self.delete(name)
            self.settle(POOL)
            if self.records[POOL].is_rolling and self.wake:  # a batch soaks
                self.clock.advance(max(self.wake - self.clock.now, timedelta()))
        record = self.records[POOL]
        assert record.target is not None
        assert record.applied == record.target
        assert record.target.leaves["imageBase"] == self.spec["imageBase"]
        assert record.target.leaves["machineTemplate.vmSize"] == self.spec["vmSize"]
        assert {machine.revision for machine in self.living.values()} <= {record.target.id}
        assert len(self.living) == self.desired
        assert record.target.leaves["platform.proxy.image"] == self.platform["image"]


def _kind_of(machine: Machine) -> tuple[str, str, str]:
    return machine.revision, machine.phase.value, machine.heading_for


def _goes_on(known: PoolRecord, record: PoolRecord) -> bool:
    """The same target, and not every machine has it yet."""
    same = known.target and record.target and known.target.id == record.target.id
    return bool(same) and record.is_rolling


def _life_of(token: TokenSecret) -> tuple[str, str, bool]:
    return token.revision.id, token.served.id, token.expires_at is None
