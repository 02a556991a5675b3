"""The certificate of the gRPC server: two files, read again when they are renewed."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

from fairlead.errors import InputError

# Bytes. A chain of a few certificates and a key.
LARGEST_FILE = 256 * 1024

_Stamp = tuple[tuple[int, int, int], ...]


class CertificatePair:
    """A chain and its key, PEM. A pair that does not fit, as in mid-renewal, is not taken over."""

    def __init__(self, certificate_file: Path, key_file: Path) -> None:
        self.problem = ""
        self._files = (certificate_file, key_file)
        self._seen: _Stamp = ()
        self._lock = threading.Lock()

    def read(self) -> tuple[bytes, bytes]:
        """Return chain and key. Raises InputError if they cannot be used."""
        with self._lock:
            try:
                stamp = self._stamp()
                pair = self._read()
            except (OSError, ValueError) as error:
                raise InputError(
                    f"cannot serve TLS with {self._files[0]} and {self._files[1]}: {_cause(error)}",
                    hint="expected a certificate chain and its key, PEM, readable by this user",
                ) from None
            self._seen = stamp
            self.problem = ""
            return pair

    def read_if_changed(self) -> tuple[bytes, bytes] | None:
        """Return chain and key if the files are others than before, and fit each other."""
        with self._lock:
            try:
                stamp = self._stamp()
                if stamp == self._seen:
                    return None
                pair = self._read()
            except (OSError, ValueError) as error:
                self.problem = f"the renewed certificate is not in use: {_cause(error)}"
                return None
            self._seen = stamp
            self.problem = ""
            return pair

    def _stamp(self) -> _Stamp:
        stats = [file.stat() for file in self._files]
        return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats)

    def _read(self) -> tuple[bytes, bytes]:
        """Raises OSError or ValueError. SSLError, for what does not fit, is an OSError."""
        for file in self._files:
            if file.stat().st_size > LARGEST_FILE:
                raise ValueError(f"{file.name} is larger than {LARGEST_FILE} bytes")
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self._files, password="")
        chain, key = (file.read_bytes() for file in self._files)
        return chain, key


def _cause(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM of a certificate and its key"
    return error.strerror or "unreadable" if isinstance(error, OSError) else str(error)
