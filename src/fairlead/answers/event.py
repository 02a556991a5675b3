"""Facts about pools and machines, as they are kept and told."""

from fairlead.answers.document import Document, Moment
from fairlead.answers.words import EventKind

# Who acts where no command does.
CONTROL_PLANE = "the control plane"


class Event(Document, frozen=True, kw_only=True):
    """
    One fact. `key` is unique within a pool; `machine` is '' for facts about the whole pool, and
    `pool` for those about the platform.

    actor: who did it, a user's name or CONTROL_PLANE; '' in journals that did not note it.
    asked_by: whose wish the control plane carried out, or ''.
    """

    kind: EventKind
    pool: str
    at: Moment
    key: str
    says: str
    machine: str = ""
    actor: str = ""
    asked_by: str = ""

    @property
    def whose(self) -> str:
        """Whoever wanted it: a user's name, or CONTROL_PLANE; '' where that is not known."""
        return self.asked_by or self.actor


class Events(Document, frozen=True, kw_only=True):
    """Facts, the oldest first."""

    events: tuple[Event, ...]
