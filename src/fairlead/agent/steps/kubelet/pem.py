"""
Certificates and keys of a node config: PEM text, either plain or once more in base64.

AKS sends base64; people paste PEM. Errors name the field and what was expected, never the value.
"""

from __future__ import annotations

import binascii

from fairlead.errors import InputError

CERTIFICATE = "CERTIFICATE"

# PKCS#8 says PRIVATE KEY, older tools RSA PRIVATE KEY or EC PRIVATE KEY.
PRIVATE_KEY = "PRIVATE KEY"


def pem_of(value: str, field: str, kind: str) -> bytes:
    """Return PEM bytes with Unix line ends that hold at least one whole block of this kind."""
    text = value.encode("utf-8", "replace")
    if b"-----BEGIN" not in text:
        text = _decoded(value, field)
    text = text.replace(b"\r\n", b"\n").strip() + b"\n"
    end = kind.encode() + b"-----"
    begins = [line for line in text.split(b"\n") if line.startswith(b"-----BEGIN ")]
    ends = [line for line in text.split(b"\n") if line.startswith(b"-----END ")]
    if not any(line.endswith(end) for line in begins) or len(begins) != len(ends):
        raise InputError(
            f"no whole PEM block of kind {kind}", field=field, hint="expected PEM or base64 of PEM"
        )
    return text


def _decoded(value: str, field: str) -> bytes:
    try:
        return binascii.a2b_base64(value)
    except ValueError as error:
        raise InputError(
            "neither PEM nor base64", field=field, hint="expected PEM or base64 of PEM"
        ) from error
