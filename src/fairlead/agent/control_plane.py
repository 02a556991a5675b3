"""
Asking the control plane that a boot document names: which answers are final, and when to ask again.

A server error or no answer at all may pass; any other answer stays what it is. Whoever cannot
prove itself to the document's certificate authority is not asked twice, and gets no token.
"""

from __future__ import annotations

from fairlead.agent.https_fetch import Request
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.contract.node_secrets import spellings_of
from fairlead.errors import InputError, TrustError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host
    from fairlead.agent.run import Run
    from fairlead.contract.boot_document import BootDocument

# The payload service says 511 to a token that it does not know yet: rollouts, tokens.
SERVER_ERRORS = range(500, 600)

# One try may take this long; a server that needs longer is asked again.
TRY_DEADLINE_S = 30.0

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 15.0

# Of an answer that is none of those accepted: bytes that are looked at, characters that are told.
LARGEST_REFUSAL = 4096
LONGEST_SAYING = 300

# OpenSSL's "not yet valid" and "has expired": before the first time sync it is the clock that is
# wrong. Every other failure to prove itself stays one.
CLOCK_VERIFY_CODES = (9, 10)

# Where a machine says its name: the file, then the kernel, which may have it from a DHCP server.
NAME_FILES = ("/etc/hostname", "/proc/sys/kernel/hostname")
NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-"
LONGEST_NAME = 253


class Errand:
    """
    One thing wanted of the control plane, for at most `deadline_s` seconds of trying.

    `accepted` are the statuses that end it well. `failed` begins every error, `again` is the log
    line of a try that failed.
    """

    __slots__ = ("accepted", "again", "deadline_s", "failed", "request")

    def __init__(
        self, request: Request, accepted: range, deadline_s: float, *, failed: str, again: str
    ) -> None:
        self.request = request
        self.accepted = accepted
        self.deadline_s = deadline_s
        self.failed = failed
        self.again = again


def request_of(
    run: Run, document: BootDocument, endpoint: str, body: bytes | None = None
) -> Request:
    """Return the request to one address of the document; from here on its token is masked."""
    run.redactor.learn(spellings_of([document.token]))
    return Request(endpoint, document.ca, document.token, find_machine_name(run.host), body)


def run_errand(run: Run, errand: Errand) -> tuple[bytes, int]:
    """Return the body and how many tries it took. Raises the error that ended the trying."""
    end_ns = run.host.monotonic_ns() + int(errand.deadline_s * NS_PER_S)
    tries = 0
    while True:
        left_s = (end_ns - run.host.monotonic_ns()) / NS_PER_S
        tries += 1
        status, body, cause = _try_once(run, errand, max(0.1, min(TRY_DEADLINE_S, left_s)))
        if status in errand.accepted:
            return body, tries
        _refuse_final(errand, status, cause)
        wait_s = wait_before(tries + 1, run.id)
        if run.host.monotonic_ns() + wait_s * NS_PER_S >= end_ns:
            raise UnavailableError(
                f"{_beginning(errand)} in {errand.deadline_s} s (tries: {tries}): {cause}"
            )
        run.log("WARN", errand.again, cause=cause, wait_s=wait_s)
        run.host.sleep(wait_s)


def wait_before(number: int, run_id: str) -> float:
    """Return how long to wait before this try: doubling, and spread so that fleets do not march."""
    import zlib

    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * (1 << min(number - 2, 10)))
    spread = zlib.crc32(f"{run_id} {number}".encode()) % 1000 / 1000
    return round(longest * (0.5 + spread / 2), 3)


def find_machine_name(host: Host) -> str:
    """Return how this machine calls itself, or '' if it has no name that a header can carry."""
    for path in NAME_FILES:
        try:
            text = host.read_file(path).decode("ascii", "replace")
        except OSError:
            continue
        name = text.partition("\n")[0].strip()
        if name and len(name) <= LONGEST_NAME and not name.strip(NAME_CHARACTERS):
            return name
    return ""


def _try_once(run: Run, errand: Errand, deadline_s: float) -> tuple[int, bytes, str]:
    """Return the status (0 if there was no answer), the body, and in words what is wrong."""
    # Each time anew: cloud-init may name the machine after the first try, until then it has the
    # name of its image, and no service knows a machine by that.
    errand.request.machine = find_machine_name(run.host)
    try:
        status, body = run.host.fetch(errand.request, deadline_s=deadline_s)
    except OSError as error:
        code = getattr(error, "verify_code", 0)
        if code and code not in CLOCK_VERIFY_CODES:
            raise TrustError(
                f"{_shown(errand.request)} did not prove itself to the boot document's CA: {error}"
            ) from error
        return 0, b"", str(error) or type(error).__name__
    said = "" if status in errand.accepted else _said_in(body)
    return status, body, f"status {status}: {said}" if said else f"status {status}"


def _said_in(body: bytes) -> str:
    """Return what a refusal says in its field `error`, or '' if there is nothing to be read."""
    if not body or len(body) > LARGEST_REFUSAL:
        return ""
    from fairlead.contract.json_text import Pairs, parse_json
    from fairlead.contract.visible_text import visible

    try:
        value = parse_json(body)
    except InputError:
        return ""
    said = dict(value).get("error") if isinstance(value, Pairs) else None
    return visible(said[:LONGEST_SAYING]) if isinstance(said, str) else ""


def _refuse_final(errand: Errand, status: int, cause: str) -> None:
    if status and status not in SERVER_ERRORS:
        raise InputError(
            f"{_beginning(errand)}: {cause}",
            hint="asking again would not change this; look at the address and the token",
        )


def _beginning(errand: Errand) -> str:
    return f"{errand.failed} {_shown(errand.request)}"


def _shown(request: Request) -> str:
    """The address without its query, which may hold what nobody should read."""
    return request.endpoint.partition("?")[0]
