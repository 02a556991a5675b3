"""
A real control plane and other users of this computer: processes with another user and group.

A child of the test becomes the other user, since the source tree may be closed to them.
"""

from __future__ import annotations

import array  # noqa: F401 - what send_fds needs
import json
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import fairlead.cli.screens.show
import fairlead.embedded.store.claim  # noqa: F401 - as `shared` says
from e2e.running_plane import RunningPlane
from fairlead.cli.main import run_command
from fairlead.embedded.access.shared import keep_doors
from fairlead.embedded.access.way_in import connect_as_guest
from fairlead.embedded.serve.unix_socket import bind, connect
from fairlead.embedded.state_directory import StateDirectory

pytestmark = pytest.mark.root

REPOSITORY = Path(__file__).parents[2]

# Users and groups that nothing on the computer knows.
VIEWER, POOL_OWNER, PLATFORM, STRANGER, OWNER = 64001, 64002, 64003, 64004, 64005
VIEWERS, POOL_OWNERS, PLATFORMS, STRANGERS = 64101, 64102, 64103, 64104
ROLES = (
    f"fairlead-viewer group {VIEWERS}\n"
    f"fairlead-pool-owner group {POOL_OWNERS}\n"
    f"fairlead-platform user {PLATFORM}\n"
)
PLANE = "the control plane"
COMMANDS = (["whoami"], ["pool", "list"], ["platform", "set"], ["down"])


@dataclass
class Said:
    code: int
    out: str
    err: str


class Shared:
    """One control plane of root's, in a directory that others can reach."""

    def __init__(self, plane: RunningPlane) -> None:
        self.plane = plane

    def give(self, roles: str) -> None:
        """Write the roles, and wait until the doors are as they say."""
        self.plane.directory.roles.write_text(roles)
        self.plane.run("whoami")

    def run_as(self, uid: int, gid: int, *words: str) -> Said:
        """Run a command of fairlead as another user, in one group beside their own."""
        whole = [*words, "--state", str(self.plane.directory.path)]
        return in_child(uid, gid, lambda: run_command(whole))


def in_child(uid: int, gid: int, work: Callable[[], int]) -> Said:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                os.setgroups([gid])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                code = work()
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException as error:  # noqa: BLE001 - told to the parent
                os.write(2, repr(error).encode())
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        code = os.waitstatus_to_exitcode(status)
        return Said(code, out.read().decode(), err.read().decode())


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    with shared_plane() as found:
        yield found


@pytest.fixture
def own() -> Iterator[Shared]:
    """A control plane for a test that ends it."""
    with shared_plane() as found:
        yield found


@contextmanager
def shared_plane() -> Iterator[Shared]:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        with RunningPlane(Path(scratch) / "state") as plane:
            plane.settled()
            found = Shared(plane)
            for words in COMMANDS:  # imported here: the other users may not be able to
                with suppress(SystemExit):
                    run_command([*words, "--help"])
            yield found


def test_nobody_comes_near_a_control_plane_without_roles(shared: Shared) -> None:
    said = shared.run_as(STRANGER, STRANGERS, "pool", "list")

    path = shared.plane.directory.path
    assert said.code == 2
    assert said.out == ""
    assert f"{STRANGER} has no role in the control plane of {path}" in said.err
    assert f"root, who owns it, can give one: a line in {path}/roles" in said.err
    assert not shared.plane.directory.shared.exists()


def test_a_viewer_looks_and_a_viewer_who_applies_is_refused(shared: Shared) -> None:
    shared.give(ROLES)

    looked = shared.run_as(VIEWER, VIEWERS, "pool", "list", "--json")
    scaled = shared.run_as(VIEWER, VIEWERS, "pool", "scale", "workers", "5")

    assert looked.code == 0
    assert [pool["name"] for pool in json.loads(looked.out)["pools"]] == ["workers"]
    assert scaled.code == 2
    assert f"{VIEWER} has the role fairlead-viewer, and PATCH /v1/pools" in scaled.err
    assert "needs fairlead-pool-owner" in scaled.err
    assert shared.plane.ask("/v1/pools/workers")["desired"] != 5


def test_a_pool_owner_scales_and_a_pool_owner_who_sets_the_platform_is_refused(
    shared: Shared,
) -> None:
    shared.give(ROLES)

    scaled = shared.run_as(POOL_OWNER, POOL_OWNERS, "pool", "scale", "workers", "4")
    changed = shared.run_as(POOL_OWNER, POOL_OWNERS, "platform", "set", "proxy.image=x@sha256:bb")
    stopped = shared.run_as(POOL_OWNER, POOL_OWNERS, "down")

    assert (scaled.code, changed.code, stopped.code) == (0, 2, 2)
    assert shared.plane.ask("/v1/pools/workers")["desired"] == 4
    told = [event for event in shared.plane.ask("/v1/events")["events"] if event["actor"] != PLANE]
    assert (told[-1]["kind"], told[-1]["actor"]) == ("PoolDeclared", str(POOL_OWNER))
    assert "needs fairlead-platform" in changed.err
    assert "needs fairlead-platform" in stopped.err


def test_whoami_says_who_the_kernel_says_one_is(shared: Shared) -> None:
    shared.give(ROLES)

    assert shared.run_as(POOL_OWNER, POOL_OWNERS, "whoami").out == (
        f"{POOL_OWNER}: fairlead-pool-owner (group {POOL_OWNERS})\n"
    )
    assert shared.run_as(PLATFORM, STRANGERS, "whoami").out == (
        f"{PLATFORM}: fairlead-platform (user {PLATFORM})\n"
    )


def test_the_page_about_sharing_is_true_word_by_word(shared: Shared) -> None:
    """With numbers in the place of its users and groups, which no computer is sure to have."""
    page = (REPOSITORY / "docs/howto/share-a-control-plane.md").read_text()
    for name, number in {"staff": VIEWERS, "payments": POOL_OWNERS, "alice": PLATFORM}.items():
        page = re.sub(rf"\b{name}\b", str(number), page)
    page = page.replace("bob:", f"{POOL_OWNER}:")
    making, roles, seen = re.findall(r"```(?:sh|text)\n(.*?)```", page, re.DOTALL)

    with tempfile.TemporaryDirectory() as place:
        script = making.replace("-o fleet -g fleet ", "").replace("/srv", place)
        subprocess.run(["sh", "-euc", script], check=True)
        above, state = (Path(place, name).stat() for name in ("fairlead", "fairlead/state"))
    shared.give(roles)
    command, expected = seen.splitlines()
    words = command.removeprefix("$ fairlead ").split()

    assert (stat.S_IMODE(above.st_mode), stat.S_IMODE(state.st_mode)) == (0o711, 0o700)
    assert shared.run_as(POOL_OWNER, POOL_OWNERS, *words).out == f"{expected}\n"
    assert "fairlead-viewer" in shared.run_as(VIEWER, VIEWERS, "whoami").out
    assert "fairlead-platform" in shared.run_as(PLATFORM, STRANGERS, "whoami").out
    assert shared.run_as(STRANGER, STRANGERS, "whoami").code == 2
    assert "needs fairlead-pool-owner" in (
        shared.run_as(VIEWER, VIEWERS, "pool", "scale", "workers", "5").err
    )


def test_a_stranger_finds_every_door_closed_to_them(shared: Shared) -> None:
    shared.give(ROLES)
    directory = shared.plane.directory
    doors = sorted(directory.shared.iterdir())

    def try_all() -> int:
        """Return how many of everything that could be opened was."""
        count = 0
        for path in (directory.socket, directory.shared_socket, *(d / "api.sock" for d in doors)):
            with suppress(OSError):
                connect(path, 5).close()
                count += 1
        for path in (directory.path, directory.shared, directory.roles, directory.database, *doors):
            with suppress(OSError):
                _ = list(path.iterdir()) if path.is_dir() else path.read_bytes()
                count += 1
        return count

    assert [door.name for door in doors] == [
        f"group-{VIEWERS}", f"group-{POOL_OWNERS}", f"user-{PLATFORM}",
    ]  # fmt: skip
    assert in_child(STRANGER, STRANGERS, try_all).code == 0
    assert in_child(VIEWER, VIEWERS, try_all).code == 1  # their own door, and nothing else


def test_a_role_that_is_taken_away_ends_at_once_also_for_who_is_inside(shared: Shared) -> None:
    shared.give(ROLES)
    door = shared.plane.directory.shared / f"group-{VIEWERS}" / "api.sock"
    ours, theirs = socket.socketpair()

    def hand_over() -> int:
        inside = connect(door, 10)
        socket.send_fds(theirs, [b"x"], [inside.fileno()])
        return 0

    # Handed on to root, it still speaks for whoever opened it.
    assert in_child(VIEWER, VIEWERS, hand_over).code == 0
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    with socket.socket(fileno=descriptors[0]) as inside, ours, theirs:
        inside.settimeout(10)
        before = status_of(inside)
        shared.give("fairlead-viewer group 64999\n")
        after = status_of(inside)

    assert (before, after) == (200, 403)
    assert shared.run_as(VIEWER, VIEWERS, "whoami").code == 2


def status_of(connection: socket.socket) -> int:
    connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while b"\r\n\r\n" not in answer or not answer.endswith(b"}\n"):
        answer += connection.recv(65536)
    return int(answer.split(b" ")[1])


def test_a_door_that_somebody_else_put_up_is_told_nothing() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o777)
        directory = StateDirectory(Path(scratch) / "state")
        directory.path.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()

        def put_up() -> int:
            door = directory.shared / f"group-{VIEWERS}"
            door.mkdir(parents=True)
            fake = bind(door / "api.sock", 0o666)
            fake.listen()
            socket.send_fds(theirs, [b"x"], [fake.fileno()])
            return 0

        with ours, theirs:
            assert in_child(STRANGER, STRANGERS, put_up).code == 0
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        with socket.socket(fileno=descriptors[0]) as fake:
            words = ["whoami", "--state", str(directory.path)]
            said = in_child(VIEWER, VIEWERS, lambda: run_command(words))
            fake.settimeout(10)
            taken, _ = fake.accept()
            with taken:
                assert taken.recv(1) == b""

    assert said.code == 2
    assert f"{VIEWER} has no role" in said.err


def test_an_owner_who_is_not_root_lets_in_the_groups_they_are_in() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o777)
        directory = StateDirectory(Path(scratch) / "state")
        ours, theirs = socket.socketpair()

        def open_up() -> int:
            directory.make()
            directory.roles.write_text(ROLES)
            bound = bind(directory.shared_socket, 0o666)
            bound.listen()
            sys.stdout.write("\n".join(keep_doors(directory)))
            socket.send_fds(theirs, [b"x"], [bound.fileno()])
            return 0

        def come_in() -> int:
            connect_as_guest(directory, lambda path: connect(path, 5)).close()
            return 0

        with ours, theirs:
            said = in_child(OWNER, VIEWERS, open_up)
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        with socket.socket(fileno=descriptors[0]):
            assert in_child(VIEWER, VIEWERS, come_in).code == 0
            assert in_child(POOL_OWNER, POOL_OWNERS, come_in).code == 99
            assert in_child(STRANGER, STRANGERS, come_in).code == 99

    assert said.out.splitlines() == [
        f"{directory.roles} line 2: the group {POOL_OWNERS} cannot be let in: "
        "whoever runs the control plane must be in it",
        f"{directory.roles} line 3: only a control plane of root can let in one user "
        f"({PLATFORM}); give the role to a group instead",
    ]


def test_doors_go_with_the_control_plane(own: Shared) -> None:
    own.give(ROLES)

    said = own.run_as(PLATFORM, STRANGERS, "down")

    assert (said.code, said.err) == (
        0,
        "stopped; machines and state stay: `fairlead up` goes on with them\n",
    )
    assert not own.plane.directory.shared.exists()
    assert not own.plane.directory.shared_socket.exists()
    assert own.run_as(VIEWER, VIEWERS, "whoami").code == 2


def test_doors_of_a_killed_control_plane_go_with_its_state(own: Shared) -> None:
    own.give(ROLES)
    assert own.plane.directory.shared.exists()
    own.plane.kill()

    own.plane.run("down", "--purge", "--yes")

    assert not own.plane.directory.shared.exists()
