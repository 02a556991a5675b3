"""An embedded world in a directory of its own, with one pool that can be declared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.answers.event import Event
from fairlead.answers.pool import PoolStatus
from fairlead.answers.words import ChangeClass, EventKind, PoolState
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.world import EmbeddedWorld
from fairlead.inputs.platform_inputs import Stub
from fairlead.rollout.approval import Approval
from fairlead.rollout.machines import Template
from fairlead.rollout.secrets import TokenSecret, UserData
from fairlead.sim.clock import START, Clock
from pool_documents import make_revision, pool_document

POOL = "workers"
PAIR = "0123456789abcdef"
TOKEN = "token-1"
OWN_STUB = Stub(
    endpoint="https://127.0.0.1:7443/v1/node-config",
    ca="OUR CA",
    report="https://127.0.0.1:7443/v1/boot-report",
)
STATUS = PoolStatus(
    state=PoolState.NEW,
    sentence="Nothing yet.",
    version="",
    updated=0,
    available=0,
    total=0,
    desired=3,
    conditions=(),
)
PLAN = Approval(
    pool=POOL, change=ChangeClass.REPLACE, intent_hash="1", platform_hash="2", because="imageBase"
)
EVENT = Event(kind=EventKind.SEEDED, pool=POOL, at=START, key="Seeded:1", says="Seeded.")


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    store = Store(StateDirectory(path))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_world(path: Path, clock: Clock | None = None) -> Iterator[EmbeddedWorld]:
    """A world with nothing in it but the pull secret that pools name."""
    clock = clock or Clock()
    with open_store(path) as store:
        directory = StateDirectory(path)
        (directory.secrets / "registry-login").write_text('{"auths": {}}')
        yield EmbeddedWorld(store, directory, OWN_STUB, lambda: clock.now)


def with_template(world: EmbeddedWorld) -> None:
    """Declare the pool, write a pair, and point the template at it."""
    world.pools.write_pool(pool_document())
    write_pair(world)
    world.machines.point_template(POOL, make_template())


def write_pair(world: EmbeddedWorld, pair: str = PAIR, token: str = TOKEN) -> None:
    world.secrets.write_token(make_token(pair, token))
    world.secrets.write_user_data(UserData(pool=POOL, id=pair, token=token, stub=OWN_STUB))


def make_token(pair: str = PAIR, token: str = TOKEN) -> TokenSecret:
    revision = make_revision()
    return TokenSecret(
        pool=POOL, id=pair, revision=revision, served=revision, token=token, issued_at=START
    )


def make_template(revision: str = PAIR, generation: int = 1) -> Template:
    return Template(
        revision=revision,
        version="1.34.2",
        machine_template={"vmSize": "m5.large"},
        replicas=3,
        generation=generation,
        observed_generation=0,
    )
