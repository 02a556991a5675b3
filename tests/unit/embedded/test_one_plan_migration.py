"""Plans that the release before kept are read after an upgrade, also in the middle of a rollout."""

import sqlite3
from pathlib import Path

from fairlead.answers.plan import Plan
from fairlead.answers.words import ChangeClass
from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.database import Store
from fairlead.embedded.store.migrations import apply_migrations, read_migrations
from fairlead.rollout.record import PoolRecord

# As release 202611.16.0 wrote them: leaves by name, time as a span.
EARLIER = (
    '{"pool":"workers","change":"replace","intent_hash":"aa","platform_hash":"bb",'
    '"because":"Machines are replaced.","leaves":["imageBase"],"target":"0123",'
    '"machines":["workers-1"],"estimate":1800.0}'
)
PLAN = Plan(
    pool="workers",
    change=ChangeClass.REPLACE,
    because="Machines are replaced.",
    machines=("workers-1",),
    estimate_s=1800.0,
    intent_hash="aa",
    platform_hash="bb",
    target="0123",
)


def test_plans_of_the_release_before_have_the_one_shape(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path / "state")
    directory.make()
    connection = sqlite3.connect(directory.database, isolation_level=None)
    apply_migrations(connection, read_migrations()[:1])
    connection.execute("INSERT INTO pools (name, document) VALUES ('workers', '{}')")
    connection.execute("INSERT INTO pools (name, document) VALUES ('idle', '{}')")
    connection.execute("INSERT INTO plans (pool, value) VALUES ('workers', ?)", (EARLIER,))
    record = f'{{"pool":"workers","serial":4,"reason":"\\ud800","plan":{EARLIER}}}'
    connection.execute("INSERT INTO records (pool, value) VALUES ('workers', ?)", (record,))
    idle = '{"pool":"idle","plan":null}'
    connection.execute("INSERT INTO records (pool, value) VALUES ('idle', ?)", (idle,))
    connection.close()

    store = Store(directory)

    try:
        assert store.find_value(Plan, "SELECT value FROM plans") == PLAN
        assert store.values(PoolRecord, "SELECT value FROM records ORDER BY pool") == (
            PoolRecord(pool="idle"),
            PoolRecord(pool="workers", serial=4, reason="\ud800", plan=PLAN),
        )
    finally:
        store.close()
