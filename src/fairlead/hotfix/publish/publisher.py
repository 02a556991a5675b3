"""
Every change to a depot, in an order in which being killed leaves one publication or the other.

To publish: packages, then the indexes that name them, then the signed metadata, then the catalog,
which alone makes anybody ask for them. To take away: the metadata first, since from then on no node
uses the fix; indexes and files last. Each change writes all of it anew from the catalog, so the
next one also mends what a killed one left.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from fairlead.errors import InputError, TrustError
from fairlead.hotfix import catalog as change
from fairlead.hotfix.campaign import Schedule
from fairlead.hotfix.catalog import Catalog, Fix, State
from fairlead.hotfix.publish import apt_repository, metadata, rpm_repository
from fairlead.hotfix.publish.apt_repository import Indexed
from fairlead.hotfix.publish.depot import READABLE, Depot, make_readable
from fairlead.hotfix.publish.key_change import read_online, read_release
from fairlead.hotfix.publish.metadata import PackageFile, Signed, Signers
from fairlead.hotfix.publish.package_file import Offered, look_at
from fairlead.hotfix.publish.programs import refuse_missing
from fairlead.hotfix.publish.repository_key import RepositoryKey
from fairlead.whole_file import write_whole

_SIGNING = ("gpg", "gpg-agent", "gpgconf")
_APT_TOOLS = ("dpkg-deb", *_SIGNING)
_RPM_TOOLS = ("rpm", "rpmsign", "createrepo_c", *_SIGNING)

# An .rpm with a new signature, until the metadata names its bytes.
_RESIGNED = ".resigned-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a fix is to be published. component: what the packages must be; '' is what they are."""

    schedule: Schedule = Schedule.NORMAL
    summary: str = ""
    component: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What came of it. `is_new` is False if the same bytes were published before."""

    fix: Fix
    is_new: bool


def publish(
    depot: Depot, offline: Path, files: Sequence[Path], wish: Wish, now: datetime
) -> Published:
    """Publish the packages of one fix. Raises InputError before anything counts."""
    formats = {file.suffix for file in files}
    refuse_missing([*_APT_TOOLS, *(_RPM_TOOLS if ".rpm" in formats else ())])
    offered = [look_at(file) for file in files]
    _refuse_mixed(offered, wish)
    with depot.changing() as signed:
        before = depot.read_catalog()
        known = before.find(offered[0].version)
        if known is not None and known.component == offered[0].component:
            _refuse_others(depot, known, offered)
            return Published(fix=known, is_new=False)
        fix = Fix(
            component=offered[0].component,
            version=offered[0].version,
            base=offered[0].base,
            schedule=wish.schedule,
            published_at=now.replace(microsecond=0),
            summary=wish.summary,
            packages=tuple(sorted(one.stored for one in offered)),
        )
        after = change.publish(before, fix)
        signers = _signers(depot, offline, signed)
        stored = [_store(depot, one) for one in offered]
        publication = _publication(signed, after, stored, signers, now)
        _write_indexes(depot, publication, now)
        depot.write_signed(publication)
        depot.write_catalog(after)
        _sweep(depot, publication)
    return Published(fix=fix, is_new=True)


def withdraw(depot: Depot, offline: Path, version: str, reason: str, now: datetime) -> Fix:
    """Revoke a fix on every node, and take its packages away."""
    return _take_away(
        depot, offline, version, lambda one: change.withdraw(one, version, reason), now
    )


def retire(depot: Depot, offline: Path, version: str, now: datetime) -> Fix:
    """Take away a fix that no supported image needs."""
    return _take_away(depot, offline, version, lambda one: change.retire(one, version), now)


def change_catalog(depot: Depot, changed: Callable[[Catalog], Catalog]) -> Catalog:
    """Change how far fixes reach: no package and no signature moves."""
    with depot.changing():
        after = changed(depot.read_catalog())
        depot.write_catalog(after)
    return after


def renew_depot(depot: Depot, now: datetime) -> bool:
    """
    Sign anew what ends soon, with the keys that lie in the depot; say whether anything was.

    Whoever serves a depot calls it every few minutes.
    """
    with depot.changing() as signed:
        _settle_resigned(depot, signed)
        is_due = metadata.is_renewal_due(signed, now)
        if is_due:
            depot.write_signed(metadata.renew(signed, read_online(depot, signed), now))
        return apt_repository.renew_index(depot, now) or is_due


def rotate_repository_key(
    depot: Depot, offline: Path, now: datetime, *, at_once: bool
) -> list[str]:
    """
    Make a new key for the repositories and sign with it; return which keys sign.

    at_once: the older ones stop signing. An .rpm carries its signature within itself, so where one
    is published the release key signs for its new bytes. Raises InputError before anything is made.
    """
    with depot.changing() as signed:
        packages = metadata.packages_of(metadata.targets_of(signed))
        rpms = [package for package in packages if package.format == "rpm"]
        signers = None
        if rpms:
            refuse_missing(_RPM_TOOLS)
            signers = _signers(depot, offline, signed)
        key = RepositoryKey(depot)
        key.make()
        if at_once:
            key.remove_all_but_newest()
        publication = signed
        if signers is not None:
            resigned = [_resign(depot, package) for package in rpms]
            publication = _publication(signed, depot.read_catalog(), resigned, signers, now)
            depot.write_signed(publication)
        _write_indexes(depot, publication, now)
        return key.fingerprints()


def _take_away(
    depot: Depot,
    offline: Path,
    version: str,
    changed: Callable[[Catalog], Catalog],
    now: datetime,
) -> Fix:
    refuse_missing(_APT_TOOLS)
    with depot.changing() as signed:
        after = changed(depot.read_catalog())
        publication = _publication(signed, after, (), _signers(depot, offline, signed), now)
        depot.write_signed(publication)
        depot.write_catalog(after)
        _write_indexes(depot, publication, now)
        fix = after.find(version)
        if fix is None:
            raise TrustError(f"{version} left the catalog by itself")
        _sweep(depot, publication)
    return fix


def _signers(depot: Depot, offline: Path, signed: Signed) -> Signers:
    return Signers(release=read_release(offline, signed), online=read_online(depot, signed))


def _refuse_mixed(offered: Sequence[Offered], wish: Wish) -> None:
    for name in ("version", "component"):
        found = sorted({str(getattr(one, name)) for one in offered})
        if len(found) != 1:
            raise InputError(f"packages of {' and '.join(found)}, expected one {name}")
    if wish.component not in ("", offered[0].component):
        raise InputError(
            f"these are packages of {offered[0].component}, expected {wish.component}",
            field="--component",
        )
    formats = [one.format for one in offered]
    if len(set(formats)) != len(formats):
        raise InputError(
            "two packages of one format: a fix has one .deb and one .rpm at most",
            hint="a fix for two architectures needs two versions",
        )


def _refuse_others(depot: Depot, known: Fix, offered: Sequence[Offered]) -> None:
    """Refuse what is not to the byte what was published under this version."""
    if known.state is not State.PUBLISHED:
        raise InputError(
            f"was published before, and is {known.state.value}: {known.reason}".rstrip(": "),
            field=known.version,
            hint="build it with a higher PATCH",
        )
    for one in offered:
        stored = depot.directory / one.stored
        if one.stored not in known.packages or look_at(stored).identity != one.identity:
            raise InputError(
                f"{known.version} was published with other bytes than those of {one.file}",
                hint="build it with a higher PATCH",
            )


def _store(depot: Depot, offered: Offered) -> PackageFile:
    """Put a package where indexes will find it; nobody looks for it yet."""
    stored = depot.directory / offered.stored
    make_readable(stored.parent)
    content = offered.file.read_bytes()
    if offered.format == "rpm":
        content = _signed_rpm(depot, content)
    write_whole(stored, content, READABLE)
    return PackageFile(
        path=offered.stored,
        length=len(content),
        sha256=sha256(content).hexdigest(),
        base=offered.base,
        version=offered.version,
        format=offered.format,
        component=offered.component,
    )


def _resign(depot: Depot, package: PackageFile) -> PackageFile:
    """Put a published .rpm with a signature of the newest key beside itself; return that one."""
    stored = depot.directory / package.path
    content = _signed_rpm(depot, stored.read_bytes())
    write_whole(stored.with_name(_RESIGNED + stored.name), content, READABLE)
    return replace(package, length=len(content), sha256=sha256(content).hexdigest())


def _settle_resigned(depot: Depot, publication: Signed) -> None:
    """Let each .rpm that was signed anew take its name if the metadata means it; drop the rest."""
    packages = metadata.packages_of(metadata.targets_of(publication))
    meant = {package.path: package.sha256 for package in packages}
    for file in depot.rpm.glob(f"{_RESIGNED}*"):
        name = file.name.removeprefix(_RESIGNED)
        if meant.get(f"rpm/{name}") == sha256(file.read_bytes()).hexdigest():
            file.replace(file.with_name(name))
        else:
            file.unlink()


def _signed_rpm(depot: Depot, content: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix=".signing-", dir=depot.keys) as directory:
        package = Path(directory) / "package.rpm"
        package.write_bytes(content)
        RepositoryKey(depot).sign_rpm(package)
        return package.read_bytes()


def _publication(
    signed: Signed,
    after: Catalog,
    stored: Sequence[PackageFile],
    signers: Signers,
    now: datetime,
) -> Signed:
    """Return metadata for all that the catalog has; what was signed before is as it was signed."""
    known = {package.path: package for package in metadata.packages_of(metadata.targets_of(signed))}
    known |= {package.path: package for package in stored}
    missing = [path for path in after.packages() if path not in known]
    if missing:
        raise TrustError(f"{missing[0]} is in the catalog, and nobody signed it")
    packages = [known[path] for path in after.packages()]
    return metadata.publish(signed, packages, after.revoked(), signers, now)


def _write_indexes(depot: Depot, publication: Signed, now: datetime) -> None:
    """Write the indexes of both repositories, of packages that are what was signed."""
    _settle_resigned(depot, publication)
    packages = metadata.packages_of(metadata.targets_of(publication))
    for package in packages:
        content = (depot.directory / package.path).read_bytes()
        if sha256(content).hexdigest() != package.sha256:
            raise TrustError(
                f"{depot.directory / package.path} is not what was signed: it was changed or is "
                "damaged; restore it from a backup, or withdraw the fix"
            )
    debs = [
        Indexed(package.path.removeprefix("apt/"), package.length, package.sha256)
        for package in packages
        if package.format == "deb"
    ]
    apt_repository.write_index(depot, debs, now)
    rpms = [package.path.removeprefix("rpm/") for package in packages if package.format == "rpm"]
    if rpms or rpm_repository.has_index(depot):
        refuse_missing(_RPM_TOOLS)
        rpm_repository.write_index(depot, rpms, now)


def _sweep(depot: Depot, publication: Signed) -> None:
    """Remove packages that nobody may install: withdrawn, retired, or of a killed publication."""
    packages = metadata.packages_of(metadata.targets_of(publication))
    named = {depot.directory / package.path for package in packages}
    for file in (*depot.apt.glob("pool/*.deb"), *depot.rpm.glob("*.rpm")):
        if file not in named:
            file.unlink()
    for left in depot.keys.glob(".signing-*"):
        shutil.rmtree(left, ignore_errors=True)
