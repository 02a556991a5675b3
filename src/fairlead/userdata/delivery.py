"""
What user data brings to a machine, before anybody asks in which format.

Two deliveries: the whole node config, or a boot document that says where to fetch it. Order
matters: an image may watch for the config and start on it, so what the agent reads beside it
comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.contract.boot_document import BootDocument, render_boot_document
from fairlead.contract.feature_file import is_identifier
from fairlead.contract.json_text import Pairs, parse_json
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_paths import document_path
from fairlead.errors import InputError

# Every document may hold a secret: nobody but root reads them.
DOCUMENT_MODE = 0o600


@dataclass(frozen=True)
class Inline:
    """The whole node config. Bytes that a user wrote travel as they are."""

    config: bytes


@dataclass(frozen=True)
class Fetch:
    """A stub: the agent fetches the node config of its revision."""

    document: BootDocument


Delivery = Inline | Fetch


@dataclass(frozen=True)
class NodeFile:
    """One file on the node, mode DOCUMENT_MODE."""

    path: str
    content: bytes


def files_of(delivery: Delivery, layout: str, features: dict[str, str]) -> list[NodeFile]:
    """
    Return the files to put on the node, in this order. Raises InputError for a NUL.

    `features` come on top of those that the node config enables.
    """
    files = []
    flags = render_features({**features_in(delivery), **features})
    if flags:
        files.append(NodeFile(document_path("features", layout), flags))
    if isinstance(delivery, Fetch):
        content = render_boot_document(delivery.document)
        files.append(NodeFile(document_path("boot_document", layout), content))
    else:
        refuse_nul(delivery.config)
        files.append(NodeFile(document_path("node_config", layout), delivery.config))
    return files


def features_in(delivery: Delivery) -> dict[str, str]:
    """Return what the node config enables; none for a stub, whose config is elsewhere."""
    if isinstance(delivery, Fetch):
        return {}
    enabled = parse_node_config(delivery.config).config.mapping("enabled_features")
    return {name: value for name, value in enabled.items() if isinstance(value, str)}


def render_features(features: dict[str, str]) -> bytes:
    """Return the feature file, sorted by key; b'' if no feature is valid."""
    lines = [
        f"{name}={features[name]}\n"
        for name in sorted(features)
        if is_feature(name, features[name])
    ]
    return "".join(lines).encode("utf-8", "surrogateescape")


def is_feature(name: str, value: str) -> bool:
    """Say whether a feature file can carry this: a shell identifier, and a value on one line."""
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return is_identifier(name) and not any(mark in value for mark in "\r\n\0")


def refuse_nul(config: bytes) -> None:
    """Return if no value holds a NUL; else raise InputError that names the field."""
    if b"\0" not in config and b"\\u0000" not in config:
        return
    field = _path_of_nul(config)
    if field is None and b"\0" not in config:
        return  # an escaped backslash before "u0000"
    raise InputError(
        "holds a NUL byte, which no file of settings and no environment can carry",
        field=field or f"byte {config.index(0)}",
        hint="remove it",
    )


def _path_of_nul(config: bytes) -> str | None:
    try:
        # A raw NUL is not JSON; spelled as an escape it is, and is found in its field.
        value = parse_json(config.replace(b"\0", b"\\u0000"), encoding_errors="surrogateescape")
    except InputError:
        return None
    return next((path for path, text in texts_in(value, "") if "\0" in text), None)


def texts_in(value: object, path: str) -> list[tuple[str, str]]:
    """Return every text in a JSON value with its dotted path, names of fields included."""
    found: list[tuple[str, str]] = []
    pending: list[tuple[str, object]] = [(path, value)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Pairs):
            for name, item in value:
                inner = f"{path}.{name}" if path else name
                found.append((inner, name))
                pending.append((inner, item))
        elif isinstance(value, list):
            pending += [(f"{path}[{at}]", item) for at, item in enumerate(value)]
        elif isinstance(value, str):
            found.append((path, value))
    return found
