"""A certificate that is renewed in its files while a server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.telling.errno_text import os_problem

if TYPE_CHECKING:
    from fairlead.embedded.certificates.authority import Certificates
    from fairlead.embedded.serve.log import Log
    from fairlead.embedded.serve.server import QuietServer

# Seconds between two looks at the files.
LOOK_S = 1.0


class Reloading:
    """Serves with a certificate that was renewed, from the next connection on."""

    def __init__(self, server: QuietServer, certificates: Certificates, log: Log) -> None:
        self._server = server
        self._certificates = certificates
        self._log = log
        self._seen = self._mark()

    def look(self) -> None:
        """Load the files again if they are others."""
        seen = self._mark()
        if seen == self._seen:
            return
        try:
            self._server.load_certificate(self._certificates)
        except OSError as error:  # also what TLS says of files that do not belong together
            why = os_problem(error)
            self._log.trouble("certificate", f"not loaded, the one before serves on: {why}")
            return
        self._seen = seen
        self._log.is_well("certificate")
        self._log.tell("certificate: loaded anew")

    def _mark(self) -> tuple[int, ...]:
        found: list[int] = []
        for file in (self._certificates.certificate_file, self._certificates.key_file):
            try:
                found.append(file.stat().st_mtime_ns)
            except OSError:
                found.append(0)
        return tuple(found)
