"""
The digest that tells one document from another.

`hashlib` costs 4 ms because it loads OpenSSL; the interpreter's own implementation is the same
function under a name that moved in Python 3.12, so hashlib is the fallback.
"""

from __future__ import annotations

import sys

try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import sha256


def sha256_of(*parts: bytes) -> str:
    """Return the hex digest of the parts, one after the other."""
    state = sha256()
    for part in parts:
        state.update(part)
    digest: str = state.hexdigest()
    return digest
