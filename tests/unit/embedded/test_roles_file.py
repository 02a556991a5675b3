"""Who has which role, by the file in the state directory."""

import grp
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.answers.words import Role
from fairlead.embedded.access.peer import Peer
from fairlead.embedded.access.roles import Grant, parse_roles, read_roles, standing_of
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import InputError

STRANGER = 4242


def state(tmp_path: Path, roles: str, mode: int = 0o600) -> StateDirectory:
    directory = StateDirectory(tmp_path)
    directory.roles.write_text(roles)
    directory.roles.chmod(mode)
    return directory


def role_of(directory: StateDirectory, uid: int, *groups: int) -> Role | None:
    return standing_of(Peer(uid, frozenset(groups)), directory).role


def test_a_line_gives_one_role_to_one_group_or_user() -> None:
    text = b"# who may\n\nfairlead-viewer group ops   # all of them\nfairlead-platform user 7\n"

    assert parse_roles(text) == (
        Grant(3, Role.VIEWER, "group", "ops"),
        Grant(4, Role.PLATFORM, "user", "7"),
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fairlead-viewer ops", "found 2 words, expected a role, then `group` or `user`"),
        ("fairlead-viewer group ops dev", "found 4 words"),
        ("viewer group ops", "found the text 'viewer', expected fairlead-viewer, "),
        ("Fairlead-Viewer group ops", "found the text 'Fairlead-Viewer', expected"),
        ("fairlead-viewer team ops", "found the text 'team', expected `group` or `user`"),
        ("fairlead-viewer group 4294967295", "expected the name of a group"),
        (
            "fairlead-viewer user " + "x" * 257,
            "found text of 257 characters, expected the name of a user",
        ),
        ("fairlead-viewer group öps", "found what is not ASCII"),
    ],
)
def test_a_line_that_is_wrong_is_named_by_its_number(line: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_roles(f"fairlead-viewer group ops\n\n{line}\n".encode())

    assert caught.value.field == "roles line 3"
    assert says in caught.value.problem


@given(st.binary(max_size=200))
def test_whatever_the_file_holds_is_read_or_refused_by_line(text: bytes) -> None:
    try:
        lines = [grant.line for grant in parse_roles(text)]
    except InputError as error:
        lines = [int(error.field.removeprefix("roles line "))]

    assert all(1 <= line <= text.count(b"\n") + 1 for line in lines)


def test_without_a_file_only_the_owner_and_root_may_anything(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)

    assert role_of(directory, os.geteuid()) is Role.PLATFORM
    assert role_of(directory, 0) is Role.PLATFORM
    assert role_of(directory, STRANGER, STRANGER) is None


def test_the_highest_of_several_roles_counts(tmp_path: Path) -> None:
    directory = state(
        tmp_path,
        f"fairlead-pool-owner group 5001\nfairlead-viewer user {STRANGER}\n",
    )

    assert role_of(directory, STRANGER, 5001) is Role.POOL_OWNER
    assert role_of(directory, STRANGER, 5002) is Role.VIEWER
    assert role_of(directory, 4243, 5002) is None
    assert standing_of(Peer(STRANGER, frozenset({5001})), directory).because == "group 5001"


def test_a_group_is_found_by_its_name(tmp_path: Path) -> None:
    daemon = grp.getgrnam("daemon").gr_gid
    directory = state(
        tmp_path, "fairlead-viewer group daemon\nfairlead-platform group nobody-has\n"
    )

    assert role_of(directory, STRANGER, daemon) is Role.VIEWER
    assert role_of(directory, STRANGER, STRANGER) is None


def test_a_role_that_is_taken_away_is_gone_at_the_next_request(tmp_path: Path) -> None:
    directory = state(tmp_path, f"fairlead-platform user {STRANGER}\n")
    assert role_of(directory, STRANGER) is Role.PLATFORM

    directory.roles.write_text(f"fairlead-viewer   user {STRANGER}\n")
    assert role_of(directory, STRANGER) is Role.VIEWER
    directory.roles.unlink()
    assert role_of(directory, STRANGER) is None


def test_one_mistake_leaves_nobody_but_the_owner(tmp_path: Path) -> None:
    directory = state(tmp_path, f"fairlead-platform user {STRANGER}\noops\n")

    standing = standing_of(Peer(STRANGER, frozenset()), directory)

    assert standing.role is None
    assert "line 2: found 1 words" in standing.problem
    assert role_of(directory, os.geteuid()) is Role.PLATFORM


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_gives_no_role(tmp_path: Path, mode: int) -> None:
    directory = state(tmp_path, f"fairlead-platform user {STRANGER}\n", mode)

    with pytest.raises(InputError, match="others may write it"):
        read_roles(directory)
    assert role_of(directory, STRANGER) is None


def test_what_is_no_plain_file_gives_no_role(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"fairlead-platform user {STRANGER}\n")
    linked, piped, huge = (StateDirectory(tmp_path / name) for name in ("a", "b", "c"))
    for directory in (linked, piped, huge):
        directory.path.mkdir()
    linked.roles.symlink_to(elsewhere)
    os.mkfifo(piped.roles, 0o600)
    huge.roles.write_text("#" * 70_000)

    for directory, says in (
        (linked, "it must be a plain file"),
        (piped, "is no plain file"),
        (huge, "more than 65536 bytes"),
    ):
        with pytest.raises(InputError, match=says):
            read_roles(directory)
        assert role_of(directory, STRANGER) is None
