"""
What an image says of the hotfix service: /etc/fairlead/hotfix/service.json, every field optional.

wire: https or grpc. endpoint: an https:// address; of a grpc service only host and port count.
ca: PEM text. server_name: for whom its certificate must be, if not for the host of the endpoint.
attestation: azure, aws, gcp or join. Other names are for others, and passed over.
"""

from __future__ import annotations

from fairlead.agent.files import find_file
from fairlead.contract.boot_document import PEM_START, address_of
from fairlead.contract.json_text import Pairs, parse_json, plain
from fairlead.contract.proto_scalar import kind_of
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.agent.host import Host

DIRECTORY = "/etc/fairlead/hotfix"
SERVICE_FILE = f"{DIRECTORY}/service.json"

HTTPS, GRPC = "https", "grpc"
WIRES = ("", HTTPS, GRPC)
AZURE, AWS, GCP, JOIN = "azure", "aws", "gcp", "join"
ATTESTATIONS = ("", AZURE, AWS, GCP, JOIN)

TEXTS = ("wire", "endpoint", "ca", "server_name", "attestation")


class ServiceFile:
    """What the file says; '' where it says nothing."""

    __slots__ = TEXTS

    wire: str
    endpoint: str
    ca: str
    server_name: str
    attestation: str

    def __init__(self, fields: dict[str, Any] | None = None) -> None:
        found = fields or {}
        for name in TEXTS:
            value = found.get(name, "")
            if not isinstance(value, str):
                raise InputError(f"found {kind_of(value)}, expected text", field=name)
            setattr(self, name, value)
        _refuse_unusable(self)


def read_service_file(host: Host) -> ServiceFile:
    """Return what the image says. Raises InputError for a file that nobody can have meant."""
    text = find_file(host, SERVICE_FILE)
    if text is None:
        return ServiceFile()
    try:
        return _parsed(text)
    except InputError as error:
        raise InputError(
            f"{SERVICE_FILE} cannot be used: {error}", hint="correct it in the image"
        ) from error


def _parsed(text: bytes) -> ServiceFile:
    value = parse_json(text)
    if not isinstance(value, Pairs):
        raise InputError(f"found {kind_of(value)}, expected an object")
    return ServiceFile(plain(value))


def _refuse_unusable(file: ServiceFile) -> None:
    if file.wire not in WIRES:
        raise InputError(f"found {file.wire[:40]!a}, expected https or grpc", field="wire")
    if file.attestation not in ATTESTATIONS:
        raise InputError(
            f"found {file.attestation[:40]!a}, expected azure, aws, gcp or join",
            field="attestation",
        )
    if file.endpoint:
        address_of(file.endpoint)
        if PEM_START not in file.ca:
            raise InputError(f"holds no certificate ({PEM_START})", field="ca")
