"""A purge removes what a control plane made, each by its name, and nothing else."""

from pathlib import Path

import pytest

from fairlead.embedded.certificates.authority import make_or_read
from fairlead.embedded.serve.purge import purge
from fairlead.embedded.state_directory import StateDirectory
from unit.embedded.open_world import open_store

MACHINE = Path("workers-abc") / "root"


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    """A control plane that was stopped, with every file that it may leave, and one machine."""
    directory = StateDirectory(tmp_path / "state")
    with open_store(directory.path):
        make_or_read(directory.certificates)
        (directory.certificates / "next-authority.pem").touch()
    for file in directory.files():
        file.touch(0o600)
    (directory.machines / MACHINE / "etc").mkdir(parents=True)
    (directory.machines / MACHINE / "etc/hostname").write_text("workers-abc\n")
    (directory.path / ".port.01234567.fairlead-half").touch()
    return directory


def names(directory: StateDirectory) -> list[str]:
    return sorted(str(path.relative_to(directory.path)) for path in directory.path.rglob("*"))


def test_nothing_is_left_where_only_a_control_plane_was(directory: StateDirectory) -> None:
    assert purge(directory) == ()

    assert not directory.path.exists()


def test_other_peoples_files_stay_and_are_named(directory: StateDirectory) -> None:
    (directory.path / "thesis.txt").write_text("years of work")
    (directory.path / "src").mkdir()
    (directory.path / "src/main.c").touch()
    (directory.secrets / "registry-login").write_text("user:password")
    (directory.machines / "inventory").mkdir()
    (directory.machines / "inventory/hosts.yaml").touch()
    (directory.machines / "README").touch()

    left = purge(directory)

    assert [str(path.relative_to(directory.path)) for path in left] == [
        "machines/README",
        "machines/inventory",
        "secrets/registry-login",
        "src",
        "thesis.txt",
    ]
    assert names(directory) == [
        "machines",
        "machines/README",
        "machines/inventory",
        "machines/inventory/hosts.yaml",
        "secrets",
        "secrets/registry-login",
        "src",
        "src/main.c",
        "thesis.txt",
    ]


def test_a_folder_called_like_a_depot_that_is_none_stays(directory: StateDirectory) -> None:
    theirs = ("hotfix/apt/thesis.txt", "hotfix/keys/mine.pem", "hotfix-keys/release.pem")
    for name in theirs:
        (directory.path / name).parent.mkdir(parents=True, exist_ok=True)
        (directory.path / name).touch()

    left = purge(directory)

    assert [str(path.relative_to(directory.path)) for path in left] == ["hotfix", "hotfix-keys"]
    assert all((directory.path / name).exists() for name in theirs)


def test_no_link_is_followed(directory: StateDirectory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "root").mkdir(parents=True)
    (outside / "root/precious").touch()
    (outside / "authority.pem").touch()
    (directory.machines / MACHINE / "link").symlink_to(outside)
    (directory.machines / "workers-link").symlink_to(outside)
    (directory.path / "port").unlink()
    (directory.path / "port").symlink_to(outside / "root/precious")
    for file in directory.certificates.iterdir():
        file.unlink()
    directory.certificates.rmdir()
    directory.certificates.symlink_to(outside)

    left = purge(directory)

    assert [path.name for path in left] == ["certificates", "workers-link", "port"]
    assert sorted(path.name for path in outside.rglob("*")) == ["authority.pem", "precious", "root"]


def test_machines_that_are_a_link_are_not_destroyed(
    directory: StateDirectory, tmp_path: Path
) -> None:
    directory.machines.rename(tmp_path / "fleet")
    directory.machines.symlink_to(tmp_path / "fleet")

    assert purge(directory) == (directory.machines,)

    assert (tmp_path / "fleet" / MACHINE / "etc/hostname").exists()


def test_a_purge_that_was_killed_can_be_done_again(directory: StateDirectory) -> None:
    directory.database.unlink()
    directory.watermark.unlink()
    # Of the depot only what goes last is there.
    (directory.hotfix / "metadata").mkdir(parents=True)
    (directory.hotfix / "metadata/update.json").touch()
    (directory.hotfix_keys).mkdir()

    assert purge(directory) == ()
    assert not directory.path.exists()
