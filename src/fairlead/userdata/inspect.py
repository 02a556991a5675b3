"""
What somebody's user data would do: its parts, the node config inside, and every known problem.

Takes any bytes and never raises. It judges what it can read and says nothing about the rest; a
clean inspection is no promise that a hook does what its author meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.contract.boot_document import parse_boot_document
from fairlead.contract.json_text import Pairs, parse_json
from fairlead.contract.node_parse import parse_node_config
from fairlead.contract.node_paths import DOCUMENT_PATHS, layout_of
from fairlead.contract.node_validate import validate
from fairlead.errors import InputError
from fairlead.userdata.cloud_config_text import CloudConfigText
from fairlead.userdata.delivery import DOCUMENT_MODE, NodeFile
from fairlead.userdata.hook_text import Hook, unit_problems
from fairlead.userdata.ignition_text import files_in_ignition
from fairlead.userdata.known_problems import Problem, problem_of
from fairlead.userdata.limits import CLOUDS, fits
from fairlead.userdata.parts import IGNITION, Part, split_parts
from fairlead.userdata.unwrap import (
    LARGEST_CONTENT,
    LARGEST_JSON,
    MOST_FILES,
    WHITE_SPACE,
    Room,
    unwrap,
)

JINJA_MARK = "## template: jinja"


@dataclass
class Inspection:
    """
    What was found.

    wrappings: from the outside in. too_large_for: clouds that would refuse it. receipt: what the
    agent would understand of the node config, None if there is none. endpoint: where a boot
    document fetches from. config_problems: by field path.
    """

    size: int
    kind: str = ""
    wrappings: tuple[str, ...] = ()
    parts: list[Part] = field(default_factory=list)
    files: list[NodeFile] = field(default_factory=list)
    too_large_for: list[str] = field(default_factory=list)
    receipt: dict[str, object] | None = None
    endpoint: str = ""
    config_problems: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def inspect_user_data(data: bytes) -> Inspection:
    """Return everything that can be said about these bytes. Never raises."""
    inspection = Inspection(len(data))
    room = Room()
    unwrapped = unwrap(data, room)
    inspection.wrappings = unwrapped.layers
    for layer in dict.fromkeys(unwrapped.layers):
        if layer != "gzip":
            inspection.problems.append(problem_of(layer))
    if unwrapped.problem:
        inspection.problems.append(problem_of("damaged", unwrapped.problem))
    split = split_parts(unwrapped.content, room)
    inspection.kind = split.kind
    inspection.parts = split.parts
    inspection.problems += [problem_of(code) for code in split.problems]
    inspection.too_large_for = _clouds_that_refuse(data, unwrapped.layers)
    for part in split.parts:
        _read_part(inspection, part, room)
    if room.was_too_small:
        inspection.problems.append(problem_of("large-files", LARGEST_CONTENT, MOST_FILES))
    _read_documents(inspection)
    return inspection


def _clouds_that_refuse(data: bytes, layers: tuple[str, ...]) -> list[str]:
    # Base64 on the outside is how an API is given the document; caps count what is inside.
    document = data
    if layers[:1] == ("base64",):
        document = b"\0" * (len(data.translate(None, WHITE_SPACE).rstrip(b"=")) * 3 // 4)
    return [name for name, cloud in CLOUDS.items() if not fits(document, cloud)]


def _read_part(inspection: Inspection, part: Part, room: Room) -> None:
    if part.kind == "text/cloud-boothook":
        _read_hook(inspection, part.text, room)
    elif part.kind == "text/jinja2" and "#cloud-boothook" in part.text[:200]:
        inspection.problems.append(problem_of("jinja-hook"))
    elif part.kind == "text/cloud-config":
        _read_cloud_config(inspection, part.text, room)
    elif part.kind.startswith("text/x-shellscript"):
        inspection.problems.append(problem_of("late-script"))
        inspection.files += Hook(part.text).files(room)
    elif part.kind == IGNITION:
        files, problems = files_in_ignition(part.content, room)
        inspection.files += [file for file, _ in files]
        inspection.problems += problems
        _judge_modes(inspection, files)


def _read_hook(inspection: Inspection, text: str, room: Room) -> None:
    first = text.lstrip().removeprefix("#cloud-boothook").lstrip()
    if text.lstrip().startswith(JINJA_MARK) or first.startswith(JINJA_MARK):
        inspection.problems.append(problem_of("jinja-hook"))
    hook = Hook(text)
    files = hook.files(room)
    inspection.files += files
    inspection.problems += hook.problems()
    for file in files:
        inspection.problems += unit_problems(file.content.decode("utf-8", "replace"))


def _read_cloud_config(inspection: Inspection, text: str, room: Room) -> None:
    config = CloudConfigText(text, room)
    inspection.problems += config.problems()
    entries = config.files
    inspection.files += [file for file, _, _ in entries]
    for file, _, is_late in entries:
        inspection.problems += unit_problems(file.content.decode("utf-8", "replace"))
        if file.path in _watched_paths():
            inspection.problems.append(problem_of("write-in-place", file.path))
            if is_late:
                inspection.problems.append(problem_of("late-config", "`defer: true`"))
    _judge_modes(inspection, [(file, mode or "0644") for file, mode, _ in entries])


def _judge_modes(inspection: Inspection, files: list[tuple[NodeFile, str]]) -> None:
    for file, mode in files:
        is_private = mode.removeprefix("0o").lstrip("0") == f"{DOCUMENT_MODE:o}"
        if file.path in _watched_paths() and not is_private:
            inspection.problems.append(problem_of("readable-secret", file.path, mode))


def _read_documents(inspection: Inspection) -> None:
    config = _find(inspection.files, "node_config")
    document = _find(inspection.files, "boot_document")
    if document is not None:
        _read_boot_document(inspection, document)
    if config is None and document is None:
        config = next((file for file in inspection.files if _is_config(file)), None)
    if config is not None and len(config.content) > LARGEST_JSON:
        inspection.problems.append(problem_of("unread-json", LARGEST_JSON))
    elif config is not None:
        _read_node_config(inspection, config)
    elif document is None:
        inspection.problems.append(problem_of("no-config"))


def _read_boot_document(inspection: Inspection, file: NodeFile) -> None:
    try:
        inspection.endpoint = parse_boot_document(file.content).endpoint
    except InputError as error:
        inspection.config_problems.append(f"boot document: {error}")


def _read_node_config(inspection: Inspection, file: NodeFile) -> None:
    parsed = parse_node_config(file.content)
    inspection.receipt = parsed.receipt.encode()
    needed = validate(parsed.config, layout_of(file.path))
    found = [*parsed.violations, *parsed.problems, *needed]
    inspection.config_problems += [str(problem) for problem in found]


def _find(files: list[NodeFile], what: str) -> NodeFile | None:
    return next((file for file in files if file.path in DOCUMENT_PATHS[what]), None)


def _is_config(file: NodeFile) -> bool:
    if len(file.content) > LARGEST_JSON:
        return False
    try:
        value = parse_json(file.content)
    except InputError:
        return False
    pairs = value if isinstance(value, Pairs) else Pairs()
    return any(name == "version" and isinstance(found, str) for name, found in pairs)


def _watched_paths() -> tuple[str, ...]:
    return (*DOCUMENT_PATHS["node_config"], *DOCUMENT_PATHS["boot_document"])
