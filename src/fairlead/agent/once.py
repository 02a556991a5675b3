"""
One run per boot document and boot, however many lines start the agent.

systemd starts a unit once at a time, but a person, a script or a second unit may start the agent
beside it: AKS custom data starts a launcher that calls `provision`, while fairlead-node.path starts
`boot`. Every command that provisions takes its turn here. The verdict of a run that ended is kept
below /run, which a reboot empties; a run that was killed leaves none, and is tried again. A
directory that stands for a machine never reboots, so nothing is kept there.
"""

from __future__ import annotations

import posix as os

from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.host import is_regular_file
from fairlead.contract.json_text import encode_json, parse_json, plain
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Inputs

# In the layout's state directory.
LOCK = "boot.lock"
VERDICT = "verdict.json"
DOCUMENT = "document.json"
REFUSED = "refused.json"
DRIVES = "drives.json"
# The sentinel of a boot that had no document, as report/conclude.py leaves it.
CONCLUDED = "provision.complete"

# The fact of the boot report, and so of the status, that says which documents were not taken.
REFUSALS = "refused"
# Sentences. More than there are places; a look that repeats itself tells nothing twice.
MOST_REFUSALS = 8

# Set for the agent that a run with a turn starts to provision in its place; scripts never see it.
HELD = "FAIRLEAD_TURN"

# Between the digests of a node config and of an NBC command.
AND = "+"

# cloud-init's write_files writes in place: what started us may be the first byte of a config. A
# file that has not grown for this long is whole, however it reads.
SETTLE_S = 0.5
SETTLE_STEP_S = 0.02


def take_turn(run: Run) -> int | None:
    """
    Wait until no other agent runs on this machine; it waits until leave_turn, or this process ends.

    Return the descriptor that holds the turn, or None where there is nothing to hold it by. Raises
    UnavailableError where waiting would be for ever.
    """
    # Also without a lock: the agent that provisions in our place reports nothing, we do.
    run.host.environment[HELD] = run.id
    if run.host.is_directory:
        return None
    try:
        run.host.make_directory(run.layout.state)
        descriptor = _open_lock(run.host.real_path(f"{run.layout.state}/{LOCK}"))
        _wait_for_lock(run, descriptor)
    except OSError as error:
        run.log("WARN", "no lock, so a second agent could run beside this one", error=str(error))
        return None
    return descriptor


def _open_lock(path: str) -> int:
    """Return the open lock; a link in its place is not followed but replaced."""
    how = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, how, 0o600)
    except OSError as error:
        import errno

        if error.errno != errno.ELOOP:  # what O_NOFOLLOW says of a link
            raise
    os.unlink(path)
    return os.open(path, how, 0o600)


def _wait_for_lock(run: Run, descriptor: int) -> None:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        from fairlead.agent.readiness import does_network_wait_for_us

        if does_network_wait_for_us(run.host):
            raise UnavailableError(
                "another agent runs here and may wait for the network, which waits for this hook "
                "of cloud-init: not waited for; fairlead-node provision-wait says how it ends"
            ) from None
        run.log("INFO", "another agent runs here: waiting for its end")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def has_turn_already(run: Run) -> bool:
    """Say whether a run that has the turn started this process to provision in its place."""
    return bool(run.host.environment.get(HELD))


def leave_turn(turn: int | None) -> None:
    """Let the next agent run, while this process still has something to do that disturbs none."""
    if turn is not None:
        os.close(turn)


def digest_of(run: Run, inputs: Inputs) -> str:
    """
    Return what tells this boot's document from another, the same before and after a fetch.

    A node config and an NBC command each have their part, '' for what is not there; '' in all in a
    directory, where nothing is kept that it could be compared with.
    """
    if run.host.is_directory:
        return ""
    from fairlead.agent.early.digest import sha256_of

    # As find_inputs: what is not a plain file is no document.
    if is_regular_file(run.host, run.layout.boot_document):
        return sha256_of(find_file(run.host, run.layout.boot_document) or b"")
    texts = [find_file(run.host, path) for path in (inputs.node_config, inputs.nbc_command)]
    return AND.join("" if text is None else sha256_of(text) for text in texts)


def find_verdict(run: Run, digest: str) -> int | None:
    """Return the exit code of the run that ended with this document in this boot, or None."""
    match read_state(run, VERDICT):
        case {"digest": str(kept), "exit": int(exit_code), "run": run_id} if _is_one(kept, digest):
            run.log("INFO", "this document had its run", by=run_id, exit_code=exit_code)
            return exit_code
    return None


def _is_one(kept: str, digest: str) -> bool:
    """
    Say whether both are of one document.

    Custom data writes the node config before the NBC command: whoever starts between the two sees
    one of them. What both saw must be equal, and there must be something that both saw.
    """
    theirs, ours = kept.split(AND), digest.split(AND)
    seen = [(one, other) for one, other in zip(theirs, ours) if one and other]  # noqa: B905 - 3.10
    return len(theirs) == len(ours) and bool(seen) and all(one == other for one, other in seen)


def keep_verdict(run: Run, digest: str, exit_code: int) -> None:
    """Afterwards a second run with this document, in this boot, ends as this one did."""
    write_state(run, VERDICT, {"digest": digest, "exit": exit_code, "run": run.id})


def is_boot_over(run: Run) -> bool:
    """Say whether this boot has its verdict: a drive that comes now was not there to boot from."""
    places = (f"{run.layout.state}/{VERDICT}", f"{run.layout.state}/{CONCLUDED}")
    return any(run.host.file_mode(path) is not None for path in places)


def tell_refusals(run: Run, sentences: list[str]) -> None:
    """Say once in each boot which documents were not taken, and why; the record has it too."""
    if not sentences:
        return
    told = refusals(run)
    new = [sentence for sentence in sentences if sentence not in told][:MOST_REFUSALS]
    for sentence in new:
        run.log("WARN", "document refused", cause=sentence)
    if new:
        run.refusals = (told + new)[:MOST_REFUSALS]
        write_state(run, REFUSED, {REFUSALS: run.refusals})
    if new and is_boot_over(run):
        # No run of this boot is to come that would note it.
        run.record.note_later(REFUSALS, run.refusals)


def note_refusals(run: Run) -> None:
    """Note in this run's record what was refused in this boot, by whichever process."""
    refused = refusals(run)
    if refused and run.record.report.facts.get(REFUSALS) != refused:
        run.record.note(REFUSALS, refused)


def refusals(run: Run) -> list[str]:
    """Return which documents were not taken in this boot, and why."""
    # A directory keeps no state: what this process found is all.
    kept = run.refusals if run.host.is_directory else read_state(run, REFUSED).get(REFUSALS)
    return [str(sentence) for sentence in kept] if isinstance(kept, list) else []


def wait_until_whole(run: Run, path: str) -> None:
    """Return when the JSON file at this path is whole, or has stopped growing."""
    length, still_s = -1, 0.0
    while still_s < SETTLE_S and not run.host.is_directory:
        text = find_file(run.host, path)
        if text is None or _is_json(text):
            return
        still_s = still_s + SETTLE_STEP_S if len(text) == length else 0.0
        length = len(text)
        run.host.sleep(SETTLE_STEP_S)


def read_state(run: Run, name: str) -> dict[str, Any]:
    """Return what write_state left under this name in this boot; {} if nothing that can be read."""
    try:
        text = find_file(run.host, f"{run.layout.state}/{name}")
        return plain(parse_json(text or b"{}"))  # type: ignore[no-any-return]
    except (InputError, OSError):
        return {}


def write_state(run: Run, name: str, fields: dict[str, Any]) -> None:
    """Keep these fields until the next boot. Trouble with the state directory fails nothing."""
    if run.host.is_directory:
        return
    path = f"{run.layout.state}/{name}"
    try:
        write_atomically(run.host, path, encode_json(fields).encode(), 0o600)
    except OSError as error:
        run.log("WARN", "state not kept", path=path, error=str(error))


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text)
    except InputError:
        return False
    return True
