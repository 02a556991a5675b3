"""What a rollout waits for. A rollout completes or says why it waits; there is no third state."""

from msgspec import field

from fairlead.answers.document import Document, Moment
from fairlead.answers.words import WaitFor


class Wait(Document, frozen=True, kw_only=True):
    """One thing that a rollout waits for. `until` is when it ends by itself, if that is known."""

    wait_for: WaitFor = field(name="for")
    says: str
    machine: str = ""
    until: Moment | None = None
