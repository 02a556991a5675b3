"""
The metadata service of a cloud: what proves to a hotfix service which machine this is.

It is there before any other network. What it says is a secret: it proves this machine.
"""

from __future__ import annotations

from fairlead.agent.hotfix.asking.service_file import AWS, AZURE, GCP
from fairlead.agent.network.metadata_request import Question
from fairlead.contract.boot_document import BEARER_CHARACTERS
from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.errors import FairleadError, InputError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.host import Host

# spec/hotfix.md section 2.
ATTEMPTS = 2
ATTEMPT_S = 2.0

# Azure's document has 6 KiB in base64; servers take headers of 16 KiB or little more.
LONGEST_PROOF = 64 * 1024

OK = 200

AZURE_PATH = "/metadata/attested/document?api-version=2025-04-07"
AWS_TOKEN_PATH = "/latest/api/token"  # noqa: S105 - where one is had
AWS_PATH = "/latest/dynamic/instance-identity/rsa2048"
GCP_PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"

# RFC 3986: what needs no escape in a query.
PLAIN_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


def find_proof(host: Host, cloud: str, audience: str, end_ns: int) -> str:
    """
    Return what proves this machine on this cloud.

    audience: for whom, where the cloud asks. end_ns: on the host's monotonic clock. Raises
    UnavailableError with what the last attempt met.
    """
    cause = ""
    for _ in range(ATTEMPTS):
        left_s = (end_ns - host.monotonic_ns()) / 1e9
        if left_s <= 0:
            break
        try:
            return _usable(_ask(host, cloud, audience, min(left_s, ATTEMPT_S)))
        except (OSError, FairleadError) as error:
            cause = str(error) or type(error).__name__
    raise UnavailableError(f"no proof from the metadata service of {cloud}: {cause or 'no time'}")


def _ask(host: Host, cloud: str, audience: str, deadline_s: float) -> str:
    if cloud == AZURE:
        body = _answer(host, Question(AZURE_PATH, {"Metadata": "true"}), deadline_s)
        document = parse_json(body)
        signature = plain(document).get("signature") if isinstance(document, Pairs) else None
        if not isinstance(signature, str):
            raise InputError("found no text", field="signature")
        return signature
    if cloud == AWS:
        return _ask_aws(host, deadline_s)
    if cloud == GCP:
        path = f"{GCP_PATH}?audience={_quoted(audience)}&format=full"
        headers = {"Metadata-Flavor": "Google"}
        asked = Question(path, headers, host="metadata.google.internal")
        return _answer(host, asked, deadline_s).decode("ascii", "replace")
    raise InputError(f"no metadata service is known for {cloud!a}")


def _ask_aws(host: Host, deadline_s: float) -> str:
    """Both requests share one attempt."""
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token = _answer(host, Question(AWS_TOKEN_PATH, lifetime, method="PUT"), deadline_s / 2)
    shown = {"X-aws-ec2-metadata-token": _usable(token.decode("ascii", "replace"))}
    document = _answer(host, Question(AWS_PATH, shown), deadline_s / 2)
    return document.decode("ascii", "replace")


def _answer(host: Host, question: Question, deadline_s: float) -> bytes:
    status, body = host.ask_metadata(question, deadline_s=deadline_s)
    if status != OK:
        raise UnavailableError(f"status {status}")
    return body


def _usable(proof: str) -> str:
    """Return the proof on one line, if a header can carry it."""
    joined = "".join(proof.split())
    if not joined or joined.strip(BEARER_CHARACTERS) or len(joined) > LONGEST_PROOF:
        raise InputError(f"found no base64 or JWT of at most {LONGEST_PROOF} characters")
    return joined


def _quoted(text: str) -> str:
    return "".join(
        character if character in PLAIN_CHARACTERS else f"%{ord(character):02X}"
        for character in text
    )
