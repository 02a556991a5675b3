"""
What the names in a pool's document point to, added to its node config when it is served.

A revision holds digests of it and nothing more: no secret may lie in one, and a login that is
renewed must reach the next machine that boots. A machine gets what is there at that moment.
"""

import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.contract.json_text import Pairs, encode_json, parse_json, plain
from fairlead.contract.node_secrets import PULL_SECRET
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json

BEGIN = "-----BEGIN CERTIFICATE-----"
END = "-----END CERTIFICATE-----"

# Bytes of a text without a character: its quotes.
EMPTY_TEXT = 2

# How a node config names what is added here; once it is there, the name says nothing.
PULL_SECRET_NAME = "pullSecret.name"  # noqa: S105 - a leaf's name
TRUST_BUNDLE_NAME = "trustBundle.name"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PoolSecrets:
    """
    The content of the files that a pool names, None for those that it does not name.

    problem: why one cannot be read, or ''; then nothing is served.
    """

    pull_secret: bytes | None = None
    trust_bundle: bytes | None = None
    problem: str = ""


def named_in(document: Json, field: str) -> str:
    """Return the name in `spec.FIELD.name`, or ''. A document that is wrong there names nothing."""
    for name in ("spec", field, "name"):
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """
    How many bytes the secrets of a pool take in what its machines are served; never what they hold.

    is_known: whoever asks may read them.
    """

    pull_secret: int = 0
    trust_bundle: int = 0
    is_known: bool = True


NOTHING_ADDED = Added()


def put_secrets(document: dict[str, Any], secrets: PoolSecrets) -> None:
    """Add them to a node config. Raises InputError, which never holds what was found."""
    if secrets.problem:
        raise InputError(secrets.problem)
    if secrets.pull_secret is not None:
        _put_logins(document, _logins_of(secrets.pull_secret))
    if secrets.trust_bundle is not None:
        _put_certificates(document, _certificates_of(secrets.trust_bundle))


def put_stand_ins(document: dict[str, Any], added: Added) -> int:
    """Add two bytes in the place of each secret; return how many more those have."""
    if added.pull_secret:
        _put_logins(document, "")
    if added.trust_bundle:
        _put_certificates(document, [""])
    counts = (added.pull_secret, added.trust_bundle)
    return sum(count - EMPTY_TEXT for count in counts if count)


def measured(field: str, content: bytes) -> tuple[int, str]:
    """
    Return how many bytes of what is served hold what a field of a pool names: 0 if no machine could
    use it, with why, and what is expected.
    """
    try:
        if field == "pullSecret":
            return _bytes_of(_put_logins, _logins_of(content), ""), ""
        return _bytes_of(_put_certificates, _certificates_of(content), [""]), ""
    except InputError as error:
        return 0, error.problem + (f" ({error.hint})" if error.hint else "")
    except UnicodeEncodeError:
        # JSON can spell half a character; no machine can be given one.
        return 0, "holds text that is not Unicode"


def _bytes_of(put: Callable[[dict[str, Any], Any], None], value: Any, empty: Any) -> int:
    """Return how many bytes a value has where it is put in the place of `empty`."""
    sizes = []
    for one in (value, empty):
        document: dict[str, Any] = {}
        put(document, one)
        sizes.append(len(encode_json(document, indent=2, ascii_only=False).encode()))
    return sizes[0] - sizes[1] + EMPTY_TEXT


def _put_logins(document: dict[str, Any], logins: object) -> None:
    settings = _found(document, "fairlead", {})
    settings[PULL_SECRET] = logins
    settings.pop(PULL_SECRET_NAME, None)


def _put_certificates(document: dict[str, Any], certificates: list[str]) -> None:
    trusted = _found(document, "custom_ca_certs", [])
    trusted += certificates
    _found(document, "fairlead", {}).pop(TRUST_BUNDLE_NAME, None)


def _found(document: dict[str, Any], name: str, empty: Any) -> Any:
    found = document.setdefault(name, empty)
    if not isinstance(found, type(empty)):
        raise InputError("is of another kind than expected", field=name)
    return found


def _logins_of(content: bytes) -> object:
    expected = 'expected a Docker config file, {"auths": {REGISTRY: {"auth": ...}}}'
    try:
        value = parse_json(content)
    except InputError:
        # What is wrong with the text would be told with some of it.
        raise InputError("is no JSON", field="spec.pullSecret", hint=expected) from None
    found = plain(value) if isinstance(value, Pairs) else {}
    if not isinstance(found.get("auths"), dict):
        raise InputError("holds no logins", field="spec.pullSecret", hint=expected)
    return found


def _certificates_of(content: bytes) -> list[str]:
    """Return each certificate on its own, as the contract has them: base64 of PEM."""
    found = []
    for part in content.decode("utf-8", "replace").split(BEGIN)[1:]:
        body, end, _ = part.partition(END)
        if not end:
            raise InputError("ends within a certificate", field="spec.trustBundle")
        pem = f"{BEGIN}{body}{END}\n".encode()
        found.append(binascii.b2a_base64(pem, newline=False).decode())
    if not found:
        raise InputError(
            "holds no certificate", field="spec.trustBundle", hint=f"expected PEM: {BEGIN} ..."
        )
    return found
