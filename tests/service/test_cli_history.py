"""What was declared before, and back to it; what happened, and what machines printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from fairlead.embedded.access.peer import user_name
from fairlead.embedded.machines.kind import Printed
from service.cli_plane import Commands, command_plane
from service.terminal import CTRL_C, Terminal
from shared_cases import REPOSITORY

POOL = REPOSITORY / "examples/pool.yaml"


@pytest.fixture
def workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    """The pool of three of the example."""
    with command_plane(tmp_path / "state", capsys) as commands:
        assert commands.run("apply", "-f", str(POOL)).code == 0
        yield commands


def apply_version(workers: Commands, version: str) -> None:
    """Apply the pool as it is declared now, with another version."""
    document = workers.json("pool", "show", "workers")["document"]
    document["spec"]["release"]["version"] = version
    path = workers.plane.directory.path.parent / "edited.json"
    path.write_text(json.dumps(document))
    assert workers.run("apply", "-f", str(path), "--yes").code == 0


def test_a_history_tells_what_each_document_changed(workers: Commands) -> None:
    apply_version(workers, "1.35.0")
    workers.run("pool", "scale", "workers", "4")

    lines = workers.run("pool", "history", "workers").out.splitlines()

    assert lines[0].split() == ["NUMBER", "SINCE", "BY", "STATE", "CHANGED"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]
    me = user_name(os.geteuid())
    assert lines[1].endswith(f"  {me}  -         the first that is kept")
    assert lines[2].endswith(f"  {me}  -         release.version")
    assert lines[3].endswith(f"  {me}  in force  replicas")
    assert workers.run("pool", "history", "workers", "-o", "name").out == "1\n2\n3\n"


def test_an_earlier_document_is_printed_to_be_applied_again(workers: Commands) -> None:
    apply_version(workers, "1.35.0")

    printed = workers.run("pool", "history", "workers", "1")
    missing = workers.run("pool", "history", "workers", "7")

    assert yaml.safe_load(printed.out) == yaml.safe_load(POOL.read_text())
    assert (missing.code, missing.err) == (
        2,
        "fairlead: workers: no document has the number 7 (kept: 1, 2)\n",
    )


def test_undo_plans_the_document_before_and_asks(workers: Commands) -> None:
    apply_version(workers, "1.34.3")
    before = workers.machines()

    refused = workers.run("rollout", "undo", "workers")
    tried = workers.run("rollout", "undo", "workers", "--dry-run")
    kept = workers.machines()
    undone = workers.run("rollout", "undo", "workers", "--yes")

    assert refused.code == 2
    assert "needs an answer, and there is no terminal (use --yes)" in refused.err
    assert "release.version  intent  pool owner  1.34.3  1.34.2" in tried.out
    assert kept == before
    assert undone.code == 0
    assert undone.err.startswith("back to document 1 of workers\napplied NodePool/workers\n")
    assert not set(before) & set(workers.machines())
    assert workers.json("pool", "show", "workers")["version"] == "1.34.2"


def test_undo_leaves_count_pause_and_force_as_they_are(workers: Commands) -> None:
    apply_version(workers, "1.34.3")
    workers.run("pool", "scale", "workers", "5")
    workers.run("pool", "pause", "workers")

    assert workers.run("rollout", "undo", "workers", "--yes", "--no-wait").code == 0

    spec = workers.json("pool", "show", "workers")["document"]["spec"]
    assert (spec["replicas"], spec["paused"]) == (5, True)
    assert spec["release"]["version"] == "1.34.2"


def test_undo_twice_goes_back_and_forth_and_to_goes_anywhere(workers: Commands) -> None:
    apply_version(workers, "1.34.3")
    apply_version(workers, "1.34.4")

    for words, version in (([], "1.34.3"), ([], "1.34.4"), (["--to", "1"], "1.34.2")):
        assert workers.run("rollout", "undo", "workers", *words, "--yes").code == 0
        assert workers.json("pool", "show", "workers")["version"] == version


def test_undo_of_a_minor_version_must_be_allowed_and_says_how(workers: Commands) -> None:
    apply_version(workers, "1.35.0")

    refused = workers.run("rollout", "undo", "workers", "--yes")
    undone = workers.run("rollout", "undo", "workers", "--yes", "--allow-downgrade")

    assert refused.code == 2
    assert refused.err.endswith(
        "fairlead: release.version: document 1 of workers has an earlier minor version than the "
        "pool (fairlead rollout undo workers --allow-downgrade goes back all the same)\n"
    )
    assert undone.code == 0
    release = workers.json("pool", "show", "workers")["document"]["spec"]["release"]
    assert (release["version"], release["allow"]) == ("1.34.2", ["Downgrade"])


def test_nothing_before_is_nothing_to_undo(workers: Commands) -> None:
    workers.run("pool", "scale", "workers", "4")

    said = workers.run("rollout", "undo", "workers", "--yes")

    assert (said.code, said.err) == (
        2,
        "fairlead: workers: no document before the one in force has other intent "
        "(fairlead pool history workers shows what is kept)\n",
    )


def test_twenty_documents_are_kept_and_go_with_their_pool(workers: Commands) -> None:
    for count in range(1, 26):
        workers.run("pool", "scale", "workers", str(count % 3 + 1), "--yes")
    kept = workers.json("pool", "history", "workers")["documents"]
    workers.run("pool", "delete", "workers", "--yes")
    workers.settle()

    assert [kept[0]["number"], kept[-1]["number"], len(kept)] == [7, 26, 20]
    assert workers.run("pool", "history", "workers").code == 2


def test_events_are_told_with_their_zone_and_since_a_moment(workers: Commands) -> None:
    told = workers.run("events")
    later = workers.run("events", "--since", "2999-01-01T00:00:00Z")
    hour = workers.run("events", "workers", "--since", "1h", "--limit", "1")

    assert told.out.splitlines()[0].split() == ["AT", "EVENT", "BY", "SAYS"]
    assert told.out.splitlines()[1].split()[0].endswith("Z")
    me = user_name(os.geteuid())
    assert told.out.splitlines()[1].split()[1:3] == ["PoolDeclared", me]
    assert later.out == "no event yet\n"
    assert len(hour.out.splitlines()) == 2
    assert hour.err == "the latest 1; --limit shows more\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--since", "yesterday"], "fairlead: --since: found 'yesterday', expected a moment"),
        (["--limit", "0"], "fairlead: --limit: found 0, expected 1 to 10000"),
        (["nobody"], "fairlead: nobody: no pool and no machine has this name"),
    ],
    ids=" ".join,
)
def test_events_that_cannot_be_asked_for_are_refused(
    workers: Commands, words: list[str], told: str
) -> None:
    said = workers.run("events", *words)

    assert said.code == 2
    assert said.err.startswith(told)


def followed(workers: Commands, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fairlead", *words, "--state", str(workers.plane.directory.path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_followed_events_come_once_each_as_they_happen(workers: Commands) -> None:
    process = followed(workers, "events", "--follow", "-o", "json")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    workers.run("pool", "scale", "workers", "4")
    told = [first]
    while [event["kind"] for event in told].count("MachineCreated") < 4:
        told.append(json.loads(process.stdout.readline()))
    process.kill()
    process.communicate()

    assert first["kind"] == "PoolDeclared"
    keys = [event["key"] for event in told]
    assert len(keys) == len(set(keys))


CONSOLE = b'{"level":"INFO","msg":"boot"}\n\x1b[2Jcleared \xff\xe2\x80\xaedeb\nlast\n'


def test_a_machine_shows_what_it_printed_and_moves_no_cursor(workers: Commands) -> None:
    name = workers.machines()[0]
    words = "stage provision: it failed"
    workers.plane.consoles[name] = Printed(power="1", begin=0, data=CONSOLE, last_words=words)

    whole = workers.run("logs", name)
    tail = workers.run("logs", name, "--tail", "1")

    assert whole.out == ('{"level":"INFO","msg":"boot"}\n\\x1b[2Jcleared \\xff\\u202edeb\nlast\n')
    assert whole.err == f"last words: {words}\n"
    assert tail.out == "last\n"
    assert tail.err == f"earlier lines are left out\nlast words: {words}\n"


def test_a_long_console_begins_with_a_whole_line_and_says_what_is_left_out(
    workers: Commands,
) -> None:
    name = workers.machines()[0]
    workers.plane.consoles[name] = Printed(power="1", begin=9, data=CONSOLE, last_words="")

    said = workers.run("logs", name)

    assert said.out.startswith("\\x1b[2Jcleared")
    assert said.err == "earlier lines are left out\n"


def test_followed_logs_go_on_and_say_when_a_machine_got_power_again(workers: Commands) -> None:
    name = workers.machines()[0]
    consoles = workers.plane.consoles
    consoles[name] = Printed(power="1", begin=0, data=b"one\n", last_words="")
    process = followed(workers, "logs", name, "--follow")
    assert process.stdout is not None
    seen = [process.stdout.readline()]
    consoles[name] = Printed(power="1", begin=0, data=b"one\ntwo\n", last_words="")
    seen.append(process.stdout.readline())
    consoles[name] = Printed(power="2", begin=0, data=b"three\n", last_words="")
    seen.append(process.stdout.readline())
    process.kill()
    _, err = process.communicate()

    assert seen == ["one\n", "two\n", "three\n"]
    assert err == f"{name} got power again\n"


def test_a_machine_that_is_gone_says_where_to_look_instead(workers: Commands) -> None:
    name = workers.machines()[0]
    workers.run("machine", "delete", name, "--yes")
    workers.settle()

    said = workers.run("logs", name)

    assert (said.code, said.err) == (
        2,
        f"fairlead: {name}: this machine is gone, and what it printed with it "
        f"(fairlead timeline {name} shows what it reported)\n",
    )
    assert workers.run("logs", "nobody").code == 2


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pool", "list"], "workers\n"),
        (["pool", "show", "workers"], "workers\n"),
        (["plan", "-f", str(POOL)], "workers\n"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_names_alone_are_one_per_line(workers: Commands, words: list[str], names: str) -> None:
    assert workers.run(*words, "-o", "name").out == names


def test_machines_are_names_for_other_commands(workers: Commands) -> None:
    assert workers.run("-o", "name", "machine", "list").out.split() == workers.machines()


def test_yaml_is_what_json_is(workers: Commands) -> None:
    shown = workers.json("machine", "list")

    assert yaml.safe_load(workers.run("machine", "list", "-o", "yaml").out) == shown


def test_a_wide_table_has_more_columns_and_no_fewer(workers: Commands) -> None:
    for words in (["pool", "list"], ["machine", "list"]):
        narrow = workers.run(*words).out.splitlines()[0].split()
        wide = workers.run(*words, "-o", "wide").out.splitlines()[0].split()
        assert set(narrow) < set(wide)


def test_watch_shows_what_changes_until_nobody_looks(workers: Commands) -> None:
    state = ["--state", str(workers.plane.directory.path)]

    with Terminal("pool", "list", "--watch", *state) as terminal:
        terminal.wait_for("Settled  1.34.2   3")
        terminal.wait_for("q or Ctrl-C: stop looking")
        workers.run("pool", "scale", "workers", "4")
        terminal.wait_for("Settled  1.34.2   4")
        terminal.press(CTRL_C)

        assert terminal.finish() == 130


def test_watched_json_is_a_document_on_a_line_whenever_it_changes(workers: Commands) -> None:
    process = followed(workers, "pool", "list", "--watch", "--json")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    workers.run("pool", "scale", "workers", "4")
    second = json.loads(process.stdout.readline())
    process.kill()
    process.communicate()

    assert [first["pools"][0]["desired"], second["pools"][0]["desired"]] == [3, 4]
