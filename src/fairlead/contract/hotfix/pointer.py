"""
The hotfix pointer: which version, if any, a node of one base should install.

A pointer that cannot be read is an empty pointer with a problem, since a bad pointer must never
stop a boot. A non-empty map decides alone: a base it does not name gets nothing, even if the
pointer also has a `version`. A tombstone (null) counts as an entry, so it also denies.

Names and values mean what the published agent's library makes of them: it takes our names in any
case, adds the entries of a map that comes twice, forgets them at a null, and refuses a byte order
mark.
"""

from __future__ import annotations

from fairlead.contract.image_version import WHITE_SPACE, base_of, may_upgrade
from fairlead.contract.json_text import BYTE_ORDER_MARK, Pairs, encode_json, parse_json
from fairlead.contract.node_receipt import shown_name
from fairlead.contract.proto_scalar import is_unicode, kind_of
from fairlead.errors import InputError

OWN_NAMES = ("version", "scripts_version", "hotfixes")
UNUSABLE = "the hotfix pointer cannot be used"

# The one letter beside the capital ones that is an "s" in another case.
LONG_S = "\u017f"
NO_CHARACTER = "\ufffd"
SURROGATES = ("\ud800", "\udfff")


class HotfixPointer:
    """
    What a pointer file says.

    hotfixes: base to version, None for a tombstone; others: what the file holds beside our
    names, kept on rewrite; problem: why the file could not be used, or ''.
    """

    __slots__ = ("hotfixes", "others", "problem", "scripts_version", "version")

    def __init__(self, problem: str = "") -> None:
        self.version = ""
        self.scripts_version = ""
        self.hotfixes: dict[str, str | None] = {}
        self.others = Pairs()
        self.problem = problem


class Resolution:
    """What a pointer means for a node at `current`; '' in resolved or scripts is none."""

    __slots__ = ("current", "resolved", "scripts", "upgrade")

    def __init__(self, pointer: HotfixPointer, current: str) -> None:
        self.current = current
        self.resolved = resolve(pointer, current)
        self.upgrade = may_upgrade(current, self.resolved)
        self.scripts = pointer.scripts_version

    def encode(self) -> dict[str, object]:
        """Return the answer of download-hotfix --dry-run --json."""
        return {
            "current": self.current,
            "resolved": self.resolved,
            "upgrade": self.upgrade,
            "scripts": self.scripts,
        }


def parse_pointer(text: bytes) -> HotfixPointer:
    """Return the pointer in these bytes, or an empty one that says what is wrong. Never raises."""
    if not text.strip():
        return HotfixPointer()
    if text.startswith(BYTE_ORDER_MARK):
        return HotfixPointer(f"{UNUSABLE}: not JSON: begins with a byte order mark")
    try:
        return _pointer_of(parse_json(text))
    except InputError as error:
        return HotfixPointer(f"{UNUSABLE}: {error}")


def _pointer_of(document: object) -> HotfixPointer:
    pointer = HotfixPointer()
    if document is None:
        return pointer
    if not isinstance(document, Pairs):
        raise InputError(f"found {kind_of(document)}, expected an object")
    for written, value in document:
        name = written.replace(LONG_S, "s").lower()
        if name not in OWN_NAMES:
            pointer.others.append((written, value))
        elif name == "hotfixes":
            _take_hotfixes(pointer, value)
        elif value is not None:
            setattr(pointer, name, _version_of(value, name))
    return pointer


def _take_hotfixes(pointer: HotfixPointer, value: object) -> None:
    if value is None:
        pointer.hotfixes.clear()
        return
    hotfixes, problems = hotfixes_of(value)
    if problems:
        raise InputError(problems[0], field="hotfixes")
    pointer.hotfixes.update(hotfixes or {})


def hotfixes_of(value: object) -> tuple[dict[str, str | None] | None, list[str]]:
    """Return a map of base to version with what is wrong in it; None if it is no object."""
    if not isinstance(value, Pairs):
        return None, [f"found {kind_of(value)}, expected an object"]
    hotfixes: dict[str, str | None] = {}
    problems: list[str] = []
    for base, version in value:
        try:
            hotfixes[base] = None if version is None else _version_of(version, shown_name(base))
        except InputError as error:
            problems.append(str(error))
    return hotfixes, problems


def _version_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"found {kind_of(value)}, expected a version as text", field=name)
    if is_unicode(value):
        return value
    # Half a character: no version, but no reason to lose the others either.
    first, last = SURROGATES
    return "".join(NO_CHARACTER if first <= one <= last else one for one in value)


def resolve(pointer: HotfixPointer, current: str) -> str:
    """Return the version that the pointer names for a node at `current`; '' is none."""
    if not pointer.hotfixes:
        return pointer.version.strip(WHITE_SPACE)
    base = base_of(current)
    version = pointer.hotfixes.get(base) if base else None
    return (version or "").strip(WHITE_SPACE)


def resolution_of(pointer: HotfixPointer, current: str) -> Resolution:
    """Return what the pointer means for a node at `current`, gate included."""
    return Resolution(pointer, current)


def render_pointer(pointer: HotfixPointer, hotfixes: dict[str, str | None]) -> bytes:
    """Return the pointer file with these hotfixes and everything else as it was."""
    named = Pairs((name, getattr(pointer, name)) for name in ("version", "scripts_version"))
    fields = Pairs(pair for pair in named if pair[1])
    if hotfixes:
        fields.append(("hotfixes", hotfixes))
    fields += pointer.others
    return encode_json(fields).encode() + b"\n"
