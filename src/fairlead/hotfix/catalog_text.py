"""
The catalog of a depot as text: strictly read, bounded, and written whole.

Whoever publishes writes it; services, commands and screens read it. What does not fit this shape
to the letter is refused with the place: nobody guesses how far a fix may reach.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from fairlead.contract.image_version import base_of, is_version
from fairlead.contract.json_text import Pairs, encode_json, parse_json
from fairlead.contract.visible_text import visible
from fairlead.errors import InputError
from fairlead.hotfix.campaign import WAVES, Schedule
from fairlead.hotfix.catalog import COMPONENTS, Catalog, Fix, State

FORMAT = 1

# Bytes. A thousand fixes with two packages each have 500 KiB.
LARGEST_CATALOG = 8 << 20
MOST_FIXES = 10_000
MOST_BASES = MOST_REGIONS = 1_000
MOST_PACKAGES = 4

# Characters.
LONGEST_LINE = 500

_REGION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
_BASE = re.compile(r"[0-9]{6}\.[0-9]{2}", re.ASCII)
_PACKAGE = re.compile(r"(apt/pool|rpm)/[A-Za-z0-9][A-Za-z0-9._+~-]{0,199}\.(deb|rpm)", re.ASCII)
_MOMENT = "%Y-%m-%dT%H:%M:%SZ"

_FIX_NAMES = (
    "component", "version", "base", "state", "schedule", "published_at", "reason", "summary",
    "everyone", "resumed_at", "packages",
)  # fmt: skip


def moment_text(moment: datetime) -> str:
    """Return a moment as the catalog and signed metadata spell it: in UTC, to the second."""
    return moment.astimezone(UTC).strftime(_MOMENT)


def check_region(name: str) -> str:
    """Return the name of a region. Raises InputError."""
    if not _REGION.fullmatch(name):
        raise InputError(f"found {name!a}, expected letters, digits and dashes", field="region")
    return name


def check_base(text: str) -> str:
    """Return an image base. Raises InputError."""
    if not _BASE.fullmatch(text):
        raise InputError(f"found {text!a}, expected YYYYMM.DD like 202611.16", field="base")
    return text


def check_line(text: str, field: str) -> str:
    """Return one line that a terminal may show. Raises InputError."""
    if len(text) > LONGEST_LINE or visible(text) != text:
        raise InputError(f"expected one line of at most {LONGEST_LINE} characters", field=field)
    return text


def render_catalog(catalog: Catalog) -> bytes:
    """Return the text of a catalog: the same for equal catalogs."""
    document = {
        "format": FORMAT,
        "regions": dict(sorted(catalog.regions.items())),
        "bases": list(catalog.bases),
        "fixes": [fix_fields(fix) for fix in catalog.fixes],
    }
    return encode_json(document, indent=1, ascii_only=False).encode() + b"\n"


def fix_fields(fix: Fix) -> dict[str, object]:
    """Return a fix as plain values, for the catalog and for scripts."""
    fields: dict[str, object] = {
        "component": fix.component,
        "version": fix.version,
        "base": fix.base,
        "state": fix.state.value,
        "schedule": fix.schedule.value,
        "published_at": moment_text(fix.published_at),
        "reason": fix.reason,
        "summary": fix.summary,
        "everyone": fix.everyone,
        "resumed_at": moment_text(fix.resumed_at) if fix.resumed_at else "",
        "packages": list(fix.packages),
    }
    return fields | ({"wave": fix.wave} if fix.wave else {})


def parse_catalog(text: bytes) -> Catalog:
    """Return the catalog in these bytes. Raises InputError with the place in it."""
    if len(text) > LARGEST_CATALOG:
        raise InputError(f"has {len(text)} bytes, expected at most {LARGEST_CATALOG}")
    document = _object(parse_json(text), ("format", "regions", "bases", "fixes"), "catalog")
    if document["format"] != FORMAT or isinstance(document["format"], bool):
        found = f"{document['format']!a}"[:40]
        raise InputError(
            f"found {found}, expected {FORMAT}", field="format", hint="update fairlead"
        )
    fixes = [
        _fix_of(item, f"fixes[{at}]")
        for at, item in enumerate(_list(document["fixes"], MOST_FIXES, "fixes"))
    ]
    versions = [fix.version for fix in fixes]
    if len(set(versions)) != len(versions):
        raise InputError("a version stands twice", field="fixes")
    bases = _list(document["bases"], MOST_BASES, "bases")
    return Catalog(
        regions=_regions_of(document["regions"]),
        bases=tuple(check_base(_text(base, "bases")) for base in bases),
        fixes=tuple(fixes),
    )


def _regions_of(value: object) -> dict[str, bool]:
    if not isinstance(value, Pairs) or len(value) > MOST_REGIONS:
        raise InputError(f"expected an object of at most {MOST_REGIONS}", field="regions")
    regions = {check_region(name): _flag(is_on, f"regions.{name[:63]}") for name, is_on in value}
    if len(regions) != len(value):
        raise InputError("a region stands twice", field="regions")
    return regions


def _fix_of(value: object, field: str) -> Fix:
    found = _object(value, _FIX_NAMES, field, optional="wave")
    version = _text(found["version"], f"{field}.version")
    base = check_base(_text(found["base"], f"{field}.base"))
    if not is_version(version) or base_of(version) != base or version.strip() != version:
        raise InputError(f"found {version[:40]!a}, expected {base}.PATCH", field=f"{field}.version")
    packages = _list(found["packages"], MOST_PACKAGES, f"{field}.packages")
    resumed_at = _text(found["resumed_at"], f"{field}.resumed_at")
    return Fix(
        component=_word(found["component"], COMPONENTS, f"{field}.component"),
        version=version,
        base=base,
        state=State(_word(found["state"], list(State), f"{field}.state")),
        schedule=Schedule(_word(found["schedule"], list(Schedule), f"{field}.schedule")),
        published_at=_moment_of(_text(found["published_at"], field), f"{field}.published_at"),
        reason=check_line(_text(found["reason"], field), f"{field}.reason"),
        summary=check_line(_text(found["summary"], field), f"{field}.summary"),
        everyone=_flag(found["everyone"], f"{field}.everyone"),
        resumed_at=_moment_of(resumed_at, f"{field}.resumed_at") if resumed_at else None,
        packages=tuple(_package_of(item, f"{field}.packages") for item in packages),
        wave=_wave_of(found.get("wave", 0), f"{field}.wave"),
    )


def _package_of(value: object, field: str) -> str:
    path = _text(value, field)
    if not _PACKAGE.fullmatch(path):
        raise InputError("expected apt/pool/NAME.deb or rpm/NAME.rpm", field=field)
    return path


def _wave_of(value: object, field: str) -> int:
    if type(value) is not int or not 0 <= value < len(WAVES):
        raise InputError(f"expected a number from 0 to {len(WAVES) - 1}", field=field)
    return value


def _object(
    value: object, names: tuple[str, ...], field: str, optional: str = ""
) -> dict[str, Any]:
    if not isinstance(value, Pairs):
        raise InputError("expected an object", field=field)
    found = dict(value)
    if len(found) != len(value) or set(found) - {optional} != set(names):
        raise InputError(f"expected each of these once: {', '.join(names)}", field=field)
    return found


def _list(value: object, most: int, field: str) -> list[Any]:
    if not isinstance(value, list) or isinstance(value, Pairs) or len(value) > most:
        raise InputError(f"expected a list of at most {most}", field=field)
    return value


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InputError("expected a text", field=field)
    return value


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InputError("expected true or false", field=field)
    return value


def _word(value: object, words: list[str] | tuple[str, ...], field: str) -> str:
    if value not in words or not isinstance(value, str):
        raise InputError(f"expected one of {', '.join(words)}", field=field)
    return value


def _moment_of(text: str, field: str) -> datetime:
    try:
        moment = datetime.strptime(text, _MOMENT).replace(tzinfo=UTC)
    except ValueError:
        moment = None
    if moment is None or moment_text(moment) != text:
        raise InputError("expected a moment like 2026-11-18T00:00:00Z", field=field)
    return moment
