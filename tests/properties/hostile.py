"""A seeded source of broken documents: real ones, hurt in the ways documents get hurt."""

import gzip
import json
import random
from typing import Any

from shared_cases import shared_case

# What a generator, an attacker or a bad disk may put where a value was.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63, 10**400, 1.5, 1e308, "", "v1", "v2", "NaN", "\0", "\n",
    "a\0b", "é" * 200, "$(reboot)", "`id`", "'; exit 9; '", '"', "{{", "x" * 70000, [], {}, [[]],
    [None], {"": ""}, {"a": {"b": {"c": []}}}, ["mustUnderstand"], "202611.16.9", "\ud800",
)  # fmt: skip
ODD_TEXTS = (
    b"", b"\0", b"null", b"[]", b"{}", b'"', b"{", b"}", b"\xff\xfe", b"\xef\xbb\xbf", b"[" * 5000,
    b'{"a":' * 3000, b"1" * 5000, b"NaN", b"-", b'"\\ud800"', b"\r\n", b"=", b"KEY=VALUE",
    b"export ", b'"version":"v1",', b'"mustUnderstand":["nothing.like.this"],', b" " * 4096,
    b"A=" * 999,
)  # fmt: skip


def originals(kind: str) -> list[bytes]:
    """Return the real documents of a kind: configs, pointers, features or nbc."""
    if kind == "configs":
        lines = case_lines("aks-env.jsonl.gz")
        return [line["input"].encode() for line in lines]
    if kind == "pointers":
        return [line["pointer"].encode() for line in case_lines("hotfix-resolution.jsonl.gz")]
    if kind == "nbc":
        return [line["text"].encode() for line in case_lines("nbc-env.jsonl.gz")]
    return [
        b"ENABLE_PROVISIONING_HOTFIX=true\n",
        b"# comment\n\nA=1\nENABLE_PROVISIONING_HOTFIX=true",
        b"9BAD=x\nENABLE_PROVISIONING_HOTFIX=$(echo true)\n",
    ]


def hurt(document: bytes, source: random.Random) -> bytes:
    """Return the document with one to four wounds."""
    for _ in range(source.randint(1, 4)):
        if source.random() < 0.5:
            document = _hurt_structure(document, source)
        else:
            document = _hurt_bytes(document, source)
    return document


def _hurt_bytes(document: bytes, source: random.Random) -> bytes:
    start = source.randint(0, len(document))
    end = min(len(document), start + source.randint(0, 40))
    piece = document[start:end]
    kind = source.randrange(6)
    if kind == 0:
        return document[:start]
    if kind == 1:
        return document[:start] + document[end:]
    if kind == 2:
        return document[:end] + piece * source.randint(1, 3) + document[end:]
    if kind == 3:
        return document[:start] + bytes([source.randrange(256)]) + document[start + 1 :]
    if kind == 4:
        return document[:start] + source.choice(ODD_TEXTS) + document[start:]
    return piece + document


def _hurt_structure(document: bytes, source: random.Random) -> bytes:
    """Replace one value somewhere in a JSON document by one that does not belong there."""
    try:
        value = json.loads(document)
    except (ValueError, RecursionError):
        return _hurt_bytes(document, source)
    holder: Any = {"": value}
    key: Any = ""
    while isinstance(holder[key], (dict, list)) and holder[key] and source.random() < 0.8:
        holder = holder[key]
        key = source.choice(list(holder)) if isinstance(holder, dict) else 0
    if isinstance(holder, dict) and source.random() < 0.3:
        key = source.choice(["future", "mustUnderstand", "hotfixes", "version", "\0", "é" * 60])
    holder[key] = source.choice(ODD_VALUES)
    # json.dumps writes 10**400 in full, and a lone surrogate as an escape.
    return json.dumps(value).encode()


def case_lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of a case file."""
    with gzip.open(shared_case(name), "rt") as lines:
        return [json.loads(line) for line in lines]
