"""Facts about pools and machines, as they are kept and told."""

from fairlead.answers.document import Document, Moment
from fairlead.answers.words import EventKind


class Event(Document, frozen=True, kw_only=True):
    """One fact. `key` is unique within a pool; `machine` is '' for facts about the whole pool."""

    kind: EventKind
    pool: str
    at: Moment
    key: str
    says: str
    machine: str = ""


class Events(Document, frozen=True, kw_only=True):
    """Facts, the oldest first."""

    events: tuple[Event, ...]
