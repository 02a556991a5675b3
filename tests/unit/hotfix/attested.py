"""Documents of clouds, of their real shapes, signed by a chain of the tests' own; and mutations."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from asn1crypto import cms, x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from certificate_chain import Issued, Wanted, authority, issue, rsa_key
from fairlead.hotfix.service.attestation.aws import AwsSettings, AwsVerifier
from fairlead.hotfix.service.attestation.azure import AzureSettings, AzureVerifier
from fairlead.hotfix.service.attestation.evidence import url_encoded
from fairlead.hotfix.service.attestation.gcp import GcpSettings, GcpVerifier, parse_keys
from fairlead.hotfix.service.attestation.join import (
    Joining,
    JoinSettings,
    JoinVerifier,
    SpentInMemory,
    issue_token,
)

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
SUBSCRIPTION = "5f130ffc-0a3e-4795-b691-4f56a12a5547"
AUDIENCE = "https://hotfix.example"
JOIN_KEY = b"k" * 32


@dataclass(frozen=True)
class AzureChain:
    root: Issued
    between: Issued
    signer: Issued


@cache
def azure_chain() -> AzureChain:
    """As of Azure: a public root, an issuing authority, a signer for two names."""
    root = authority("Test Global Root", rsa_key())
    between = issue(Wanted("Test Azure RSA TLS Issuing CA", is_authority=True), root, rsa_key())
    names = ("metadata.azure.com", "southcentralus.metadata.azure.com")
    return AzureChain(root, between, issue(Wanted(names[0], names), between, rsa_key()))


@cache
def other_signer() -> Issued:
    """Somebody else, with the same names."""
    names = ("metadata.azure.com", "southcentralus.metadata.azure.com")
    return issue(Wanted(names[0], names), authority("Another Root", rsa_key()), rsa_key())


@cache
def aws_signer() -> Issued:
    """As of AWS: a certificate that signs itself."""
    return issue(Wanted("Test Web Services"), key=rsa_key())


@cache
def google_key() -> RSAPrivateKey:
    key = rsa_key()
    assert isinstance(key, RSAPrivateKey)
    return key


AZURE_DOCUMENT: dict[str, Any] = {
    "licenseType": "",
    "nonce": "20261118-180000",
    "plan": {"name": "", "product": "", "publisher": ""},
    "sku": "22_04-lts-gen2",
    "subscriptionId": SUBSCRIPTION,
    "timeStamp": {
        "createdOn": "11/18/26 10:00:00 -0000",
        "expiresOn": "11/18/26 16:00:00 -0000",
    },
    "vmId": "bd8e7443-24a0-41f3-b949-8baf4fd1c573",
}

AWS_DOCUMENT: dict[str, Any] = {
    "accountId": "123456789012",
    "architecture": "x86_64",
    "availabilityZone": "us-west-2b",
    "billingProducts": None,
    "devpayProductCodes": None,
    "marketplaceProductCodes": ["1abc2defghijklm3nopqrs4tu"],
    "imageId": "ami-5fb8c835",
    "instanceId": "i-1234567890abcdef0",
    "instanceType": "t2.micro",
    "kernelId": None,
    "pendingTime": "2026-11-18T11:55:11Z",
    "privateIp": "10.158.112.84",
    "ramdiskId": None,
    "region": "us-west-2",
    "version": "2017-09-30",
}

GCP_CLAIMS: dict[str, Any] = {
    "iss": "https://accounts.google.com",
    "iat": 1795001400,
    "exp": 1795005000,
    "aud": AUDIENCE,
    "sub": "107517467455664443766",
    "azp": "107517467455664443766",
    "email": "node@example.iam.gserviceaccount.com",
    "email_verified": True,
    "google": {
        "compute_engine": {
            "project_id": "fleet-1",
            "project_number": 739419398126,
            "zone": "us-west1-b",
            "instance_id": "152986662232938449",
            "instance_name": "node-1",
            "instance_creation_timestamp": 1794999000,
        }
    },
}


def signature(key: Any, covered: bytes, digest: Any = None) -> bytes:
    made: bytes = key.sign(covered, PKCS1v15(), digest or hashes.SHA256())
    return made


def azure_message(content: bytes, signer: Issued, key: Any = None) -> bytes:
    """CMS as Azure makes it: the signature's name as digest, no attributes, one certificate."""
    certificate = x509.Certificate.load(signer.der)
    information = {
        "version": "v1",
        "sid": {
            "issuer_and_serial_number": {
                "issuer": certificate.issuer,
                "serial_number": certificate.serial_number,
            }
        },
        "digest_algorithm": {"algorithm": "sha256"},
        "signature_algorithm": {"algorithm": "rsassa_pkcs1v15"},
        "signature": signature(key or signer.key, content),
    }
    data = cms.SignedData(
        {
            "version": "v1",
            "digest_algorithms": [{"algorithm": "sha256"}],
            "encap_content_info": {"content_type": "data", "content": content},
            "certificates": [certificate],
            "signer_infos": [information],
        }
    )
    message: bytes = cms.ContentInfo({"content_type": "signed_data", "content": data}).dump()
    # asn1crypto knows no signature in the place of a digest: its name is put there as bytes.
    return renamed_digests(message)


SHA256_NULL_NAME = bytes.fromhex("300d06096086480165030402010500")
SHA256_RSA_NAME = bytes.fromhex("300d06092a864886f70d01010b0500")


def renamed_digests(message: bytes) -> bytes:
    """Put another name into both places of the digest; it has the same length."""
    assert message.count(SHA256_NULL_NAME) == 2, message.count(SHA256_NULL_NAME)
    return message.replace(SHA256_NULL_NAME, SHA256_RSA_NAME)


def aws_message(content: bytes, signer: Issued, key: Any = None) -> bytes:
    """CMS as AWS makes it: signed attributes, no certificate, outer elements without a length."""
    certificate = x509.Certificate.load(signer.der)
    hasher = hashes.Hash(hashes.SHA256())
    hasher.update(content)
    attributes = cms.CMSAttributes(
        [
            {"type": "content_type", "values": ["data"]},
            {"type": "signing_time", "values": [cms.Time({"utc_time": NOW})]},
            {"type": "message_digest", "values": [hasher.finalize()]},
        ]
    )
    information = cms.SignerInfo(
        {
            "version": "v1",
            "sid": {
                "issuer_and_serial_number": {
                    "issuer": certificate.issuer,
                    "serial_number": certificate.serial_number,
                }
            },
            "digest_algorithm": {"algorithm": "sha256"},
            "signed_attrs": attributes,
            "signature_algorithm": {"algorithm": "rsassa_pkcs1v15"},
            "signature": signature(key or signer.key, attributes.dump()),
        }
    )
    signers: bytes = cms.SignerInfos([information]).dump()
    digests = b"\x31\x0f" + SHA256_NULL_NAME
    data = bytes.fromhex("06092a864886f70d010701")
    octets = b"\x24\x80\x04\x82" + len(content).to_bytes(2, "big") + content + b"\0\0"
    encapsulated = b"\x30\x80" + data + b"\xa0\x80" + octets + b"\0\0" + b"\0\0"
    inner = b"\x30\x80\x02\x01\x01" + digests + encapsulated + signers + b"\0\0"
    return b"\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80" + inner + b"\0\0" * 2


def jwt(claims: dict[str, Any], header: dict[str, Any] | None = None, key: Any = None) -> str:
    head = header if header is not None else {"alg": "RS256", "kid": "key-1", "typ": "JWT"}
    said = ".".join(url_encoded(json.dumps(part).encode()) for part in (head, claims))
    return f"{said}.{url_encoded(signature(key or google_key(), said.encode()))}"


def google_keys() -> bytes:
    numbers = google_key().public_key().public_numbers()
    entry = {
        "kty": "RSA",
        "use": "sig",
        "alg": "RS256",
        "kid": "key-1",
        "n": url_encoded(numbers.n.to_bytes(256, "big")),
        "e": "AQAB",
    }
    return json.dumps({"keys": [entry]}).encode()


def azure_proof(document: dict[str, Any] | None = None, signer: Issued | None = None) -> str:
    content = json.dumps(document or AZURE_DOCUMENT, separators=(",", ":")).encode()
    return b64encode(azure_message(content, signer or azure_chain().signer)).decode()


def aws_proof(document: dict[str, Any] | None = None, signer: Issued | None = None) -> str:
    content = json.dumps(document or AWS_DOCUMENT, indent=2).encode()
    return b64encode(aws_message(content, signer or aws_signer())).decode()


def aws_plain_proof(document: dict[str, Any] | None = None) -> str:
    content = json.dumps(document or AWS_DOCUMENT, indent=2).encode()
    made = signature(aws_signer().key, content)
    return f"{b64encode(content).decode()}.{b64encode(made).decode()}"


def join_proof(**changes: Any) -> str:
    joining = Joining(
        machine="workers-1",
        region="lab",
        until=datetime(2026, 11, 19, tzinfo=UTC),
        nonce="8d1f",
        pool="workers",
    )
    return issue_token(replace(joining, **changes), JOIN_KEY)


AZURE_SETTINGS = {
    "subscriptions": frozenset([SUBSCRIPTION]),
    "regions": frozenset(["southcentralus"]),
}


def azure_verifier(**changes: Any) -> AzureVerifier:
    chain = azure_chain()
    fields: dict[str, Any] = {
        "roots": chain.root.pem,
        "intermediates": chain.between.pem,
        "subscriptions": frozenset([SUBSCRIPTION]),
        "regions": frozenset(["southcentralus"]),
    }
    return AzureVerifier(AzureSettings(**{**fields, **changes}))


def aws_verifier(**changes: Any) -> AwsVerifier:
    fields: dict[str, Any] = {
        "certificates": {"us-west-2": aws_signer().pem},
        "accounts": frozenset(["123456789012"]),
        "oldest": timedelta(days=30),
    }
    return AwsVerifier(AwsSettings(**{**fields, **changes}))


def gcp_verifier(**changes: Any) -> GcpVerifier:
    keys = parse_keys(google_keys())
    fields: dict[str, Any] = {
        "audience": AUDIENCE,
        "keys": lambda: keys,
        "projects": frozenset(["fleet-1"]),
        "regions": frozenset(["us-west1"]),
    }
    return GcpVerifier(GcpSettings(**{**fields, **changes}))


def join_verifier(**changes: Any) -> JoinVerifier:
    fields: dict[str, Any] = {
        "keys": (JOIN_KEY,),
        "regions": frozenset(["lab"]),
        "spent": SpentInMemory(),
    }
    return JoinVerifier(JoinSettings(**{**fields, **changes}))


def mutated(proof: str, random: Random) -> str:
    """Return another text: bytes changed below the encoding, elements moved, or text changed."""
    while True:
        found = random.choice(MUTATIONS)(proof, random)
        if found != proof:
            return found


def _in_text(proof: str, random: Random) -> str:
    at = random.randrange(len(proof))
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=. \n"
    kinds = (proof[:at] + random.choice(letters) + proof[at + 1 :], proof[:at] + proof[at + 1 :],
             proof[:at] + random.choice(letters) + proof[at:], proof[:at])  # fmt: skip
    return random.choice(kinds)


def _below(change: Callable[[bytes, Random], bytes]) -> Callable[[str, Random], str]:
    """Apply a change to the bytes of one of the parts of a proof."""

    def changed(proof: str, random: Random) -> str:
        parts = proof.split(".")
        at = random.randrange(len(parts))
        is_url = len(parts) == 3
        text = parts[at].replace("-", "+").replace("_", "/")
        try:
            data = b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return proof
        new = change(data, random)
        parts[at] = url_encoded(new) if is_url else b64encode(new).decode()
        return ".".join(parts)

    return changed


def _flip(data: bytes, random: Random) -> bytes:
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def _cut(data: bytes, random: Random) -> bytes:
    start = random.randrange(len(data))
    end = min(len(data), start + random.choice((1, 2, 16, 300)))
    return random.choice((data[:start] + data[end:], data[:end] + data[start:]))


def _digits(data: bytes, random: Random) -> bytes:
    """Change one digit or letter of the document inside."""
    places = [at for at, byte in enumerate(data) if chr(byte).isalnum()]
    out = bytearray(data)
    at = random.choice(places)
    out[at] = random.choice([byte for byte in b"0123456789abcdefXYZ" if byte != out[at]])
    return bytes(out)


def _elements(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Every element of DER below here: where it starts, where its content does, where it ends."""
    at = start
    while at + 2 <= end:
        first, length = at + 2, data[at + 1]
        if length > 0x80:
            count = length - 0x80
            first, length = first + count, int.from_bytes(data[first : first + count], "big")
        stop = first + length if data[at + 1] != 0x80 else end
        if stop > end:
            return
        yield at, first, stop
        if data[at] & 0x20:
            yield from _elements(data, first, stop)
        at = stop


def _restructured(data: bytes, random: Random) -> bytes:
    """Take an element away, write it twice, put another in its place, or empty it; lengths fit."""
    found = list(_elements(data, 0, len(data)))
    if not found:
        return data
    start, first, end = random.choice(found)
    other = random.choice(found)
    tag, content, whole = data[start : start + 1], data[first:end], data[start:end]
    long_length = b"\x84" + len(content).to_bytes(4, "big")
    instead = (
        b"",
        whole * 2,
        data[other[0] : other[2]],
        tag + b"\0",
        bytes([tag[0] ^ 1]) + whole[1:],
        tag + long_length + content,
    )
    new = random.choice(instead)
    return _with_parents(data, found, (start, end), new)


def _with_parents(
    data: bytes, found: list[tuple[int, int, int]], place: tuple[int, int], new: bytes
) -> bytes:
    """Put it there, and write the lengths of all that it is inside of anew."""
    start, end = place
    parents = [one for one in found if one[0] < start and one[2] >= end and one[1] <= start]
    for outer, first, stop in sorted(parents, key=lambda one: -one[0]):
        if data[outer + 1] == 0x80:
            new, start, end = data[outer:start] + new + data[end:stop], outer, stop
            continue
        content = data[first:start] + new + data[end:stop]
        size = len(content)
        width = (size.bit_length() + 7) // 8
        length = (
            bytes([size]) if size < 0x80 else bytes([0x80 | width]) + size.to_bytes(width, "big")
        )
        new, start, end = data[outer : outer + 1] + length + content, outer, stop
    return data[:start] + new + data[end:]


MUTATIONS: tuple[Callable[[str, Random], str], ...] = (
    _in_text, _below(_flip), _below(_flip), _below(_cut), _below(_digits), _below(_restructured),
    _below(_restructured),
)  # fmt: skip
