"""A publisher may be killed at any moment: nodes, apt and dnf see one publication or the other."""

import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from fairlead.hotfix.catalog import State
from fairlead.hotfix.publish.publisher import withdraw
from hotfix_depot import SUITE, Publishing, make_publishing, moment, needs, tiny_packages
from repositories.apt_client import AptClient

pytestmark = pytest.mark.slow

ONE, TWO = "202611.16.1", "202611.16.2"
RUNS = 60

# Everything is loaded before it says so: what is killed is the work, not the start.
PUBLISH = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from fairlead.hotfix.publish.depot import Depot
from fairlead.hotfix.publish.publisher import Wish, publish, withdraw
what, depot, offline, *words = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
now = datetime.now(UTC)
if what == "publish":
    publish(Depot(Path(depot)), Path(offline), [Path(word) for word in words], Wish(), now)
else:
    withdraw(Depot(Path(depot)), Path(offline), words[0], "it broke boots", now)
print("done", flush=True)
"""


@dataclass(frozen=True)
class Prepared:
    """A depot with one fix, and the packages of the next."""

    published: Publishing
    following: list[Path]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    needs(*SUITE, "apt-get")
    directory = tmp_path_factory.mktemp("prepared")
    made = make_publishing(directory)
    assert made.publish(tiny_packages(directory, ONE))
    return Prepared(made, tiny_packages(directory, TWO))


def begin(one: Publishing, what: str, *words: str | Path) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", PUBLISH, what, one.depot.directory, one.offline, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def work(started: subprocess.Popen[str], for_s: float | None) -> None:
    """Let it work for so long, then kill it; to its end if None."""
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()
    if for_s is not None:
        time.sleep(for_s)
        started.kill()
    _, said = started.communicate(timeout=120)
    assert for_s is not None or started.returncode == 0, said


def assert_whole(one: Publishing, directory: Path) -> tuple[list[str], list[str]]:
    """Fail unless all readers accept what is there; return what apt and the catalog offer."""
    depot = one.depot
    targets = one.verified().targets
    for package in targets.packages:
        content = (depot.directory / package.path).read_bytes()
        assert sha256(content).hexdigest() == package.sha256, package.path
    catalog = depot.read_catalog()
    named = {package.path for package in targets.packages}
    on_offer = [fix for fix in catalog.fixes if fix.state is State.PUBLISHED]
    for fix in on_offer:
        assert set(fix.packages) <= named or fix.version in targets.revoked, fix.version
    apt = AptClient(directory, depot.apt, depot.apt / "repository.gpg")
    assert apt.update() == ""
    versions = apt.versions()
    for version in versions:
        if version not in targets.revoked:
            assert apt.download(version) == ""
    repodata = depot.rpm / "repodata"
    gpgv = ["gpgv", "--keyring", str(depot.apt / "repository.gpg")]
    signature, text = repodata / "repomd.xml.asc", repodata / "repomd.xml"
    subprocess.run([*gpgv, signature, text], check=True, capture_output=True)
    return versions, [fix.version for fix in on_offer]


def seconds_of(prepared: Prepared, directory: Path, what: str, *words: str | Path) -> float:
    """How long it takes if nobody kills it."""
    copied = prepared.published.copied_to(directory)
    started = begin(copied, what, *words)
    before = time.monotonic()
    work(started, None)
    return time.monotonic() - before


def test_a_killed_publication_is_the_old_one_or_the_new_one(
    prepared: Prepared, tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    longest = seconds_of(prepared, tmp_path / "whole", "publish", *prepared.following)
    chance = random.Random(12)
    seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    for number in range(RUNS):
        place = tmp_path / str(number)
        place.mkdir()
        copied = prepared.published.copied_to(place)
        started = begin(copied, "publish", *prepared.following)
        work(started, longest * (number + chance.random()) / RUNS)

        versions, on_offer = assert_whole(copied, place / "first")
        seen.add((tuple(versions), tuple(on_offer)))
        assert versions in ([ONE], [TWO, ONE])
        # What is on offer can be installed.
        assert set(on_offer) <= set(versions)

        # Doing it again is enough, whatever was left.
        again = copied.publish(prepared.following)
        assert again == (TWO not in on_offer)
        if number % 5 == 0:
            assert assert_whole(copied, place / "second") == ([TWO, ONE], [ONE, TWO])
        assert not list(copied.depot.rpm.glob(".*"))
        shutil.rmtree(place)
    # It was killed early and late.
    assert ((ONE,), (ONE,)) in seen


def test_a_killed_withdrawal_never_brings_the_fix_back(prepared: Prepared, tmp_path: Path) -> None:
    published = prepared.published.copied_to(tmp_path)
    assert published.publish(prepared.following)
    both = Prepared(published, [])
    (tmp_path / "whole").mkdir()
    longest = seconds_of(both, tmp_path / "whole", "withdraw", TWO)
    for number in range(20):
        place = tmp_path / str(number)
        place.mkdir()
        copied = published.copied_to(place)
        work(begin(copied, "withdraw", TWO), longest * number / 20)

        assert_whole(copied, place / "first")
        targets = copied.verified().targets
        if copied.depot.read_catalog().find(TWO).state is State.WITHDRAWN:  # type: ignore[union-attr]
            assert targets.revoked == [TWO]

        withdraw(copied.depot, copied.offline, TWO, "it broke boots", moment())
        assert assert_whole(copied, place / "second") == ([ONE], [ONE])
        assert copied.verified().targets.revoked == [TWO]
        shutil.rmtree(place)
