"""The distributions' own tools take what was published, and nothing that somebody changed."""

import gzip
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from fairlead.errors import InputError, TrustError
from fairlead.hotfix.publish import publisher, rpm_repository
from fairlead.hotfix.publish.publisher import renew_depot, rotate_repository_key, withdraw
from fairlead.hotfix.publish.repository_key import RepositoryKey
from hotfix_depot import (
    SUITE,
    Publishing,
    make_publishing,
    moment,
    needs,
    tiny_packages,
)
from repositories.apt_client import AptClient
from repositories.dnf_client import DnfClient

pytestmark = pytest.mark.slow

ONE, TWO = "202611.16.1", "202611.16.2"


@pytest.fixture(scope="module")
def fixes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    needs(*SUITE, "apt-get", "dnf")
    directory = tmp_path_factory.mktemp("fixes")
    return {version: tiny_packages(directory, version) for version in (ONE, TWO)}


@pytest.fixture(scope="module")
def both(fixes: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Publishing:
    """A depot with two fixes; nobody changes it."""
    made = make_publishing(tmp_path_factory.mktemp("published"))
    for packages in fixes.values():
        assert made.publish(packages)
    return made


@pytest.fixture
def published(both: Publishing, tmp_path: Path) -> Publishing:
    """A copy of it, to be hurt."""
    return both.copied_to(tmp_path)


def apt_of(one: Publishing, directory: Path) -> AptClient:
    return AptClient(directory / "apt-client", one.depot.apt, one.depot.apt / "repository.gpg")


def dnf_of(one: Publishing, directory: Path) -> DnfClient:
    return DnfClient(directory / "dnf-client", one.depot.rpm, one.depot.rpm / "repository.asc")


def test_apt_offers_every_version_that_is_published(published: Publishing, tmp_path: Path) -> None:
    apt = apt_of(published, tmp_path)

    assert apt.update() == ""
    assert apt.versions() == [TWO, ONE]
    assert apt.download(ONE) == ""
    (package,) = (tmp_path / "apt-client/tmp").glob("*.deb")
    target = published.verified().targets.find(ONE, "deb")
    assert target is not None
    assert package.read_bytes() == (published.depot.directory / target.path).read_bytes()


def test_our_index_says_what_apt_ftparchive_says(published: Publishing) -> None:
    needs("apt-ftparchive")
    ran = subprocess.run(
        ["apt-ftparchive", "packages", "pool"],
        cwd=published.depot.apt,
        capture_output=True,
        text=True,
        check=True,
    )

    def facts(text: str) -> list[dict[str, str]]:
        stanzas = [part for part in text.split("\n\n") if part.strip()]
        pairs = [re.findall(r"^([A-Za-z0-9-]+): (.*)$", part, re.MULTILINE) for part in stanzas]
        return sorted((dict(found) for found in pairs), key=lambda one: one["Version"])

    ours = (published.depot.apt / "Packages").read_text()
    theirs = facts(ran.stdout)
    assert facts(ours) == [
        {name: one[name] for name in two} for one, two in zip(theirs, facts(ours), strict=True)
    ]
    assert gzip.decompress((published.depot.apt / "Packages.gz").read_bytes()).decode() == ours


def other_key(one: Publishing, directory: Path) -> None:
    """The image has the key of somebody else."""
    stranger = make_publishing(directory / "stranger")
    shutil.copy(stranger.depot.apt / "repository.gpg", one.depot.apt / "repository.gpg")


def expired(one: Publishing, _: Path) -> None:
    publisher._write_indexes(one.depot, one.depot.read_signed(), moment() - timedelta(days=8))


def changed_index(one: Publishing, _: Path) -> None:
    """What a mirror can do: the index names another package, its signature is as it was."""
    index = (
        (one.depot.apt / "Packages")
        .read_bytes()
        .replace(b"Priority: optional", b"Priority: required")
    )
    for file in (one.depot.apt / "by-hash/SHA256").iterdir():
        is_packed = file.read_bytes()[:2] == b"\x1f\x8b"
        file.write_bytes(gzip.compress(index) if is_packed else index)
    (one.depot.apt / "Packages").write_bytes(index)
    (one.depot.apt / "Packages.gz").write_bytes(gzip.compress(index))


def changed_release(one: Publishing, _: Path) -> None:
    file = one.depot.apt / "InRelease"
    file.write_bytes(file.read_bytes().replace(b"Suite: hotfix", b"Suite: hotfiy"))


def unsigned(one: Publishing, _: Path) -> None:
    (one.depot.apt / "InRelease").unlink()


@pytest.mark.parametrize(
    ("hurt", "told"),
    [
        (other_key, "NO_PUBKEY"),
        (expired, "is expired"),
        (changed_index, "(Hash Sum mismatch|unexpected size)"),
        (changed_release, "(BADSIG|invalid)"),
        (unsigned, "(not signed|does not have a Release file)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_apt_refuses_an_index_that_is_not_ours_and_fresh(
    published: Publishing,
    tmp_path: Path,
    hurt: Callable[[Publishing, Path], None],
    told: str,
) -> None:
    hurt(published, tmp_path)
    apt = apt_of(published, tmp_path)

    assert re.search(told, apt.update())
    assert apt.versions() == []


def test_apt_refuses_a_package_that_somebody_changed(published: Publishing, tmp_path: Path) -> None:
    apt = apt_of(published, tmp_path)
    assert apt.update() == ""
    package = published.depot.apt / f"pool/fairlead-node-hotfix_{TWO}_all.deb"
    content = bytearray(package.read_bytes())
    content[-1] ^= 1
    package.write_bytes(content)

    assert "Hash Sum mismatch" in apt.download(TWO)


def test_a_package_that_somebody_changed_is_never_signed_anew(
    published: Publishing, tmp_path: Path
) -> None:
    package = published.depot.apt / f"pool/fairlead-node-hotfix_{TWO}_all.deb"
    package.write_bytes(package.read_bytes() + b"x")

    with pytest.raises(TrustError, match="is not what was signed"):
        published.publish(tiny_packages(tmp_path, "202611.16.3"))
    assert [one.version for one in published.depot.read_catalog().fixes] == [ONE, TWO]


def test_dnf_installs_the_version_that_is_asked_for(published: Publishing, tmp_path: Path) -> None:
    dnf = dnf_of(published, tmp_path)

    assert dnf.install(ONE) == ""
    assert dnf.installed() == ONE
    program = dnf.root / f"usr/lib/fairlead-node/hotfix/{ONE}/fairlead-node"
    assert program.read_text() == f"#!/bin/sh\necho {ONE} \n"
    assert dnf.install(TWO) == ""
    assert dnf.installed() == TWO


def rpm_of(one: Publishing, version: str) -> Path:
    return one.depot.rpm / f"fairlead-node-hotfix-{version}-1.noarch.rpm"


def stranger_for_dnf(one: Publishing, directory: Path) -> None:
    stranger = make_publishing(directory / "stranger")
    shutil.copy(stranger.depot.rpm / "repository.asc", one.depot.rpm / "repository.asc")


def changed_repomd(one: Publishing, _: Path) -> None:
    file = one.depot.rpm / "repodata/repomd.xml"
    file.write_bytes(file.read_bytes() + b"\n")


def without_signature(one: Publishing, _: Path) -> None:
    (one.depot.rpm / "repodata/repomd.xml.asc").unlink()


def changed_rpm(one: Publishing, _: Path) -> None:
    content = bytearray(rpm_of(one, ONE).read_bytes())
    content[-1] ^= 1
    rpm_of(one, ONE).write_bytes(content)


def unsigned_rpm(one: Publishing, _: Path) -> None:
    """Whoever could sign the index, but not packages."""
    subprocess.run(["rpmsign", "--delsign", rpm_of(one, ONE)], check=True, capture_output=True)
    rpms = [file.name for file in one.depot.rpm.glob("*.rpm")]
    rpm_repository.write_index(one.depot, rpms, moment())


@pytest.mark.parametrize(
    "hurt",
    [stranger_for_dnf, changed_repomd, without_signature, changed_rpm, unsigned_rpm],
    ids=lambda value: value.__name__,
)
def test_dnf_refuses_what_is_not_ours(
    published: Publishing, tmp_path: Path, hurt: Callable[[Publishing, Path], None]
) -> None:
    hurt(published, tmp_path)
    dnf = dnf_of(published, tmp_path)

    assert dnf.install(ONE) != ""
    assert dnf.installed() == ""


def test_a_withdrawn_fix_is_gone_for_apt_dnf_and_nodes(
    published: Publishing, tmp_path: Path
) -> None:
    withdraw(published.depot, published.offline, TWO, "it broke boots", moment())

    apt, dnf = apt_of(published, tmp_path), dnf_of(published, tmp_path)
    assert apt.update() == ""
    assert apt.versions() == [ONE]
    assert dnf.install(TWO) != ""
    assert dnf.install(ONE) == ""
    targets = published.verified().targets
    assert targets.revoked == [TWO]
    assert targets.find(TWO, "deb") is None
    assert targets.find(ONE, "deb") is not None
    assert sorted(path.name for path in (published.depot.apt / "pool").iterdir()) == [
        f"fairlead-node-hotfix_{ONE}_all.deb"
    ]


def test_a_fix_of_the_aks_agent_is_published_beside_ours(
    published: Publishing, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(
        "Package: aks-node-controller\nVersion: 202611.16.9\nArchitecture: amd64\n"
        "Maintainer: nobody <nobody@example.test>\nDescription: stands for the AKS agent\n"
    )
    package = tmp_path / "agent.deb"
    words = ["dpkg-deb", "--root-owner-group", "--build", str(root), str(package)]
    subprocess.run(words, check=True, capture_output=True)

    assert published.publish([package])

    signed = json.loads(published.depot.read_signed().targets)["signed"]["targets"]
    path = "apt/pool/aks-node-controller_202611.16.9_amd64.deb"
    assert signed[path]["custom"] == {
        "base": "202611.16",
        "component": "aksNodeController",
        "format": "deb",
        "version": "202611.16.9",
    }
    assert "component" not in signed[f"apt/pool/fairlead-node-hotfix_{ONE}_all.deb"]["custom"]
    apt = apt_of(published, tmp_path)
    assert apt.update() == ""
    assert apt.versions("aks-node-controller") == ["202611.16.9"]
    assert apt.versions() == [TWO, ONE]
    # Ours may go on below it: each component has versions of its own.
    assert published.publish(tiny_packages(tmp_path, "202611.16.3"))


def test_what_ends_soon_is_signed_anew_with_the_keys_of_the_depot_alone(
    published: Publishing, tmp_path: Path
) -> None:
    without_offline = Publishing(published.depot, tmp_path / "nothing")
    later = moment() + timedelta(days=5)

    assert renew_depot(without_offline.depot, later)
    assert not renew_depot(without_offline.depot, later)

    assert without_offline.verified(at=later).targets.find(TWO, "rpm") is not None
    release = (published.depot.apt / "Release").read_text()
    ends = later + timedelta(days=7)
    assert f"Valid-Until: {ends:%a, %d %b %Y %H:%M:%S} GMT" in release


def test_an_image_with_the_old_key_goes_on_while_two_keys_sign(
    published: Publishing, tmp_path: Path
) -> None:
    baked = Path(shutil.copy(published.depot.apt / "repository.gpg", tmp_path / "baked.gpg"))
    assert (
        len(rotate_repository_key(published.depot, published.offline, moment(), at_once=False)) == 2
    )

    old = AptClient(tmp_path / "old", published.depot.apt, baked)
    new = AptClient(tmp_path / "new", published.depot.apt, published.depot.apt / "repository.gpg")
    assert (old.update(), old.versions()) == ("", [TWO, ONE])
    assert (new.update(), new.versions()) == ("", [TWO, ONE])


def test_a_stolen_key_of_the_repositories_signs_nothing_any_more(
    published: Publishing, tmp_path: Path
) -> None:
    baked = Path(shutil.copy(published.depot.apt / "repository.gpg", tmp_path / "baked.gpg"))
    assert (
        len(rotate_repository_key(published.depot, published.offline, moment(), at_once=True)) == 1
    )

    old = AptClient(tmp_path / "old", published.depot.apt, baked)
    new = AptClient(tmp_path / "new", published.depot.apt, published.depot.apt / "repository.gpg")
    assert "NO_PUBKEY" in old.update()
    assert (new.update(), new.versions()) == ("", [TWO, ONE])


def signed_rpm(one: Publishing, version: str) -> tuple[Path, str]:
    """Where the .rpm of a version lies, and the digest that was signed for it."""
    target = one.verified().targets.find(version, "rpm")
    assert target is not None
    return one.depot.directory / target.path, str(target.sha256)


def test_published_rpms_are_signed_anew_with_a_new_key(
    published: Publishing, tmp_path: Path
) -> None:
    rotate_repository_key(published.depot, published.offline, moment(), at_once=True)

    dnf = dnf_of(published, tmp_path)
    assert dnf.install(TWO) == ""
    assert dnf.installed() == TWO
    for version in (ONE, TWO):
        file, digest = signed_rpm(published, version)
        assert sha256(file.read_bytes()).hexdigest() == digest
    assert list(published.depot.rpm.glob(".resigned-*")) == []


def test_without_the_release_key_a_depot_with_rpms_keeps_its_keys(
    published: Publishing, tmp_path: Path
) -> None:
    before = RepositoryKey(published.depot).fingerprints()

    with pytest.raises(InputError):
        rotate_repository_key(published.depot, tmp_path / "nothing", moment(), at_once=True)

    assert RepositoryKey(published.depot).fingerprints() == before


def test_a_rotation_that_was_killed_before_its_last_step_is_finished_by_whoever_renews(
    published: Publishing,
) -> None:
    file, _ = signed_rpm(published, TWO)
    before = file.read_bytes()
    rotate_repository_key(published.depot, published.offline, moment(), at_once=False)
    file.rename(file.with_name(f".resigned-{file.name}"))
    file.write_bytes(before)
    (published.depot.rpm / ".resigned-of-nobody.rpm").write_bytes(b"left by another")

    renew_depot(published.depot, moment())

    assert sha256(file.read_bytes()).hexdigest() == signed_rpm(published, TWO)[1]
    assert list(published.depot.rpm.glob(".resigned-*")) == []


def test_what_is_served_can_be_read_and_keys_cannot_under_any_umask(
    fixes: dict[str, list[Path]], tmp_path: Path
) -> None:
    kept = os.umask(0o077)
    try:
        one = make_publishing(tmp_path)
        one.publish(fixes[ONE])
    finally:
        os.umask(kept)

    served = (one.depot.metadata, one.depot.apt, one.depot.rpm)
    found = [path for top in served for path in (top, *top.rglob("*"))]
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in found}
    assert modes == {(True, 0o755), (False, 0o644)}
    assert one.depot.keys.stat().st_mode & 0o777 == 0o700


def test_no_agent_is_left_behind(both: Publishing) -> None:
    """A zombie that nobody waits for is none: it holds no key."""
    left = [
        path.parent
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"gpg-agent" in _content(path) and str(both.depot.directory).encode() in _content(path)
    ]

    assert left == []


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
