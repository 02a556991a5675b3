"""
What people did to an object, in annotations of it: written with what they changed, by themselves.

A status is the operator's alone, so a command cannot append to a pool's journal. Whoever may change
an object may write any name here; the server's audit log has the proof.
"""

from __future__ import annotations

from typing import Any

from fairlead.answers.event import Event
from fairlead.errors import InputError
from fairlead.inputs.leaf import Json
from fairlead.kept_text import parse_document, parse_value, render_document, render_value
from fairlead.kube.answer import Object
from fairlead.kube.resource import GROUP
from fairlead.proposal.propose import base_of

# The last events, each as text; and whose wish the object is, for as long as it is what they wrote.
SAID = f"{GROUP}/said"
DECLARED_BY = f"{GROUP}/declared-by"

# Of a pool the operator keeps more of them.
MOST_SAID = 20


def annotated(found: Object, event: Event, document: Json) -> dict[str, str]:
    """Return the annotations of an object after somebody changed it to this document."""
    texts = [render_value(one) for one in (*said_in(found), event)][-MOST_SAID:]
    asked = {"by": event.actor, "base": base_of(document)}
    return {
        **((found.get("metadata") or {}).get("annotations") or {}),
        SAID: render_document(texts),
        DECLARED_BY: render_document(asked),
    }


def said_in(found: Object) -> tuple[Event, ...]:
    """Return what people said of an object, the oldest first."""
    events = []
    for text in _list_in(found):
        try:
            events.append(parse_value(Event, text))
        except (InputError, TypeError):
            continue  # of a later version, or not ours: history, by which nothing is decided
    return tuple(events)


def asker_of(found: Object, document: Json) -> str:
    """Return who asked for what an object says, or '' if that is not known."""
    asked = _parsed(found, DECLARED_BY)
    if not isinstance(asked, dict) or asked.get("base") != base_of(document):
        return ""
    return str(asked.get("by", ""))


def _list_in(found: Object) -> list[Any]:
    texts = _parsed(found, SAID)
    return texts if isinstance(texts, list) else []


def _parsed(found: Object, name: str) -> Any:
    text = ((found.get("metadata") or {}).get("annotations") or {}).get(name)
    try:
        return parse_document(text) if text else None
    except InputError:
        return None
