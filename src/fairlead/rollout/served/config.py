"""
What a machine is served: its revision's node config with its pool's labels, taints and secrets.

The payload service makes it from what secrets hold. A pass, and whoever judges documents, knows no
more of secrets than how many bytes they take in it, and makes the same text with stand-ins: to a
byte it is known how large a config is before a machine asks for it. What machines join with is
added at the last moment, and has room kept for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fairlead.contract.json_text import Pairs, encode_json, parse_json, plain
from fairlead.decision.decision import Decision, Unknown
from fairlead.errors import InputError
from fairlead.inputs.bounds import JOIN_ROOM, LARGEST_SERVED
from fairlead.inputs.leaf import Json, Leaves, Problem
from fairlead.inputs.parse import written
from fairlead.inputs.platform_inputs import PLATFORM
from fairlead.rollout.machines import NodeSettings, taints_text
from fairlead.rollout.served.pool_secrets import Added, put_stand_ins

TAINTS_FLAG = "--register-with-taints"

# Bytes of a revision's node config, with labels, taints and secrets.
LARGEST_BEFORE_JOIN = LARGEST_SERVED - JOIN_ROOM

# How every sentence about the size begins, ours and those that the payload service noted.
_SIZE = "the node config has "

# So many parts of a config are named, unless a hundred of their size were not too much.
NAMED_PARTS = 3
SMALL_PARTS = 100

# Bytes that JSON spells a character with at most, and that stand around a value: indentation, the
# brackets and names of what it is in.
LONGEST_ESCAPE = 6
AROUND = 64


@dataclass(frozen=True, slots=True)
class TooLarge(Problem):
    """A node config of more bytes than a machine can be served. found: how many."""

    found: int


def opened(node_config: str) -> dict[str, Json]:
    """Return a revision's node config as a document to add to. Raises InputError."""
    value = parse_json(_encoded(node_config))
    if not isinstance(value, Pairs):
        raise InputError("the node config is no JSON object")
    document: dict[str, Json] = plain(value)
    return document


def put_settings(document: dict[str, Json], settings: NodeSettings) -> None:
    """Add labels and taints. Raises InputError."""
    if settings.labels:
        _below(document, "kubelet_config", "kubelet_node_labels").update(settings.labels)
    if settings.taints:
        flags = _below(document, "kubelet_config", "kubelet_flags")
        flags[TAINTS_FLAG] = taints_text(settings.taints)


def closed(document: Mapping[str, Json]) -> bytes:
    """Return the document as it is served. Raises InputError if it is no text."""
    return _encoded(encode_json(document, indent=2, ascii_only=False)) + b"\n"


def size_problem(found: int, allowed: int = LARGEST_SERVED) -> str:
    """Return that a node config has more bytes than a machine can be served."""
    return f"{_SIZE}{found} bytes, at most {allowed} can be served"


def is_about_size(problem: str) -> bool:
    """Say whether this is why a node config was too large once: how large it is, a pass knows."""
    return problem.startswith(_SIZE)


def served_bytes(node_config: str, settings: NodeSettings, added: Added) -> int:
    """
    Return how many bytes a machine is served, what it joins with left out.

    Raises InputError if nothing can be served.
    """
    document = opened(node_config)
    put_settings(document, settings)
    left_out = put_stand_ins(document, added)
    return len(closed(document)) + left_out


def why_too_large(
    node_config: str, leaves: Leaves, settings: NodeSettings, added: Added
) -> TooLarge | None:
    """Return that a revision is more than a machine can be served, with its largest parts."""
    if at_most(node_config, settings, added) <= LARGEST_BEFORE_JOIN:
        return None  # nearly every pool of every pass: nothing is rendered
    try:
        found = served_bytes(node_config, settings, added)
    except InputError:
        return None  # told by whoever serves it, for what it is
    if found <= LARGEST_BEFORE_JOIN:
        return None
    parts = sorted(_parts(leaves, settings, added), reverse=True)[:NAMED_PARTS]
    (most, largest, field), *others = parts
    named = [f"{largest} has {most} bytes"]
    named += [f"{says} {count}" for count, says, _ in others if count * SMALL_PARTS > found]
    says = f"{size_problem(found, LARGEST_BEFORE_JOIN)}: {', '.join(named)}"
    return TooLarge(field=field, text=says, found=found)


def too_large_in(decision: Decision) -> TooLarge | None:
    """Return that what is wanted is too large, if that is why nothing can be decided."""
    problems = decision.unusable.problems if isinstance(decision, Unknown) else ()
    return next((problem for problem in problems if isinstance(problem, TooLarge)), None)


def at_most(node_config: str, settings: NodeSettings, added: Added) -> int:
    """Return a number of bytes that what is served does not exceed, without rendering it."""
    if not node_config.startswith("{\n"):
        return LARGEST_SERVED + 1  # not as we write it: it grows when it is written again
    size = len(node_config if node_config.isascii() else node_config.encode(errors="replace"))
    size += added.pull_secret + added.trust_bundle + 8 * AROUND
    for name, value in settings.labels.items():
        size += (len(name) + len(value)) * LONGEST_ESCAPE + AROUND
    if settings.taints:
        size += len(taints_text(settings.taints)) * LONGEST_ESCAPE
    return size


def _parts(leaves: Leaves, settings: NodeSettings, added: Added) -> Iterator[tuple[int, str, str]]:
    """Yield what a config is made of: bytes, what it is called, and the field to change."""
    yield added.pull_secret, "the pull secret", "spec.pullSecret.name"
    yield added.trust_bundle, "the trust bundle", "spec.trustBundle.name"
    yield _bytes_of(dict(settings.labels)), "labels", "spec.labels"
    yield _bytes_of(taints_text(settings.taints)), "taints", "spec.taints"
    for path, value in leaves.items():
        name, field = path.removeprefix(PLATFORM), written(path)
        if path.startswith(PLATFORM):
            yield _bytes_of(value), f"the platform's {name}", f"PlatformConfig {field}"
        else:
            yield _bytes_of(value), name, field


def _bytes_of(value: Json) -> int:
    return len(encode_json(value, indent=2, ascii_only=False).encode(errors="replace"))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        # JSON can spell half a character; no machine can be given one.
        raise InputError("the node config holds text that is not Unicode") from error


def _below(document: dict[str, Json], *names: str) -> dict[str, Json]:
    for at, name in enumerate(names):
        inner = document.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError("found no mapping", field=".".join(names[: at + 1]))
        document = inner
    return document
