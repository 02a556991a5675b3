"""
Fetch the node config, if this machine was given only a boot document that says where.

There is nothing to fall back to: without a config the boot stops and says why. Trouble that may
pass is retried until the document's deadline; at the earliest start there is no network yet.
"""

from __future__ import annotations

from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.stages.stage import done, skipped
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot, StageEnd
    from fairlead.contract.boot_document import BootDocument

CONFIG_MODE = 0o600

# 204 is a success without a config.
OK = range(200, 201)


def fetch_config(boot: Boot) -> StageEnd:
    """Afterwards the node config is on the disk, unless there was nothing to fetch it for."""
    if boot.inputs.node_config or boot.inputs.nbc_command:
        return skipped("what the node boots from is here")
    layout = boot.run.layout
    text = find_file(boot.run.host, layout.boot_document)
    if text is None:
        return skipped("no boot document")
    from fairlead.contract.boot_document import parse_boot_document

    body, tries = fetch_until_deadline(boot.run, parse_boot_document(text))
    refuse_other_documents(body)
    write_atomically(boot.run.host, layout.node_config, body, CONFIG_MODE)
    boot.inputs.node_config = layout.node_config
    return done(f"{len(body)} bytes (tries: {tries})")


def fetch_until_deadline(run: Run, document: BootDocument) -> tuple[bytes, int]:
    """Return the body and how many tries it took. Raises the error that ended the trying."""
    from fairlead.agent.control_plane import Errand, request_of, run_errand

    errand = Errand(
        request_of(run, document, document.endpoint),
        OK,
        document.deadline_s,
        failed="no node config from",
        again="node config not fetched, trying again",
    )
    return run_errand(run, errand)


def refuse_other_documents(body: bytes) -> None:
    """Return if this can be a node config; else raise InputError. Its fields are judged later."""
    from fairlead.contract.json_text import Pairs, parse_json

    try:
        value = parse_json(body, encoding_errors="surrogateescape")
    except InputError as error:
        raise InputError(f"the answer is no node config: {error.problem}") from error
    if not isinstance(value, Pairs):
        raise InputError("the answer is no node config: expected a JSON object")
