"""
Take a running node to another boot document, in place.

The document is put where a boot finds it, and the node's own service boots from it: whoever asked
may be killed meanwhile, and ask again. The same document twice is one change, with one verdict.
"""

from __future__ import annotations

from fairlead.agent.files import find_file, remove_if_present, write_atomically
from fairlead.agent.once import digest_of, find_verdict
from fairlead.agent.report.status import read_status
from fairlead.agent.stages.stage import Inputs
from fairlead.contract.boot_document import parse_boot_document
from fairlead.contract.node_paths import unit_of
from fairlead.errors import InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run

DOCUMENT_MODE = 0o600

# Seconds. The unit gives a run half an hour, and its report two minutes.
LONGEST_RUN_S = 35 * 60.0
RESET_S = 30.0

# Bytes. Of what a pod said a kubelet keeps the last 2 KiB, and what is cut off is the beginning.
LONGEST_CAUSE = 1800


def put_document(run: Run, text: bytes) -> bool:
    """
    Afterwards this node boots from this document, and nothing of another one is left.

    Return whether it did not yet. The document comes last: cut off before, it is another one still,
    and all of this is done again. Raises InputError if no node could boot from it.
    """
    parse_boot_document(text)
    layout = run.layout
    if find_file(run.host, layout.boot_document) == text:
        return False
    for path in (layout.node_config, layout.nbc_command):
        if path:
            remove_if_present(run.host, path)
    write_atomically(run.host, layout.boot_document, text, DOCUMENT_MODE)
    return True


def boot_by_service(run: Run, *, is_new: bool) -> int:
    """
    Let the node's service boot from the document that is in place; return how that ended.

    One that is under way is waited for, unless the document is new. Raises UnavailableError if it
    ends without a verdict, InputError with the status's own cause, in one line, if it did not
    provision: what a pod says last is all that its owner hears of it.
    """
    digest = digest_of(run, Inputs("", ""))
    verdict = None if is_new else find_verdict(run, digest)
    if verdict is None:
        said = _start(run, "restart" if is_new else "start")
        verdict = find_verdict(run, digest)
        if verdict is None:
            raise UnavailableError(f"{unit_of(run.layout.name)} ended without a verdict: {said}")
    if verdict != 0:
        error = " ".join(str(read_status(run.host, run.layout).get("Error", "")).split())
        cause = error.encode("utf-8", "replace")[:LONGEST_CAUSE].decode("utf-8", "ignore")
        raise InputError(f"provision failed: exitCode={verdict} error={cause}")
    return verdict


def _start(run: Run, verb: str) -> str:
    """Run the service to its end; return what systemd says of that."""
    unit = unit_of(run.layout.name)
    # Counts starts of a day, of which a node that is changed often has many.
    run.host.run(["systemctl", "reset-failed", unit], deadline_s=RESET_S)
    finished = run.host.run(["systemctl", verb, unit], deadline_s=LONGEST_RUN_S)
    said = " ".join(finished.output.decode("utf-8", "replace").split())
    return said or f"systemctl {verb} ended with {finished.exit_code}"
