"""
The boot document of a machine that fetches its node config: whom to ask, and with what proof.

User data carries it, the agent reads it. The address is whole: the agent adds nothing to it. The
certificate authority is the only one that is trusted for this one request.
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

PEM_START = "-----BEGIN CERTIFICATE-----"

# RFC 6750, b64token: none of these can end a header line.
BEARER_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="


class BootDocument:
    """Where to fetch the node config. `ca` is PEM text; the deadline is for all tries together."""

    __slots__ = ("ca", "deadline_s", "endpoint", "token")

    def __init__(
        self, endpoint: str, ca: str, token: str, deadline_s: float = DEFAULT_DEADLINE_S
    ) -> None:
        self.endpoint = endpoint
        self.ca = ca
        self.token = token
        self.deadline_s = deadline_s
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
    return BootDocument(fields["endpoint"], fields["ca"], fields["token"], deadline_s)


def render_boot_document(document: BootDocument) -> bytes:
    """Return the text that parses to the same document."""
    fields = {
        "format": FORMAT,
        "endpoint": document.endpoint,
        "ca": document.ca,
        "token": document.token,
        "deadline_s": document.deadline_s,
    }
    return encode_json(fields, indent=2).encode() + b"\n"


def address_of(endpoint: str) -> tuple[str, int, str]:
    """
    Return host, port and path of an https:// address. Raises InputError.

    A name and password in the address, a fragment and anything that could end a header line are
    refused: the token is the one credential.
    """
    rest = endpoint.removeprefix(HTTPS)
    if rest == endpoint or not endpoint.isascii() or not endpoint.isprintable():
        raise InputError("must be an https:// address in plain ASCII", field="endpoint")
    if " " in endpoint or "#" in endpoint:
        raise InputError("must not hold a space or a fragment (#)", field="endpoint")
    authority, slash, path = rest.partition("/")
    if "@" in authority or "?" in authority or "\\" in authority:
        raise InputError("must be https://HOST[:PORT]/PATH", field="endpoint")
    name, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        name, port = authority, str(HTTPS_PORT)
    if not name.strip("[]") or not port.isdigit() or not 0 < int(port[:6]) <= LARGEST_PORT:
        raise InputError("must be https://HOST[:PORT]/PATH", field="endpoint")
    return name.strip("[]"), int(port), slash + path or "/"


def _refuse_unusable(document: BootDocument) -> None:
    address_of(document.endpoint)
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
