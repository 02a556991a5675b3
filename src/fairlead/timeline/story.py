"""Events to one readable history of a pool or of one machine."""

from collections.abc import Iterable

from fairlead.decision.explain import moment
from fairlead.timeline.event import Event


def story_of(events: Iterable[Event], machine: str = "") -> tuple[str, ...]:
    """Return one line per event, oldest first; of one machine if it is named."""
    return tuple(
        f"{moment(event.at)}  {event.kind.value}  {event.says}"
        for event in sorted(events, key=lambda event: event.at)
        if not machine or event.machine == machine
    )
