"""
Send what this run recorded to whom the boot document names, once the verdict is out.

Whether it arrives decides nothing: the outcome goes to the log only, and the record on the disk
is whole before the first try. Looking up a name is not part of the deadline, as in https_fetch.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.contract.boot_report import compact_fields, report_fields
from fairlead.contract.json_text import encode_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.run import Run

# For all tries together. The unit is "activating" for as long: deploy/node/units.
DEADLINE_S = 120.0

# What the payload service takes.
LARGEST_BODY = 64 * 1024

ACCEPTED = range(200, 300)


def send_report(run: Run) -> str:
    """
    Return in words that the report of this run arrived, or '' if nobody asked for it.

    Raises InputError, TrustError or UnavailableError if it did not.
    """
    text = find_file(run.host, run.layout.boot_document)
    if text is None:
        return ""
    from fairlead.agent.control_plane import Errand, request_of, run_errand
    from fairlead.contract.boot_document import parse_boot_document

    document = parse_boot_document(text)
    if not document.report:
        return ""
    body = render_report(run)
    errand = Errand(
        request_of(run, document, document.report, body),
        ACCEPTED,
        DEADLINE_S,
        failed="the boot report did not get to",
        again="boot report not sent, trying again",
    )
    _, tries = run_errand(run, errand)
    return f"{len(body)} bytes (tries: {tries})"


def render_report(run: Run) -> bytes:
    """Return the report of this run as JSON, at most LARGEST_BODY bytes and without secrets."""
    report = run.record.report
    for fields in (report_fields(report), compact_fields(report)):
        text = run.redactor.clean(encode_json(fields)).encode()
        if len(text) <= LARGEST_BODY:
            return text
    return text
