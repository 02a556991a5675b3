"""
What the built-in steps of every machine would stop at: refused before one boots with it.

The steps themselves are asked, so that admission and machines are of one mind.
"""

from collections.abc import Iterator, Mapping

from fairlead.agent.steps.containerd_text import config_version, render_containerd_config
from fairlead.agent.steps.taken_files import pool_files
from fairlead.contract.node_config import NodeConfig
from fairlead.contract.node_secrets import PULL_SECRET
from fairlead.contract.node_settings import CONTAINERD, FILES, containerd_of, is_applied
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json, Leaves
from fairlead.proposal.complaint import Complaint

# Bytes, as Linux has it: of one name, and of a whole path with its end.
LONGEST_NAME = 255
LONGEST_PATH = 4095

CONFIG = "spec.config"


def refused_by_steps(spec: Json, leaves: Leaves) -> Iterator[Complaint]:
    """List the files and sections that no machine would take. leaves: those of the spec."""
    fields = _fields_of_files(spec)
    paths = [leaf.removeprefix(FILES) for leaf in leaves if leaf.startswith(FILES)]
    rest = {
        leaf: leaves[leaf] for leaf in leaves if is_applied(leaf) and leaf[: len(FILES)] != FILES
    }
    if "pullSecret.name" in leaves:
        rest[PULL_SECRET] = {}
    for path in paths:
        field = fields.get(path, CONFIG)
        yield from _unusable_path(path, field)
        if above := next((other for other in paths if path.startswith(f"{other}/")), None):
            yield Complaint(field, f"cannot stand below {above}, which is a file")
        try:
            pool_files(NodeConfig({}, {**rest, FILES + path: leaves[FILES + path]}))
        except InputError as error:
            yield Complaint(field, error.problem, error.hint)
    if any(leaf.startswith(CONTAINERD) for leaf in leaves):
        yield from _containerd_complaints(NodeConfig({}, rest))


def _unusable_path(path: str, field: str) -> Iterator[Complaint]:
    longest = max(len(name.encode()) for name in path.split("/"))
    if longest > LONGEST_NAME or len(path.encode()) > LONGEST_PATH:
        problem = f"found a name of {longest} bytes in a path of {len(path.encode())}"
        hint = f"a name has {LONGEST_NAME} bytes at most, a path {LONGEST_PATH}"
        yield Complaint(field, problem, hint)


def _containerd_complaints(config: NodeConfig) -> Iterator[Complaint]:
    try:
        render_containerd_config(config, config_version(containerd_of(config), None))
    except InputError as error:
        yield Complaint(CONFIG, f"containerd: {error.problem}", error.hint)


def _fields_of_files(spec: Json) -> dict[str, str]:
    """Return where in the document each file is named, by its path."""
    found: dict[str, str] = {}
    configs = spec.get("config") if isinstance(spec, Mapping) else None
    for at, document in enumerate(configs if isinstance(configs, list) else []):
        files = document.get("files") if isinstance(document, Mapping) else None
        for index, file in enumerate(files if isinstance(files, list) else []):
            path = file.get("path") if isinstance(file, Mapping) else None
            if isinstance(path, str):
                found.setdefault(path, f"{CONFIG}[{at}].files[{index}].path")
    return found
