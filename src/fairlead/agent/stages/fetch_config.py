"""
Fetch the node config, if this machine was given only a boot document that says where.

There is nothing to fall back to: without a config the boot stops and says why. Trouble that may
pass is retried until the document's deadline; at the earliest start there is no network yet.
"""

from __future__ import annotations

from fairlead.agent.clock_text import NS_PER_S
from fairlead.agent.files import find_file, write_atomically
from fairlead.agent.stages.stage import done, skipped
from fairlead.errors import InputError, TrustError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run
    from fairlead.agent.stages.stage import Boot, StageEnd
    from fairlead.contract.boot_document import BootDocument

CONFIG_MODE = 0o600

OK = 200
# The payload service says 511 to a token that it does not know yet: rollouts, tokens.
SERVER_ERRORS = range(500, 600)

# One try may take this long; a server that needs longer is asked again.
TRY_DEADLINE_S = 30.0

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 15.0

# OpenSSL's "not yet valid" and "has expired": before the first time sync it is the clock that is
# wrong. Every other failure to prove itself stays one.
CLOCK_VERIFY_CODES = (9, 10)


def fetch_config(boot: Boot) -> StageEnd:
    """Afterwards the node config is on the disk, unless there was nothing to fetch it for."""
    if boot.inputs.node_config or boot.inputs.nbc_command:
        return skipped("what the node boots from is here")
    layout = boot.run.layout
    text = find_file(boot.run.host, layout.boot_document)
    if text is None:
        return skipped("no boot document")
    from fairlead.contract.boot_document import parse_boot_document

    document = parse_boot_document(text)
    boot.run.redactor.learn([document.token])
    body, tries = fetch_until_deadline(boot.run, document)
    refuse_other_documents(body)
    write_atomically(boot.run.host, layout.node_config, body, CONFIG_MODE)
    boot.inputs.node_config = layout.node_config
    return done(f"{len(body)} bytes (tries: {tries})")


def fetch_until_deadline(run: Run, document: BootDocument) -> tuple[bytes, int]:
    """Return the body and how many tries it took. Raises the error that ended the trying."""
    end_ns = run.host.monotonic_ns() + int(document.deadline_s * NS_PER_S)
    tries = 0
    while True:
        left_s = (end_ns - run.host.monotonic_ns()) / NS_PER_S
        tries += 1
        status, body, cause = _try_once(run, document, max(0.1, min(TRY_DEADLINE_S, left_s)))
        if status == OK:
            return body, tries
        _refuse_final(document, status, cause)
        wait_s = wait_before(tries + 1, run.id)
        if run.host.monotonic_ns() + wait_s * NS_PER_S >= end_ns:
            raise UnavailableError(
                f"no node config from {_shown(document)} in {document.deadline_s} s "
                f"(tries: {tries}): {cause}"
            )
        run.log("WARN", "node config not fetched, trying again", cause=cause, wait_s=wait_s)
        run.host.sleep(wait_s)


def wait_before(number: int, run_id: str) -> float:
    """Return how long to wait before this try: doubling, and spread so that fleets do not march."""
    import zlib

    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * (1 << min(number - 2, 10)))
    spread = zlib.crc32(f"{run_id} {number}".encode()) % 1000 / 1000
    return round(longest * (0.5 + spread / 2), 3)


def refuse_other_documents(body: bytes) -> None:
    """Return if this can be a node config; else raise InputError. Its fields are judged later."""
    from fairlead.contract.json_text import Pairs, parse_json

    try:
        value = parse_json(body, encoding_errors="surrogateescape")
    except InputError as error:
        raise InputError(f"the answer is no node config: {error.problem}") from error
    if not isinstance(value, Pairs):
        raise InputError("the answer is no node config: expected a JSON object")


def _try_once(run: Run, document: BootDocument, deadline_s: float) -> tuple[int, bytes, str]:
    """Return the status (0 if there was no answer), the body, and in words what is wrong."""
    try:
        status, body = run.host.fetch(
            document.endpoint, ca=document.ca, token=document.token, deadline_s=deadline_s
        )
    except OSError as error:
        code = getattr(error, "verify_code", 0)
        if code and code not in CLOCK_VERIFY_CODES:
            raise TrustError(
                f"{_shown(document)} did not prove itself to the boot document's CA: {error}"
            ) from error
        return 0, b"", str(error) or type(error).__name__
    return status, body, f"status {status}"


def _refuse_final(document: BootDocument, status: int, cause: str) -> None:
    if status and status not in SERVER_ERRORS:
        raise InputError(
            f"no node config from {_shown(document)}: {cause}",
            hint="asking again would not change this; look at the endpoint and the token",
        )


def _shown(document: BootDocument) -> str:
    """The address without its query, which may hold what nobody should read."""
    return document.endpoint.partition("?")[0]
