"""
Put what user data brings in place, if it can be had now.

Runs in fairlead-node-seed.service before cloud-init, in fairlead-node-check.service after it, and
inside `boot` for those who start it in another way. What was found is noted below /run, which a
reboot empties.
"""

from __future__ import annotations

from fairlead.agent.early.places import find_cloud_init_copy, user_data_by_place
from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.once import DOCUMENT, digest_of, read_state, wait_until_whole, write_state
from fairlead.agent.report.clock_text import milliseconds
from fairlead.agent.stages.stage import done, find_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.early.carried_files import EmbeddedFile
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot, Inputs, StageEnd

DOCUMENT_MODE = 0o600

COPY = "cloud-init's copy"

# As in embedded.py, which only a boot with user data at hand has to load.
NODE_CONFIG = "node_config"
BOOT_DOCUMENT = "boot_document"

# What the agent takes from user data; the last one is what starts it, and is written last.
TAKEN = ("features", BOOT_DOCUMENT, NODE_CONFIG)


class FoundDocument:
    """Where this boot's document came from, and what looking for it cost."""

    __slots__ = ("place", "took_ms", "wrote")

    def __init__(self, place: str, took_ms: float, wrote: list[str]) -> None:
        self.place = place
        self.took_ms = took_ms
        self.wrote = wrote


def find_boot_inputs(run: Run) -> Inputs | None:
    """
    Return what this machine boots from, from user data if need be; None if there is nothing.

    What an earlier process of this boot found is not looked for again.
    """
    inputs = find_inputs(run)
    noted = read_state(run, DOCUMENT)
    if inputs is not None and noted.get("digest") == digest_of(run, inputs):
        return inputs
    found = find_document(run, has_inputs=inputs is not None)
    inputs = find_inputs(run)
    if inputs is None:
        return None
    wait_until_whole(run, inputs.node_config)
    if found is not None:
        run.log("INFO", "found user data", place=found.place, wrote=found.wrote)
    place = found.place if found else "this disk"
    took_ms = found.took_ms if found else 0.0
    note = {"digest": digest_of(run, inputs), "place": place, "took_ms": took_ms}
    write_state(run, DOCUMENT, note)
    return inputs


def report_document(boot: Boot) -> StageEnd:
    """Record where this boot's document came from."""
    noted = read_state(boot.run, DOCUMENT)
    return done(f"{noted.get('place', 'this disk')}, {noted.get('took_ms', 0.0)} ms")


def find_document(run: Run, *, has_inputs: bool) -> FoundDocument | None:
    """
    Return where a document of ours was found; afterwards its files are in place.

    None if no place holds one: the disk is as it was. cloud-init's copy is the last resort, for a
    machine that has nothing else to boot from. Raises OSError if a file cannot be written.
    """
    start_ns = run.host.monotonic_ns()
    for place, user_data in user_data_by_place(run.host):
        wrote = _take(run, user_data)
        if wrote is not None:
            return FoundDocument(place, milliseconds(run.host.monotonic_ns() - start_ns), wrote)
    copy = None if has_inputs else find_cloud_init_copy(run.host)
    wrote = None if copy is None else _take(run, copy)
    if wrote is None:
        return None
    return FoundDocument(COPY, milliseconds(run.host.monotonic_ns() - start_ns), wrote)


def _take(run: Run, user_data: bytes) -> list[str] | None:
    """Put the files of a document of ours in place; return which were not yet, None if not ours."""
    from fairlead.agent.early.carried_files import files_in_user_data

    files = _files_by_role(run, files_in_user_data(user_data))
    if not (BOOT_DOCUMENT in files or NODE_CONFIG in files):
        return None
    wrote = []
    for role in TAKEN:
        if role in files and _write_if_other(run, getattr(run.layout, role), files[role]):
            wrote.append(role)
    return wrote


def _files_by_role(run: Run, files: list[EmbeddedFile]) -> dict[str, bytes]:
    """Keep the files that this layout has a place for: user data may bring others, for others."""
    roles = {getattr(run.layout, role): role for role in TAKEN}
    roles.update({NODE_CONFIG: NODE_CONFIG, BOOT_DOCUMENT: BOOT_DOCUMENT})
    return {roles[file.place]: file.content for file in files if file.place in roles}


def _write_if_other(run: Run, path: str, content: bytes) -> bool:
    if find_file(run.host, path) == content:
        return False
    write_atomically(run.host, path, content, DOCUMENT_MODE)
    return True
