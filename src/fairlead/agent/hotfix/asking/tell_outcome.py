"""
Tell the hotfix service that the image names how the boot ended: its waves open by such reports.

A control plane has the boot report already. A service that runs alone has nobody else to hear it
from. It is told over HTTPS only: the AKS wire has no way to say it.
"""

from __future__ import annotations

from fairlead.agent.hotfix.asking.ask_service import (
    ServiceAddress,
    completed,
    find_boot_document,
    proof_for,
)
from fairlead.agent.hotfix.asking.service_file import GRPC, HTTPS, read_service_file
from fairlead.agent.report.clock_text import NS_PER_S
from fairlead.contract.hotfix.answer import HOTFIX_PATH, REPORT_PATH
from fairlead.errors import FairleadError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.hotfix.in_fork import Tell
    from fairlead.agent.run import Run

# The verdict is out, and nobody waits for this; but the unit is not done before it.
DEADLINE_S = 20.0
# What the process that tells leaves to the one that waits: a cause of its own is the better one.
MARGIN_S = 1.0

ARRIVED = b"arrived"
ACCEPTED = range(200, 300)


def tell_outcome(run: Run) -> str:
    """
    Return in words that the service knows how this boot ended; '' if there is none to tell.

    Raises InputError for settings that nobody can have meant, UnavailableError if it did not
    arrive. Ends in time also where a name is looked up without an end.
    """
    service = find_reported(run)
    if service is None:
        return ""
    end_ns = run.host.monotonic_ns() + int(DEADLINE_S * NS_PER_S)
    apart = run.host.start_apart(lambda tell: _tell_apart(run, service, end_ns, tell))
    try:
        line = apart.next_line(end_ns)
    finally:
        apart.end()
    if line != ARRIVED:
        told = line.decode("utf-8", "replace") if line else f"gave up after {DEADLINE_S:g} s"
        raise UnavailableError(f"{service.endpoint} does not know how this boot ended: {told}")
    return f"to {service.endpoint}"


def find_reported(run: Run) -> ServiceAddress | None:
    """Return where to send the report; None where nobody, or another report, tells it."""
    file = read_service_file(run.host)
    if not file.endpoint or file.wire == GRPC:
        return None
    document = find_boot_document(run)
    if document and _authority(document.report) == _authority(file.endpoint):
        return None
    service = ServiceAddress(HTTPS, report_address(file.endpoint), file.ca)
    service.audience = file.endpoint
    return completed(service, file, document)


def report_address(endpoint: str) -> str:
    """Return where a service that is asked at this address takes reports."""
    path = endpoint.partition("?")[0]
    if path.endswith(HOTFIX_PATH):
        return path.removesuffix(HOTFIX_PATH) + REPORT_PATH
    return f"https://{_authority(endpoint)}{REPORT_PATH}"


def _authority(address: str) -> str:
    return address.partition("://")[2].partition("/")[0].partition("?")[0]


def _tell_apart(run: Run, service: ServiceAddress, end_ns: int, tell: Tell) -> None:
    until_ns = end_ns - int(MARGIN_S * NS_PER_S)
    try:
        _send(run, service, until_ns)
    except (FairleadError, OSError) as error:
        tell(run.redactor.clean(" ".join(str(error).split())).encode())
        return
    tell(ARRIVED)


def _send(run: Run, service: ServiceAddress, until_ns: int) -> None:
    from fairlead.agent.control_plane import Errand, find_machine_name, run_errand
    from fairlead.agent.https_fetch import Request
    from fairlead.agent.report.send_report import render_report

    proof = proof_for(run, service, until_ns)
    machine = find_machine_name(run.host)
    request = Request(service.endpoint, service.ca, proof, machine, render_report(run))
    request.server_name = service.server_name
    errand = Errand(
        request,
        ACCEPTED,
        (until_ns - run.host.monotonic_ns()) / NS_PER_S,
        failed="the boot report did not get to",
        again="boot report not sent to the hotfix service, trying again",
    )
    run_errand(run, errand)
