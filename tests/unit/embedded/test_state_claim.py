"""A state directory is ours, or nobody's yet; never somebody else's."""

from pathlib import Path

import pytest

from fairlead.embedded.state_directory import StateDirectory
from fairlead.embedded.store.claim import claim, is_ours
from fairlead.errors import InputError
from unit.embedded.open_world import open_store


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "state")


def test_a_directory_with_other_files_never_becomes_a_control_planes(
    directory: StateDirectory,
) -> None:
    directory.path.mkdir(mode=0o700)
    for name in ("thesis.txt", "src", "notes", "a"):
        (directory.path / name).touch()

    with pytest.raises(InputError) as refused:
        claim(directory)

    assert refused.value.problem == (
        f"{directory.path} is no control plane's and not empty: it has a, notes, src ..."
    )
    assert refused.value.hint == "choose a directory of its own: --state DIR or FAIRLEAD_STATE"
    assert sorted(path.name for path in directory.path.iterdir()) == [
        "a",
        "notes",
        "src",
        "thesis.txt",
    ]


def test_a_directory_of_machines_without_a_database_is_not_taken(directory: StateDirectory) -> None:
    directory.make()
    (directory.machines / "workers-abc").mkdir()

    with pytest.raises(InputError, match="not empty: it has machines"):
        claim(directory)


def test_secrets_may_be_put_in_place_before_the_first_start(directory: StateDirectory) -> None:
    directory.path.mkdir(mode=0o700)
    directory.secrets.mkdir(mode=0o700)
    (directory.secrets / "registry-login").write_text("user:password")

    with open_store(directory.path):
        assert is_ours(directory)


def test_a_directory_that_was_used_is_ours_whatever_else_is_in_it(
    directory: StateDirectory,
) -> None:
    with open_store(directory.path):
        pass
    (directory.path / "notes.txt").touch()

    with open_store(directory.path) as store:
        assert store.rows("SELECT * FROM pools") == []


def test_a_directory_of_an_earlier_release_is_known_by_its_database(
    directory: StateDirectory,
) -> None:
    with open_store(directory.path):
        pass
    directory.watermark.unlink()
    assert is_ours(directory)

    claim(directory)


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777])
def test_a_directory_that_others_may_write_to_is_refused(
    directory: StateDirectory, mode: int
) -> None:
    directory.path.mkdir()
    directory.path.chmod(mode)

    with pytest.raises(InputError) as refused:
        claim(directory)

    assert refused.value.problem == f"others may write to {directory.path}: its mode is {mode:04o}"
    assert refused.value.hint.endswith(f"chmod go-w {directory.path}")


@pytest.mark.parametrize("name", ["fairlead.db", "certificates/authority.pem", "machines"])
def test_what_others_may_write_to_inside_is_refused(directory: StateDirectory, name: str) -> None:
    with open_store(directory.path):
        pass
    path = directory.path / name
    if not path.exists():
        path.touch()
    path.chmod(0o722)

    with pytest.raises(InputError, match=rf"others may write to .*/{name}"):
        claim(directory)


@pytest.mark.parametrize(
    "name",
    [
        "fairlead.db",
        "fairlead.db-wal",
        "watermark",
        "lock",
        "port",
        "control-plane.log",
        "bootstrap-token",
        "machines",
        "secrets",
        "certificates",
        "certificates/authority.pem",
    ],
)
def test_nothing_of_a_control_plane_is_a_link(
    directory: StateDirectory, tmp_path: Path, name: str
) -> None:
    with open_store(directory.path):
        pass
    elsewhere = tmp_path / "elsewhere"
    path = directory.path / name
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.touch()
    path.symlink_to(elsewhere)

    with pytest.raises(InputError, match=rf"/{name} is a link") as refused:
        claim(directory)

    assert refused.value.hint.startswith("put what it leads to in its place")


@pytest.mark.root
def test_a_directory_of_somebody_else_is_refused(directory: StateDirectory) -> None:
    import os

    with open_store(directory.path):
        pass
    os.chown(directory.path, 4321, 4321)

    with pytest.raises(InputError, match=r"belongs to user 4321, and this is user 0 "):
        claim(directory)

    os.chown(directory.path, 0, 0)
    os.chown(directory.database, 4321, 4321)
    with pytest.raises(InputError, match=r"fairlead.db belongs to user 4321"):
        claim(directory)


def test_every_file_of_a_control_plane_is_known_by_name(directory: StateDirectory) -> None:
    """What is not in one of the two lists is neither checked nor removed, but what says so."""
    known = {directory.path, *directory.files(), *directory.directories()}
    known |= {directory.roles}  # its owner's, and looked at by whoever reads it
    known |= {directory.shared_socket, directory.shared}  # open to others; removed by `purge`
    known |= {directory.hotfix, directory.hotfix_keys}  # there or not; both do as much by name
    named = {
        getattr(directory, name)
        for name, member in vars(StateDirectory).items()
        if isinstance(member, property)
    }

    assert named <= known


def test_a_depot_may_be_made_before_the_first_start(directory: StateDirectory) -> None:
    (directory.hotfix / "metadata").mkdir(parents=True)
    (directory.hotfix / "metadata/update.json").touch()
    directory.hotfix_keys.mkdir()
    (directory.hotfix_keys / "release.pem").touch()

    claim(directory)


@pytest.mark.parametrize("theirs", ["hotfix/apt/thesis.txt", "hotfix-keys/release.pem"])
def test_a_folder_that_is_called_like_a_depot_and_is_none_is_not_taken(
    directory: StateDirectory, theirs: str
) -> None:
    (directory.path / theirs).parent.mkdir(parents=True)
    (directory.path / theirs).touch()

    with pytest.raises(InputError, match="not empty: it has hotfix"):
        claim(directory)


def test_a_depot_that_others_may_write_to_is_refused(directory: StateDirectory) -> None:
    directory.hotfix.mkdir(parents=True)
    directory.hotfix.chmod(0o777)

    with pytest.raises(InputError, match=r"hotfix"):
        claim(directory)


def test_a_place_that_takes_no_directory_is_refused_with_another_way() -> None:
    with pytest.raises(InputError, match=r"^/proc/nobody: there is no such file") as refused:
        claim(StateDirectory(Path("/proc/nobody/state")))

    assert refused.value.hint == "keep the state elsewhere: --state DIRECTORY, or FAIRLEAD_STATE"
