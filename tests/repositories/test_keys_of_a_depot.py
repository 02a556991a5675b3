"""Keys of a depot: each role apart, each replaceable, and nodes follow from the first root."""

import shutil
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from fairlead.errors import InputError, TrustError
from fairlead.hotfix.publish import key_change
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.key_change import (
    RootChange,
    RootShape,
    renew_release,
    renew_root,
    rotate_role,
    rotate_root,
    start_depot,
)
from fairlead.hotfix.publish.key_list import list_roles
from fairlead.hotfix.publish.keys import ONLINE, RELEASE
from fairlead.hotfix.publish.publisher import renew_depot
from fairlead.hotfix.publish.repository_key import RepositoryKey
from fairlead.trust.refused import RefusedError
from hotfix_depot import SUITE, Publishing, make_publishing, moment, needs, tiny_packages

pytestmark = pytest.mark.slow

ONE, TWO = "202611.16.1", "202611.16.2"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Publishing:
    needs(*SUITE)
    directory = tmp_path_factory.mktemp("first")
    made = make_publishing(directory)
    made.publish(tiny_packages(directory, ONE))
    return made


@pytest.fixture
def made(first: Publishing, tmp_path: Path) -> Publishing:
    shutil.copytree(first.offline, tmp_path / "offline")
    return Publishing(first.copied_to(tmp_path).depot, tmp_path / "offline")


def key_ids(one: Publishing, role: str) -> list[str]:
    roles = list_roles(one.depot, one.depot.read_signed())
    (found,) = [listed["keys"] for listed in roles if listed["role"] == role]
    return found


def test_a_depot_gets_no_key_but_the_two_that_sign_every_few_days(made: Publishing) -> None:
    assert sorted(path.name for path in made.depot.keys.iterdir()) == ["online.pem", "repository"]
    assert sorted(path.name for path in made.offline.iterdir()) == [
        "release.pem", "root-1.pem", "root-2.pem", "root-3.pem",
    ]  # fmt: skip
    secret = [*made.offline.iterdir(), made.depot.keys / "online.pem"]
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}
    assert (made.depot.keys / "repository").stat().st_mode & 0o777 == 0o700


def test_a_second_init_changes_nothing(made: Publishing) -> None:
    with pytest.raises(InputError, match="has keys already"):
        start_depot(made.depot, made.offline, RootShape(count=3, threshold=2), moment())


def test_nothing_of_an_agent_that_was_killed_is_left_among_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(*SUITE)
    depot = Depot(tmp_path / "depot")
    key = RepositoryKey(depot)
    key.make()
    home = depot.keys / "repository"
    monkeypatch.chdir(home)  # the name of a socket has 107 bytes
    with socket.socket(socket.AF_UNIX) as left:
        left.bind("S.gpg-agent.extra")

    assert key.detached(b"text")
    assert [one.name for one in home.iterdir() if one.is_socket()] == []


def test_what_was_interrupted_goes_on_with_the_keys_that_are_there(tmp_path: Path) -> None:
    needs(*SUITE)
    one = make_publishing(tmp_path)
    before = key_ids(one, "root")
    (one.depot.metadata / "update.json").unlink()

    start_depot(one.depot, one.offline, RootShape(count=3, threshold=2), moment())

    assert key_ids(one, "root") == before


@pytest.mark.parametrize(("count", "threshold"), [(3, 4), (0, 0), (2, 0), (15, 2)])
def test_a_threshold_that_helps_nobody_is_refused(
    tmp_path: Path, count: int, threshold: int
) -> None:
    shape = RootShape(count=count, threshold=threshold)
    with pytest.raises(InputError, match="expected a threshold from 1"):
        start_depot(Depot(tmp_path / "depot"), tmp_path / "keys", shape, moment())
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize(("role", "name"), [("release", RELEASE), ("online", ONLINE)])
def test_a_key_that_was_replaced_signs_nothing_any_more(
    made: Publishing, tmp_path: Path, role: str, name: str
) -> None:
    seen = made.verified().seen
    directory = made.offline if name == RELEASE else made.depot.keys
    stolen = shutil.copy(directory / name, tmp_path / "stolen.pem")
    before = key_ids(made, role)

    rotate_role(made.depot, made.offline, name, [made.offline], moment())

    assert key_ids(made, role) != before
    assert made.verified(seen=seen).targets.find(ONE, "deb") is not None
    assert made.publish(tiny_packages(tmp_path, TWO))
    assert made.verified(seen=seen).targets.find(TWO, "rpm") is not None
    shutil.copy(stolen, directory / name)
    with pytest.raises(TrustError, match="does not sign for"):
        renew_release(made.depot, made.offline, moment())


@pytest.mark.parametrize("name", [RELEASE, ONLINE])
@pytest.mark.parametrize("is_after", [False, True])
def test_a_rotation_that_was_killed_left_a_depot_that_can_sign(
    made: Publishing, tmp_path: Path, name: str, is_after: bool
) -> None:
    """Before the metadata names the new key, and after it, before the key took its name."""
    directory = made.offline if name == RELEASE else made.depot.keys
    old = (directory / name).read_bytes()
    if is_after:
        rotate_role(made.depot, made.offline, name, [made.offline], moment())
        new = (directory / name).read_bytes()
        (directory / key_change._next_name(name)).write_bytes(new)
        (directory / name).write_bytes(old)
    else:
        shutil.copy(made.offline / "root-1.pem", directory / key_change._next_name(name))

    assert made.publish(tiny_packages(tmp_path, TWO))
    assert renew_depot(made.depot, moment() + timedelta(hours=5))
    rotate_role(made.depot, made.offline, name, [made.offline], moment())
    assert made.verified().targets.find(TWO, "deb") is not None
    assert not (directory / key_change._next_name(name)).exists()


def test_root_keys_of_two_people_replace_the_third(made: Publishing, tmp_path: Path) -> None:
    for number, person in ((1, "ann"), (2, "ben")):
        (tmp_path / person).mkdir()
        (made.offline / f"root-{number}.pem").rename(tmp_path / person / f"root-{number}.pem")
    (made.offline / "root-3.pem").unlink()
    first, second, lost = key_ids(made, "root")
    people = [tmp_path / "ann", tmp_path / "ben"]
    change = RootChange(directory=tmp_path / "eve", replaced=(lost[:8],))

    with pytest.raises(InputError, match="bring more root keys along"):
        rotate_root(made.depot, made.offline, people[:1], change, moment())
    shutil.rmtree(tmp_path / "eve")
    rotate_root(made.depot, made.offline, people, change, moment())

    after = key_ids(made, "root")
    assert after[:2] == [first, second]
    assert after[2] != lost
    assert [path.name for path in (tmp_path / "eve").iterdir()] == ["root-2-1.pem"]
    assert made.verified().targets.find(ONE, "deb") is not None
    # The new one counts as much as the others.
    people = [tmp_path / "eve", tmp_path / "ann"]
    renew_root(made.depot, made.offline, people, moment())
    assert len(made.depot.read_signed().roots) == 3
    assert made.verified().seen.root


def test_every_root_key_can_be_replaced_at_once(made: Publishing, tmp_path: Path) -> None:
    before = set(key_ids(made, "root"))
    change = RootChange(directory=tmp_path / "new", threshold=3)

    rotate_root(made.depot, made.offline, [made.offline], change, moment())

    assert not before & set(key_ids(made, "root"))
    assert made.verified().targets.find(ONE, "deb") is not None
    with pytest.raises(InputError, match="bring more root keys along"):
        renew_root(made.depot, made.offline, [made.offline], moment())


def test_what_the_release_key_signed_ends_and_can_be_renewed(made: Publishing) -> None:
    later = moment() + timedelta(days=89, hours=23)
    renew_depot(made.depot, later)
    with pytest.raises(RefusedError, match="expired: targets"):
        made.verified(at=later + timedelta(hours=2))

    renew_release(made.depot, made.offline, later)

    assert made.verified(at=later + timedelta(hours=2)).targets.find(ONE, "deb") is not None
