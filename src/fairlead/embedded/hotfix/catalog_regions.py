"""The regions that a catalog names, as they are at every question: read again if its file is."""

from __future__ import annotations

from fairlead.errors import FairleadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.hotfix.publish.depot import Depot


class CatalogRegions:
    """Holds every region that somebody switched on or off. What cannot be read stays as it was."""

    def __init__(self, depot: Depot) -> None:
        self._depot = depot
        self._regions = frozenset(depot.read_catalog().regions)
        self._seen = self._mark()

    def __contains__(self, region: object) -> bool:
        seen = self._mark()
        if seen != self._seen:
            try:
                self._regions = frozenset(self._depot.read_catalog().regions)
            except (FairleadError, OSError):
                return region in self._regions
            self._seen = seen
        return region in self._regions

    def _mark(self) -> tuple[int, ...]:
        try:
            found = self._depot.catalog.stat()
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size
