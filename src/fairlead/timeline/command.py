"""
What people did, as facts: told in the same write as what they changed.

Their keys hold the moment, so each is told once.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from fairlead.answers.event import Event
from fairlead.answers.words import EventKind
from fairlead.decision.explain import listed, moment
from fairlead.inputs.leaf import Json


def pool_declared(pool: str, before: Json, after: Json, actor: str, now: datetime) -> Event:
    """Return that somebody declared a pool. before: what was declared, or None."""
    return _act(EventKind.POOL_DECLARED, pool, _declared_text(before, after), actor, now)


def platform_declared(before: Json, after: Json, actor: str, now: datetime) -> Event:
    """Return that somebody changed what the platform adds to every pool."""
    return _act(EventKind.PLATFORM_DECLARED, "", _declared_text(before, after), actor, now)


def deletion_asked(pool: str, actor: str, now: datetime) -> Event:
    """Return that somebody wants a pool gone."""
    says = "The pool is to go, and all its machines."
    return _act(EventKind.POOL_DELETION_ASKED, pool, says, actor, now)


def fault_asked(pool: str, machine: str, faults: Iterable[str], actor: str, now: datetime) -> Event:
    """Return that somebody wants machines to do wrong: one, or the next of a pool."""
    says = (
        f"{machine or 'The next machines'} to do wrong on request: {', '.join(faults) or 'none'}."
    )
    return _act(EventKind.FAULT_ASKED, pool, says, actor, now).but(machine=machine)


def stop_asked(actor: str, now: datetime) -> Event:
    """Return that somebody wants the control plane to end."""
    says = "The control plane is to end; its machines run on."
    return _act(EventKind.STOP_ASKED, "", says, actor, now)


def rotation_asked(takes_over_at: datetime, actor: str, now: datetime) -> Event:
    """Return that somebody wants another certificate authority before its time."""
    says = f"Another certificate authority is announced; it takes over at {moment(takes_over_at)}."
    return _act(EventKind.ROTATION_ASKED, "", says, actor, now)


def _act(kind: EventKind, pool: str, says: str, actor: str, now: datetime) -> Event:
    key = f"{kind.value}:{now.isoformat()}"
    return Event(kind=kind, pool=pool, at=now, key=key, says=says, actor=actor)


def _declared_text(before: Json, after: Json) -> str:
    if before is None:
        return "Declared for the first time."
    return f"Declared anew: {listed(_changed_fields(before, after, '')) or 'nothing else'}."


def _changed_fields(before: Json, after: Json, path: str) -> Iterator[str]:
    """Yield the paths that differ; a list is one value."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        if before != after:
            yield path
        return
    for name in sorted({*before, *after}):
        below = f"{path}.{name}" if path else str(name)
        yield from _changed_fields(before.get(name), after.get(name), below)
