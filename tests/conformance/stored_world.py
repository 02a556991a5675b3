"""
The simulated world with everything in an embedded store, so that one suite runs on both.

Every seam is the embedded one. What SimWorld keeps in dictionaries is looked up in the store, and
what its machines become is written there as the driver of the embedded edge writes it.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fairlead.answers.event import Event
from fairlead.answers.pool import PoolStatus
from fairlead.controller.observe import PoolDocuments
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.errors import InvariantError
from fairlead.inputs.platform_inputs import Stub
from fairlead.kept_text import render_document, render_value
from fairlead.rollout.approval import Approval
from fairlead.rollout.machines import Machine, NodeSettings, Template
from fairlead.rollout.record import PoolRecord
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.sim.clock import Clock
from fairlead.sim.world import SimWorld

Key = TypeVar("Key")
Value = TypeVar("Value")

# Made anew when a store is opened; never copied.
OF_THE_STORE = (
    "store", "edge", "documents", "records", "statuses", "plans", "templates", "living", "gone",
    "tokens", "user_data",
)  # fmt: skip


class Rows(MutableMapping[Key, Value]):
    """A table as the dictionary that SimWorld has in its place."""

    def __init__(
        self,
        keys: Callable[[], Iterable[Key]],
        find: Callable[[Key], Value | None],
        write: Callable[[Key, Value], None],
        delete: Callable[[Key], None],
    ) -> None:
        self._keys = keys
        self._find = find
        self._write = write
        self._delete = delete

    def __getitem__(self, key: Key) -> Value:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: Key, value: Value) -> None:
        self._write(key, value)

    def __delitem__(self, key: Key) -> None:
        self[key]
        self._delete(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(list(self._keys()))

    def __len__(self) -> int:
        return len(list(self._keys()))


class StoredWorld(SimWorld):
    """A world in a directory of its own, which `close` removes."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._pending: tuple[str, str] | None = None
        self._copies: list[StoredWorld] = []
        self.directory = StateDirectory(Path(tempfile.mkdtemp(prefix="fairlead-world-")))
        self.directory.make()
        (self.directory.secrets / "registry-login").write_text('{"auths": {}}')
        self._open()

    def _open(self) -> None:
        self.store = Store(self.directory)
        self.store.before_write = self._before_write
        # Whether the disk keeps what it was told is tested elsewhere, and costs most of the time.
        self.store.rows("PRAGMA synchronous = OFF")
        edge = EmbeddedWorld(self.store, self.directory, Stub(), lambda: self.clock.now)
        self.edge = edge
        views: dict[str, Any] = {
            "documents": Rows(
                edge.pools.list_pools, self._find_documents, self._declare, edge.pools.forget_pool
            ),
            "records": Rows(
                lambda: self._names("records"),
                edge.pools.find_record,
                lambda _, record: edge.pools.write_record(record),
                lambda pool: self._delete("records", pool),
            ),
            "statuses": Rows(
                lambda: self._names("statuses"),
                edge.pools.find_status,
                edge.pools.write_status,
                lambda pool: self._delete("statuses", pool),
            ),
            "plans": Rows(
                lambda: self._names("plans"),
                edge.pools.find_plan,
                lambda _, plan: edge.pools.write_plan(plan),
                edge.pools.forget_plan,
            ),
            "templates": Rows(
                lambda: self._names("templates"),
                edge.machines.find_template,
                self._put_template,
                lambda pool: self._delete("templates", pool),
            ),
            "living": Rows(
                lambda: (machine.name for machine in edge.machines.list_all()),
                self._find_living,
                lambda _, machine: edge.machines.write_machine(machine),
                edge.machines.mark_gone,
            ),
            "gone": Rows(
                lambda: (machine.name for machine in self._gone()),
                self._find_gone,
                lambda name, _: edge.machines.mark_gone(name),
                _refuse,
            ),
            "tokens": Rows(
                lambda: self._pairs("tokens"),
                lambda key: _named(edge.secrets.list_tokens(key[0]), key[1]),
                lambda _, secret: edge.secrets.write_token(secret),
                lambda key: edge.secrets.delete_token(*key),
            ),
            "user_data": Rows(
                lambda: self._pairs("user_data"),
                lambda key: _named(edge.secrets.list_user_data(key[0]), key[1]),
                lambda _, secret: edge.secrets.write_user_data(secret),
                lambda key: edge.secrets.delete_user_data(*key),
            ),
        }
        for name, view in views.items():
            setattr(self, name, view)

    def restart(self) -> None:
        """Let the control plane end, and another take its state directory."""
        self.store.close()
        self._open()

    def close(self) -> None:
        self.close_copies()
        self.store.close()
        shutil.rmtree(self.directory.path)

    def close_copies(self) -> None:
        for world in self._copies:
            world.close()
        self._copies.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> StoredWorld:
        world = object.__new__(type(self))
        self.store.close()
        for name, value in self.__dict__.items():
            if name not in OF_THE_STORE:
                setattr(world, name, [] if name == "_copies" else copy.deepcopy(value, memo))
        world.directory = StateDirectory(Path(tempfile.mkdtemp(prefix="fairlead-world-")))
        shutil.copytree(self.directory.path, world.directory.path, dirs_exist_ok=True)
        self._open()
        world._open()
        self._copies.append(world)
        return world

    # What is behind the dictionaries.

    def _names(self, table: str) -> list[str]:
        return [row[0] for row in self.store.rows(f"SELECT pool FROM {table} ORDER BY pool")]  # noqa: S608

    def _pairs(self, table: str) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self.store.rows(f"SELECT pool, id FROM {table}")]  # noqa: S608

    def _delete(self, table: str, pool: str) -> None:
        with self.store.writing() as connection:
            connection.execute(f"DELETE FROM {table} WHERE pool = ?", (pool,))  # noqa: S608

    def _find_documents(self, pool: str) -> PoolDocuments | None:
        if pool not in self.edge.pools.list_pools():
            return None
        found = self.edge.pools.read_documents(pool)
        return PoolDocuments(
            pool=found.pool,
            platform=self.edge.pools.read_platform(),
            resolved=found.resolved,
            is_leaving=found.is_leaving,
        )

    def _declare(self, pool: str, documents: PoolDocuments) -> None:
        """Declare both documents. Content of a pull secret that is no digest goes to its file."""
        self.edge.pools.write_platform(documents.platform)
        known = self._find_documents(pool)
        if known and known.is_leaving:  # refused here, and allowed where Kubernetes is the store
            with self.store.writing() as connection:
                text = render_document(documents.pool)
                connection.execute("UPDATE pools SET document = ? WHERE name = ?", (text, pool))
            return
        self.edge.pools.write_pool(documents.pool)
        content = documents.resolved.pull_secret
        if content and not content.startswith("sha256:"):
            path = self.directory.secrets / "registry-login"
            path.write_text(json.dumps({"auths": {content: {}}}))
            os.utime(path, (0, 0))  # not only a moment ago
            self.edge.pools.markers()  # the loop looks before every pass
        if documents.is_leaving:
            self.edge.pools.request_deletion(pool)

    def _put_template(self, pool: str, template: Template) -> None:
        with self.store.writing() as connection:
            connection.execute(
                "REPLACE INTO templates (pool, generation, observed_generation, value) "
                "VALUES (?, ?, ?, ?)",
                (pool, template.generation, template.observed_generation, render_value(template)),
            )

    def _find_living(self, name: str) -> Machine | None:
        found = self.edge.machines.find_machine(name)
        return found.machine if found and found.gone_at is None else None

    def _gone(self) -> list[Machine]:
        found = self.edge.machines.list_stored(with_gone=True)
        return [stored.machine for stored in found if stored.gone_at]

    def _find_gone(self, name: str) -> Machine | None:
        return next((machine for machine in self._gone() if machine.name == name), None)

    # Machines, as the driver of the edge moves them.

    def run_machines(self) -> int:
        moved = self.edge.machines.observe_templates()
        return moved + super().run_machines()

    def delete(self, name: str, *, skips_drain: bool = False) -> None:
        self.edge.machines.delete_machine(name, skips_drain=skips_drain)

    # The seams: each write is named for the log, and is one transaction.

    def _before_write(self) -> None:
        if self._pending is None:
            return  # not the controller
        kind, detail = self._pending
        if kind == "":
            raise InvariantError(f"{detail} takes more than one transaction")
        self._write(kind, detail)
        self._pending = ("", f"{kind} {detail}")

    @contextmanager
    def _naming(self, kind: str, detail: str) -> Iterator[None]:
        self._pending = (kind, detail)
        try:
            yield
        finally:
            self._pending = None

    def list_pools(self) -> tuple[str, ...]:
        return self.edge.pools.list_pools()

    def read_documents(self, pool: str) -> PoolDocuments:
        return self.edge.pools.read_documents(pool)

    def find_record(self, pool: str) -> PoolRecord | None:
        return self.edge.pools.find_record(pool)

    def write_record(self, record: PoolRecord) -> None:
        with self._naming("record", record.pool):
            self.edge.pools.write_record(record)

    def find_status(self, pool: str) -> PoolStatus | None:
        return self.edge.pools.find_status(pool)

    def write_status(self, pool: str, status: PoolStatus) -> None:
        with self._naming("status", pool):
            self.edge.pools.write_status(pool, status)

    def find_plan(self, pool: str) -> Approval | None:
        return self.edge.pools.find_plan(pool)

    def forget_pool(self, pool: str) -> None:
        with self._naming("forget", pool):
            self.edge.pools.forget_pool(pool)

    def list_machines(self, pool: str) -> tuple[Machine, ...]:
        return self.edge.machines.list_machines(pool)

    def find_template(self, pool: str) -> Template | None:
        return self.edge.machines.find_template(pool)

    def point_template(self, pool: str, template: Template) -> None:
        with self._naming("template", f"{pool} {template.revision}"):
            self.edge.machines.point_template(pool, template)

    def apply_template(self, pool: str, template: Template) -> None:
        with self._naming("template in place", pool):
            self.edge.machines.apply_template(pool, template)

    def create_machine(self, pool: str, name: str, revision: str) -> None:
        with self._naming("create", name):
            self.edge.machines.create_machine(pool, name, revision)
        self._shown_token[name] = self.user_data[pool, revision].token

    def remove_machine(self, name: str, reason: str, asked_by: str = "") -> None:
        with self._naming("remove", name):
            self.edge.machines.remove_machine(name, reason, asked_by)

    def let_go(self, machine: Machine) -> None:
        self.edge.let_go(machine.name, self.clock.now)

    def change_machine(self, name: str, revision: str) -> None:
        with self._naming("change", name):
            self.edge.machines.change_machine(name, revision)

    def apply_settings(self, name: str, settings: NodeSettings) -> None:
        with self._naming("settings", name):
            self.edge.machines.apply_settings(name, settings)

    def list_tokens(self, pool: str) -> tuple[TokenSecret, ...]:
        return self.edge.secrets.list_tokens(pool)

    def list_user_data(self, pool: str) -> tuple[UserData, ...]:
        return self.edge.secrets.list_user_data(pool)

    def write_token(self, secret: TokenSecret) -> None:
        with self._naming("token", f"{secret.pool} {secret.id}"):
            self.edge.secrets.write_token(secret)

    def write_user_data(self, secret: UserData) -> None:
        with self._naming("user data", f"{secret.pool} {secret.id}"):
            self.edge.secrets.write_user_data(secret)

    def delete_token(self, pool: str, pair: str) -> None:
        with self._naming("delete token", f"{pool} {pair}"):
            self.edge.secrets.delete_token(pool, pair)

    def delete_user_data(self, pool: str, pair: str) -> None:
        with self._naming("delete user data", f"{pool} {pair}"):
            self.edge.secrets.delete_user_data(pool, pair)

    def append(self, events: Iterable[Event]) -> None:
        events = list(events)
        with self._naming("events", ", ".join(event.kind.value for event in events)):
            self.edge.journal.append(events)

    def read_events(self, pool: str) -> tuple[Event, ...]:
        return self.edge.journal.read_events(pool)


def restart(world: SimWorld) -> None:
    """Let the control plane end and start again, where it has anything to lose."""
    start_again = getattr(world, "restart", None)
    if start_again is not None:
        start_again()


Named = TypeVar("Named", TokenSecret, UserData)


def _named(secrets: Iterable[Named], pair: str) -> Named | None:
    return next((secret for secret in secrets if secret.id == pair), None)


def _refuse(name: str) -> None:
    raise InvariantError(f"{name} cannot come back")
