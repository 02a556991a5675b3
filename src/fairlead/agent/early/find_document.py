"""
Put what user data brings in place, if it can be had now.

Runs in fairlead-node-seed.service before cloud-init, in fairlead-node-check.service after it, and
inside `boot` for those who start it in another way. What was found is noted below /run, which a
reboot empties.
"""

from __future__ import annotations

from fairlead.agent.early.places import Lookout, find_cloud_init_copy
from fairlead.agent.files import find_file, remove_if_present, write_atomically
from fairlead.agent.once import (
    DOCUMENT,
    DRIVES,
    digest_of,
    is_boot_over,
    note_refusals,
    read_state,
    tell_refusals,
    wait_until_whole,
    write_state,
)
from fairlead.agent.report.clock_text import milliseconds
from fairlead.agent.stages.stage import done, find_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.early.carried_files import EmbeddedFile
    from fairlead.agent.early.places import Place
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


def find_boot_inputs(run: Run, *, looks_again: bool = False) -> Inputs | None:
    """
    Return what this machine boots from, from user data if need be; None if there is nothing.

    What an earlier process of this boot found is not looked for again, unless somebody asks for
    it to hear what else came: then nothing is taken.
    """
    inputs = find_inputs(run)
    noted = read_state(run, DOCUMENT)
    is_noted = inputs is not None and noted.get("digest") == digest_of(run, inputs)
    if is_noted and not looks_again:
        return inputs
    if inputs is not None:
        wait_until_whole(run, inputs.node_config)
    found = find_document(run, has_inputs=inputs is not None, is_fixed=is_noted)
    if is_noted:
        return inputs
    had_inputs, inputs = inputs is not None, find_inputs(run)
    if inputs is None:
        return None
    if not had_inputs:
        wait_until_whole(run, inputs.node_config)
    if found is not None:
        run.log("INFO", "found user data", place=found.place, wrote=found.wrote)
    place = found.place if found else "this disk"
    took_ms = found.took_ms if found else 0.0
    note = {"digest": digest_of(run, inputs), "place": place, "took_ms": took_ms}
    write_state(run, DOCUMENT, note)
    return inputs


def report_document(boot: Boot) -> StageEnd:
    """Record where this boot's document came from, and what was refused."""
    note_refusals(boot.run)
    noted = read_state(boot.run, DOCUMENT)
    return done(f"{noted.get('place', 'this disk')}, {noted.get('took_ms', 0.0)} ms")


def find_document(run: Run, *, has_inputs: bool, is_fixed: bool = False) -> FoundDocument | None:
    """
    Return where a document of ours was found; afterwards its files are in place.

    None if no place holds one: the disk is as it was. A node that has a document keeps it: another
    one is told, and taken only if the image lets it be, and never where `is_fixed`. cloud-init's
    copy is the last resort, for a machine that has nothing else to boot from. Raises OSError if a
    file cannot be written.
    """
    start_ns = run.host.monotonic_ns()
    refused: list[str] = []
    found = None
    lookout = Lookout(run.host, refused.append)
    judged = read_state(run, DRIVES).get("drives", []) if is_boot_over(run) else None
    for place in lookout.places(judged):
        wrote = _consider(run, place, refused, has_inputs=has_inputs, is_fixed=is_fixed)
        if wrote is not None and found is None:
            took_ms = milliseconds(run.host.monotonic_ns() - start_ns)
            found = FoundDocument(place.name, took_ms, wrote)
        if wrote or (found and not has_inputs):
            break
    if judged is None and lookout.drives:
        write_state(run, DRIVES, {"drives": lookout.drives})
    tell_refusals(run, refused)
    if found is not None or has_inputs:
        return found
    copy = find_cloud_init_copy(run.host)
    wrote = None if copy is None else _write(run, _documents_in(run, copy))
    if wrote is None:
        return None
    return FoundDocument(COPY, milliseconds(run.host.monotonic_ns() - start_ns), wrote)


def _consider(
    run: Run, place: Place, refused: list[str], *, has_inputs: bool, is_fixed: bool
) -> list[str] | None:
    """Return what was written for this place; None if it has nothing, or nothing to be taken."""
    files = _documents_in(run, place.user_data)
    if not has_inputs or not files or _is_in_place(run, files):
        return _write(run, files)
    if not place.may_replace or is_fixed:
        paths = " ".join(_documents_of(run))
        refused.append(
            f"{place.name} holds another document than this node has, which stays; to take it, "
            f"remove {paths} and boot again, or build the image with REPROVISION=yes"
        )
        return None
    for role in TAKEN:
        # What an earlier document brought, or was fetched for it, is no part of this one.
        if role not in files:
            remove_if_present(run.host, getattr(run.layout, role))
    return _write(run, files)


def _documents_of(run: Run) -> list[str]:
    """Return what this node boots from."""
    paths = (run.layout.boot_document, run.layout.node_config, run.layout.nbc_command)
    return [path for path in paths if path and run.host.file_mode(path) is not None]


def _documents_in(run: Run, user_data: bytes) -> dict[str, bytes]:
    """Return the files of a document of ours by their role; {} if this is none."""
    from fairlead.agent.early.carried_files import files_in_user_data

    files = _files_by_role(run, files_in_user_data(user_data))
    return files if BOOT_DOCUMENT in files or NODE_CONFIG in files else {}


def _is_in_place(run: Run, files: dict[str, bytes]) -> bool:
    return all(
        find_file(run.host, getattr(run.layout, role)) == content for role, content in files.items()
    )


def _write(run: Run, files: dict[str, bytes]) -> list[str] | None:
    """Put the files of a document in place; return which were not yet, None if there are none."""
    if not files:
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
