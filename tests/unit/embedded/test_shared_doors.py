"""Doors for other users, beside a state directory that stays closed."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.embedded.access.shared import DoorKeeper, close_doors, keep_doors
from fairlead.embedded.access.way_in import connect_as_guest
from fairlead.embedded.serve.unix_socket import bind, connect
from fairlead.embedded.state_directory import StateDirectory
from fairlead.errors import InputError

# A group that whoever runs the tests is in, so that they may let it in.
OURS = os.getegid()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[StateDirectory]:
    directory = StateDirectory(tmp_path / "state")
    directory.make()
    bound = bind(directory.shared_socket, 0o666)
    bound.listen()
    yield directory
    bound.close()


def give(directory: StateDirectory, text: str) -> list[str]:
    directory.roles.write_text(text)
    return keep_doors(directory)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_without_roles_nothing_is_beside_the_state_directory(directory: StateDirectory) -> None:
    assert keep_doors(directory) == []
    assert sorted(path.name for path in directory.path.parent.iterdir()) == ["state"]


def test_a_group_with_a_role_gets_a_door_that_only_it_may_enter(directory: StateDirectory) -> None:
    assert give(directory, f"fairlead-viewer group {OURS}\n") == []

    door = directory.shared / f"group-{OURS}"
    assert (mode_of(directory.shared), mode_of(door)) == (0o711, 0o710)
    assert door.stat().st_gid == OURS
    assert os.path.samestat((door / "api.sock").stat(), directory.shared_socket.stat())


def test_the_state_directory_stays_as_closed_as_it_was(directory: StateDirectory) -> None:
    give(directory, f"fairlead-viewer group {OURS}\n")

    modes = {path.name: mode_of(path) for path in directory.path.iterdir()}
    assert mode_of(directory.path) == 0o700
    assert {name: mode & 0o077 for name, mode in modes.items() if name != "shared.sock"} == {
        "certificates": 0,
        "machines": 0,
        "secrets": 0,
        "roles": modes["roles"] & 0o077,
    }


def test_a_door_closes_with_the_role(directory: StateDirectory) -> None:
    give(directory, f"fairlead-viewer group {OURS}\n")

    give(directory, "# nobody any more\n")

    assert not directory.shared.exists()


def test_a_mistake_in_the_roles_closes_every_door(directory: StateDirectory) -> None:
    give(directory, f"fairlead-viewer group {OURS}\n")

    told = give(directory, f"fairlead-viewer group {OURS}\nfairlead-viewer grp ops\n")

    assert not directory.shared.exists()
    assert told == [
        f"no other user is let in: {directory.roles} line 2: "
        "found the text 'grp', expected `group` or `user`"
    ]


def test_a_name_that_nobody_has_is_told_and_keeps_no_other_out(directory: StateDirectory) -> None:
    text = f"fairlead-viewer group nobody-has-this\nfairlead-viewer group {OURS}\n"

    told = give(directory, text)

    assert told == [f"{directory.roles} line 1: there is no group nobody-has-this"]
    assert (directory.shared / f"group-{OURS}" / "api.sock").exists()


def test_a_door_leads_to_the_socket_of_the_control_plane_that_runs(
    directory: StateDirectory,
) -> None:
    give(directory, f"fairlead-viewer group {OURS}\n")
    again = bind(directory.shared_socket, 0o666)
    again.listen()

    keep_doors(directory)

    link = directory.shared / f"group-{OURS}" / "api.sock"
    assert os.path.samestat(link.stat(), directory.shared_socket.stat())
    again.close()


def test_what_somebody_else_put_there_is_neither_used_nor_removed(
    directory: StateDirectory,
) -> None:
    directory.shared.mkdir()
    directory.shared.chmod(0o777)
    (directory.shared / "group-1").mkdir()

    told = give(directory, f"fairlead-viewer group {OURS}\n")
    close_doors(directory)

    assert "is no directory that only its owner writes to" in told[0]
    assert [path.name for path in directory.shared.iterdir()] == ["group-1"]


def test_a_link_in_the_place_of_the_doors_is_not_followed(
    directory: StateDirectory, tmp_path: Path
) -> None:
    (tmp_path / "thesis" / "group-1").mkdir(parents=True)
    directory.shared.symlink_to(tmp_path / "thesis")

    told = give(directory, f"fairlead-viewer group {OURS}\n")
    close_doors(directory)

    assert "is no directory" in told[0]
    assert (tmp_path / "thesis" / "group-1").is_dir()


def test_doors_change_when_the_roles_are_written_and_not_else(directory: StateDirectory) -> None:
    told: list[str] = []
    keeper = DoorKeeper(directory, told.append)
    keeper.look()
    directory.roles.write_text(f"fairlead-viewer group {OURS}\nfairlead-viewer group nobody-has\n")
    keeper.look()
    keeper.look()

    assert (directory.shared / f"group-{OURS}").is_dir()
    assert told == [f"{directory.roles} line 2: there is no group nobody-has"]


def test_a_guest_comes_in_through_a_door_that_is_open_to_them(directory: StateDirectory) -> None:
    give(directory, f"fairlead-viewer group {OURS}\n")

    connect_as_guest(directory, lambda path: connect(path, 5)).close()


def test_a_guest_without_a_door_hears_who_could_open_one(directory: StateDirectory) -> None:
    with pytest.raises(InputError) as caught:
        connect_as_guest(directory, lambda path: connect(path, 5))

    assert "has no role in the control plane of" in caught.value.problem
    assert f"can give one: a line in {directory.roles}" in caught.value.hint
