"""
The values of a node config that no log, event, error or record may show.

A secret also hides in other spellings: JSON escapes, base64 (also as part of a longer text,
where its position changes every character), the lines of a key. Spellings shorter than
MIN_LENGTH are left out: replacing them would blank unrelated text and so point at the secret.
"""

from __future__ import annotations

import binascii

from fairlead.contract.json_text import encode_json
from fairlead.contract.node_config import NodeConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Fields whose whole value is secret. Of every other text, what a URL carries as its password
# or signature is: proxies, download addresses and commands may all hold one.
SECRET_PATHS = (
    "auth_config.service_principal_secret",
    "bootstrapping_config.tls_bootstrapping_token",
    "custom_cloud_config.custom_env_json_content",
    "custom_search_domain_config.realm_password",
    "kubelet_config.kubelet_client_key",
)
# The setting that holds the pull secret of a pool: the object of a Docker config file.
PULL_SECRET = "pullSecret.content"  # noqa: S105 - a setting's name
MIN_LENGTH = 6
SIGNATURE = "sig="  # of a storage URL that lets its holder in
URL_ENDS = " \t\r\n\"'<>;"
BASE64_BLOCK = 3  # bytes that four characters stand for


def secrets_of(config: NodeConfig) -> list[str]:
    """Return every spelling to remove from text, longest first, so that none leaves a rest."""
    found = {config.text(path) for path in SECRET_PATHS}
    found.update(_login_secrets_of(config.settings.get(PULL_SECRET)))
    for text in _texts_in([config.fields, config.settings]):
        if "://" in text:
            found.update(_url_secrets_of(text))
    return spellings_of(found)


def spellings_of(secrets: Iterable[str]) -> list[str]:
    """Return every way these secrets may show up in a text, longest first."""
    spellings = {spelling for secret in secrets for spelling in _spellings_of(secret)}
    usable = (spelling for spelling in spellings if len(spelling) >= MIN_LENGTH)
    return sorted(usable, key=lambda spelling: (-len(spelling), spelling))


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)


def _login_secrets_of(value: object) -> Iterator[str]:
    for text in _texts_in(value):
        yield text
        # A login is USER:PASSWORD in base64, and a program may complain about the password alone.
        yield _decoded(text).partition(":")[2]


def _url_secrets_of(text: str) -> Iterator[str]:
    for rest in text.split("://")[1:]:
        url = rest
        for end in URL_ENDS:
            url = url.split(end, 1)[0]
        # The last @ ends the user's part: a password may hold one, and a slash, unescaped.
        user, at, _ = url.rpartition("@")
        password = user.partition(":")[2]
        if at and password:
            yield password
            yield _unescaped(password)
        for parameter in url.partition("?")[2].split("&"):
            if parameter.startswith(SIGNATURE):
                yield parameter[len(SIGNATURE) :]
                yield _unescaped(parameter[len(SIGNATURE) :])


def _unescaped(text: str) -> str:
    """Return the text with its %XX escapes decoded; one that is broken stays as it is."""
    first, *rest = text.encode().split(b"%")
    pieces = [first]
    for piece in rest:
        try:
            pieces.append(binascii.unhexlify(piece[:2].ljust(2, b"%")) + piece[2:])
        except binascii.Error:
            pieces.append(b"%" + piece)
    return b"".join(pieces).decode(errors="replace")


def _spellings_of(secret: str) -> Iterator[str]:
    for text in (secret, secret.strip(), _decoded(secret)):
        yield text
        yield encode_json(text)[1:-1]
        yield encode_json(text, ascii_only=False)[1:-1]
        yield from _base64_cores_of(text.encode("utf-8", "surrogateescape"))
        # Logs break text at newlines. The first and last line of a key are no secret.
        if "\n" in text:
            yield from (line for line in text.splitlines() if not line.startswith("-----"))


def _decoded(secret: str) -> str:
    """Return the text behind a secret that is itself base64, or the secret."""
    try:
        decoded = binascii.a2b_base64(secret.encode("utf-8", "surrogateescape")).decode()
    except ValueError:  # not base64, or not text
        return secret
    return decoded if decoded.isprintable() or decoded.startswith("-----") else secret


def _base64_cores_of(secret: bytes) -> Iterator[str]:
    """
    Return what base64 of any text around the secret must contain, for its three positions.

    At each position the first and last character may also depend on the neighbours and are
    left out.
    """
    yield binascii.b2a_base64(secret, newline=False).decode().rstrip("=")
    for before in range(BASE64_BLOCK):
        lead = (0, 2, 3)[before]  # characters that the bytes in front have a part in
        whole = (before + len(secret)) * 8 // 6  # characters that need no byte behind
        padded = binascii.b2a_base64(b"\0" * before + secret, newline=False).decode()
        yield padded[lead:whole]
