"""
The boot document of a machine that fetches its node config: whom to ask, and with what proof.

User data carries it, the agent reads it. The addresses are whole: the agent adds nothing to them.
The certificate authority is the only one that is trusted for these requests, and the token goes
to both addresses.
"""

from __future__ import annotations

from fairlead.contract.json_text import Pairs, encode_json, parse_json, plain
from fairlead.contract.proto_scalar import kind_of
from fairlead.errors import InputError

FORMAT = 1

# From the first try to giving up. A token that its service does not know yet is known within
# seconds, a service that restarts is back within a minute or two.
DEFAULT_DEADLINE_S = 300
LONGEST_DEADLINE_S = 3600

HTTPS = "https://"
HTTPS_PORT = 443
LARGEST_PORT = 65535
LONGEST_PORT = 5  # digits
LONGEST_LABEL = 63  # characters between two dots of a host name

PEM_START = "-----BEGIN CERTIFICATE-----"

# RFC 6750, b64token: none of these can end a header line.
BEARER_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="


class BootDocument:
    """
    Where to fetch the node config, and where to send the boot report.

    `ca` is PEM text; the deadline is for all tries of fetching together; `report` '' means that
    nobody wants the report.
    """

    __slots__ = ("ca", "deadline_s", "endpoint", "report", "token")

    def __init__(
        self,
        endpoint: str,
        ca: str,
        token: str,
        deadline_s: float = DEFAULT_DEADLINE_S,
        report: str = "",
    ) -> None:
        self.endpoint = endpoint
        self.ca = ca
        self.token = token
        self.deadline_s = deadline_s
        self.report = report
        _refuse_unusable(self)


def parse_boot_document(text: bytes) -> BootDocument:
    """Return the document. Raises InputError by field; fields of later formats are ignored."""
    value = parse_json(text)
    if not isinstance(value, Pairs):
        raise InputError(f"found {kind_of(value)}, expected an object")
    fields = plain(value)
    for name in ("endpoint", "ca", "token"):
        if not isinstance(fields.get(name), str):
            raise InputError(f"found {kind_of(fields.get(name))}, expected text", field=name)
    deadline_s = fields.get("deadline_s", DEFAULT_DEADLINE_S)
    if isinstance(deadline_s, bool) or not isinstance(deadline_s, (int, float)):
        raise InputError(f"found {kind_of(deadline_s)}, expected seconds", field="deadline_s")
    report = fields.get("report", "")
    if not isinstance(report, str):
        raise InputError(f"found {kind_of(report)}, expected text", field="report")
    return BootDocument(fields["endpoint"], fields["ca"], fields["token"], deadline_s, report)


def render_boot_document(document: BootDocument) -> bytes:
    """Return the text that parses to the same document."""
    fields: dict[str, object] = {
        "format": FORMAT,
        "endpoint": document.endpoint,
        "ca": document.ca,
        "token": document.token,
        "deadline_s": document.deadline_s,
    }
    if document.report:
        fields["report"] = document.report
    return encode_json(fields, indent=2).encode() + b"\n"


def address_of(address: str, field: str = "endpoint") -> tuple[str, int, str]:
    """
    Return host, port and path of an https:// address. Raises InputError that names the field.

    A name and password in the address, a fragment and anything that could end a header line are
    refused: the token is the one credential.
    """
    rest = address.removeprefix(HTTPS)
    if rest == address or not address.isascii() or not address.isprintable():
        raise InputError("must be an https:// address in plain ASCII", field=field)
    if " " in address or "#" in address:
        raise InputError("must not hold a space or a fragment (#)", field=field)
    authority, slash, path = rest.partition("/")
    if "@" in authority or "?" in authority or "\\" in authority:
        raise InputError("must be https://HOST[:PORT]/PATH", field=field)
    name, port = _name_and_port_of(authority)
    if not _is_host(name) or not port.isdigit() or len(port) > LONGEST_PORT:
        raise InputError("must be https://HOST[:PORT]/PATH", field=field)
    if not 0 < int(port) <= LARGEST_PORT:
        raise InputError(f"must have a port from 1 to {LARGEST_PORT}", field=field)
    return name, int(port), slash + path or "/"


def _name_and_port_of(authority: str) -> tuple[str, str]:
    name, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        name, port = authority, str(HTTPS_PORT)
    return name.strip("[]"), port


def _is_host(name: str) -> bool:
    """Say whether a resolver takes this: it refuses other labels with an error of its own kind."""
    return all(0 < len(label) <= LONGEST_LABEL for label in name.removesuffix(".").split("."))


def _refuse_unusable(document: BootDocument) -> None:
    address_of(document.endpoint)
    if document.report:
        address_of(document.report, "report")
    if PEM_START not in document.ca or not document.ca.isascii():
        raise InputError(f"holds no certificate ({PEM_START})", field="ca")
    if not document.token or document.token.strip(BEARER_CHARACTERS):
        raise InputError(
            "must be letters, digits and -._~+/= only, and not empty",
            field="token",
            hint="a bearer token as in RFC 6750",
        )
    if not 1 <= document.deadline_s <= LONGEST_DEADLINE_S:
        raise InputError(f"must be 1 to {LONGEST_DEADLINE_S} seconds", field="deadline_s")
