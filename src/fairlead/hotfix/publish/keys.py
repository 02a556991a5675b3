"""
The keys of hotfixes, as files: who may change what, and what each of them is worth to a thief.

root-1.pem, root-2.pem, ...  say which keys count; a threshold of them must agree. Offline, apart.
release.pem                  says which packages may be installed. Needed to publish.
online.pem                   says what is newest. Lies in the depot, since it signs every few hours.

ECDSA on P-256, since the `openssl` of every supported image verifies it. The files are plain
PKCS #8, readable by their owner alone.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner

from fairlead.errors import InputError
from fairlead.whole_file import write_whole

ROOT_KEYS = 3
THRESHOLD = 2

RELEASE = "release.pem"
ONLINE = "online.pem"


def root_key_name(number: int) -> str:
    """Return the file name of a root key; people count from one."""
    return f"root-{number}.pem"


def make_key(file: Path) -> CryptoSigner:
    """Write a new private key, readable by its owner alone; one that is there is never replaced."""
    if file.exists() or file.is_symlink():
        raise InputError(f"{file} exists already", hint="move it away, or name another directory")
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_whole(file, text)
    return CryptoSigner(key)


def read_key(file: Path) -> CryptoSigner:
    """Return the signer of a key file. Raises InputError, which never holds what was found."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the key {file}: {error.strerror}") from error
    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError) as error:
        raise InputError(f"{file} holds no private key in PEM without a password") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise InputError(f"{file} holds a key of another kind, expected ECDSA on P-256")
    return CryptoSigner(key)


def read_root_keys(directory: Path) -> list[CryptoSigner]:
    """Return every root key in a directory; each holder may have a directory with one."""
    found = [read_key(file) for file in sorted(directory.glob("root-*.pem"))]
    if not found:
        raise InputError(
            f"{directory} holds no root-N.pem", hint="name the directory of the root keys"
        )
    return found
