"""
What was published in a depot, and how far it may reach: the catalog, and every change to it.

A catalog is the wish of whoever publishes. Signed metadata says what may be installed; the catalog
says what is offered, to which regions, and how fast. All of it is pure: a catalog in, one out.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from fairlead.contract.hotfix.answer import AKS_COMPONENT, OUR_COMPONENT
from fairlead.contract.image_version import is_version, may_upgrade
from fairlead.errors import InputError
from fairlead.hotfix.campaign import WAVES, Campaign, Schedule

COMPONENTS = (OUR_COMPONENT, AKS_COMPONENT)


class State(enum.StrEnum):
    """What has become of a fix. A withdrawn one is revoked on every node; a retired one is not."""

    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """
    One version for the images of one base.

    everyone: no waves. wave: as many waves are open at least, beyond the first, since somebody
    said so. resumed_at: boots before this moment no longer count against the fix. packages: paths
    below the depot.
    """

    component: str
    version: str
    base: str
    schedule: Schedule
    published_at: datetime
    packages: tuple[str, ...]
    state: State = State.PUBLISHED
    reason: str = ""
    summary: str = ""
    everyone: bool = False
    resumed_at: datetime | None = None
    wave: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Regions that are on or off, bases that are supported, and every fix there ever was."""

    regions: Mapping[str, bool] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()

    def is_on(self, region: str) -> bool:
        """Say whether fixes are offered in a region: only where somebody said so."""
        return self.regions.get(region, False)

    def is_switched_off(self, region: str) -> bool:
        """Say whether somebody said that fixes are not offered in a region."""
        return not self.regions.get(region, True)

    def find(self, version: str) -> Fix | None:
        """Return the fix of this version, whatever has become of it."""
        return next((fix for fix in self.fixes if fix.version == version), None)

    def of_base(self, component: str, base: str) -> tuple[Fix, ...]:
        """Return every fix of a base there ever was, the newest first."""
        found = [fix for fix in self.fixes if (fix.component, fix.base) == (component, base)]
        return tuple(sorted(found, key=lambda fix: patch_of(fix.version), reverse=True))

    def packages(self) -> tuple[str, ...]:
        """Return the packages that may be installed."""
        published = [fix for fix in self.fixes if fix.state is State.PUBLISHED]
        return tuple(path for fix in published for path in fix.packages)

    def revoked(self) -> tuple[str, ...]:
        """Return the versions that must not be used any more."""
        return tuple(fix.version for fix in self.fixes if fix.state is State.WITHDRAWN)


def patch_of(version: str) -> int:
    """Return the last number of a version."""
    return int(version.rpartition(".")[2])


def campaign_said(fix: Fix) -> Campaign:
    """Return how far a fix came by its publisher's word alone, whatever boots said of it."""
    return Campaign(
        version=fix.version,
        schedule=fix.schedule,
        started_at=fix.resumed_at or fix.published_at,
        wave=fix.wave,
    )


def publish(catalog: Catalog, fix: Fix) -> Catalog:
    """Return the catalog with a new fix. Raises InputError rather than go back."""
    _refuse_odd(fix)
    if fix.base not in catalog.bases:
        raise InputError(
            f"no supported image has the base {fix.base}; supported: {_listed(catalog.bases)}",
            field=fix.version,
            hint=f"fairlead hotfix bases add {fix.base}",
        )
    taken = catalog.find(fix.version)
    if taken is not None:
        raise InputError(
            f"was published before for {taken.component}, and is {taken.state.value}",
            field=fix.version,
            hint="build it with a higher PATCH",
        )
    newest = next(iter(catalog.of_base(fix.component, fix.base)), None)
    if newest is not None and not may_upgrade(newest.version, fix.version):
        raise InputError(
            f"is not higher than {newest.version}, which is {newest.state.value}",
            field=fix.version,
            hint=f"build it as {fix.base}.{patch_of(newest.version) + 1}",
        )
    return replace(catalog, fixes=(*catalog.fixes, fix))


def withdraw(catalog: Catalog, version: str, reason: str) -> Catalog:
    """Return the catalog with a tombstone for this version; there is no way back from it."""
    fix = _known(catalog, version)
    if not reason.strip():
        raise InputError("say why: machines and people will ask", field="--reason")
    return _with(catalog, replace(fix, state=State.WITHDRAWN, reason=reason))


def retire(catalog: Catalog, version: str) -> Catalog:
    """
    Return the catalog without this fix on offer: no supported image needs it any more.

    Either its base is not supported, or a newer fix of it is for everyone.
    """
    fix = _known(catalog, version)
    if fix.state is State.WITHDRAWN:
        raise InputError(
            "is withdrawn: nobody is offered it, nothing is left to retire", field=version
        )
    if fix.base in catalog.bases and not _is_superseded(catalog, fix):
        raise InputError(
            f"images of the base {fix.base} are supported, and need it: no newer fix of that base "
            "is for everyone",
            field=version,
            hint="`fairlead hotfix promote VERSION --everyone` of a newer one; or when the last of "
            f"the images is gone: fairlead hotfix bases remove {fix.base}",
        )
    return _with(catalog, replace(fix, state=State.RETIRED))


def promote(catalog: Catalog, version: str, now: datetime, *, everyone: bool = False) -> Catalog:
    """Return the catalog with one more wave open, or all of them; a halt before now is over."""
    fix = _known(catalog, version)
    if fix.state is not State.PUBLISHED:
        raise InputError(
            f"is {fix.state.value}: it cannot reach more machines",
            field=version,
            hint="publish a fix with a higher PATCH",
        )
    wave = min(fix.wave + 1, len(WAVES) - 1)
    is_for_all = everyone or fix.everyone
    return _with(catalog, replace(fix, wave=wave, everyone=is_for_all, resumed_at=now))


def switch_region(catalog: Catalog, region: str, *, is_on: bool) -> Catalog:
    """Return the catalog with a region on or off."""
    return replace(catalog, regions={**catalog.regions, region: is_on})


def add_base(catalog: Catalog, base: str) -> Catalog:
    """Return the catalog with one more supported base."""
    return replace(catalog, bases=tuple(sorted({*catalog.bases, base})))


def remove_base(catalog: Catalog, base: str) -> Catalog:
    """Return the catalog without a base. Its fixes stay on offer until they are retired."""
    if base not in catalog.bases:
        raise InputError(f"is not among {_listed(catalog.bases)}", field=base)
    return replace(catalog, bases=tuple(one for one in catalog.bases if one != base))


def _is_superseded(catalog: Catalog, fix: Fix) -> bool:
    """Say whether every machine that would take this fix is offered a newer one."""
    return any(
        other.everyone
        and other.state is State.PUBLISHED
        and patch_of(other.version) > patch_of(fix.version)
        for other in catalog.of_base(fix.component, fix.base)
    )


def _refuse_odd(fix: Fix) -> None:
    """Refuse a version that two people could spell in two ways."""
    if not is_version(fix.version) or fix.version != f"{fix.base}.{patch_of(fix.version)}":
        raise InputError(f"found {fix.version!a}, expected {fix.base}.PATCH", field="version")


def _known(catalog: Catalog, version: str) -> Fix:
    fix = catalog.find(version)
    if fix is None:
        raise InputError("was never published here", field=version, hint="fairlead hotfix list")
    return fix


def _with(catalog: Catalog, changed: Fix) -> Catalog:
    fixes = [changed if fix.version == changed.version else fix for fix in catalog.fixes]
    return replace(catalog, fixes=tuple(fixes))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
