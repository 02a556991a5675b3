"""
A signed document: its JSON, strictly read, and the bytes that its signatures are over.

Signatures are over the canonical form of the part `signed` (canonical JSON of OLPC, as TUF has
it): names in order, no white space, in strings only `"` and a backslash escaped, integers only.
What has no such form, names twice included, is refused: two readers must not see two documents.
"""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, parse_json
from fairlead.errors import InputError
from fairlead.trust.refused import MALFORMED, TOO_LARGE, RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Metadata is five deep; the reader of JSON is bounded by the interpreter's stack.
DEEPEST = 16

MOST_SIGNATURES = 16

# Of ECDSA on P-256 in DER: 72 bytes at most, as hexadecimal digits.
LONGEST_SIGNATURE = 144


class SignedText:
    """
    A document before anybody has looked at its signatures.

    content: what is signed, as plain values; canonical: the bytes that signatures are over;
    signatures: by key id, each id once.
    """

    __slots__ = ("canonical", "content", "signatures", "text")

    def __init__(self, text: bytes, role: str, largest: int) -> None:
        if len(text) > largest:
            raise RefusedError(TOO_LARGE, f"{role} has {len(text)} bytes, expected <= {largest}")
        document = _document_of(text, role)
        if set(document) != {"signed", "signatures"}:
            raise malformed(role, "expected the names signed and signatures, and no other")
        self.text = text
        self.content = document["signed"]
        if not isinstance(self.content, dict) or self.content.get("_type") != role:
            raise malformed(role, f"the signed part does not say that it is {role}")
        self.canonical = canonical(self.content).encode()
        self.signatures = _signatures_of(document["signatures"], role)


def malformed(role: str, problem: str) -> RefusedError:
    """Return the error for metadata that nobody can have meant."""
    return RefusedError(MALFORMED, f"{role}: {problem}")


def canonical(value: Any) -> str:
    """Return the canonical form of plain values."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, dict):
        items = [f"{canonical(name)}:{canonical(value[name])}" for name in sorted(value)]
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _document_of(text: bytes, role: str) -> dict[str, Any]:
    try:
        document = _plain(parse_json(text), DEEPEST)
    except InputError as error:
        raise malformed(role, str(error)) from error
    if not isinstance(document, dict):
        raise malformed(role, "expected an object")
    return document


def _plain(value: object, levels: int) -> Any:
    if levels == 0:
        raise InputError(f"nested deeper than {DEEPEST}")
    if isinstance(value, Pairs):
        found = {name: _plain(item, levels - 1) for name, item in value}
        if len(found) != len(value):
            raise InputError("a name stands twice in one object")
        for name in found:
            _refuse_surrogates(name)
        return found
    if isinstance(value, list):
        return [_plain(item, levels - 1) for item in value]
    if isinstance(value, float):
        raise InputError("found a number that is no integer")
    if isinstance(value, str):
        _refuse_surrogates(value)
    return value


def _refuse_surrogates(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("found text that is not Unicode")


def _signatures_of(value: object, role: str) -> dict[str, bytes]:
    if not isinstance(value, list) or len(value) > MOST_SIGNATURES:
        raise malformed(role, f"expected at most {MOST_SIGNATURES} signatures")
    found: dict[str, bytes] = {}
    for item in value:
        key_id = item.get("keyid") if isinstance(item, dict) else None
        signature = item.get("sig") if isinstance(item, dict) else None
        if not isinstance(key_id, str) or not isinstance(signature, str):
            raise malformed(role, "a signature has no keyid or no sig")
        if key_id in found:
            raise malformed(role, "one key id signed twice")
        if len(signature) > LONGEST_SIGNATURE:
            raise malformed(role, f"a signature has more than {LONGEST_SIGNATURE} digits")
        try:
            found[key_id] = bytes.fromhex(signature)
        except ValueError as error:
            raise malformed(role, "a signature is not hexadecimal") from error
    return found
