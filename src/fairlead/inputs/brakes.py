"""
What stops machines from being replaced: a pool's pause, and the platform's kill switch.

A person sets them in a hurry, on what is live. A file that does not mention one must not release
it when somebody, or a pipeline, applies that file an hour later: it is released by name only,
with `false`.
"""

from collections.abc import Mapping

from fairlead.inputs.leaf import Json

# kind of document: its field below `spec`
BRAKES = {"NodePool": "paused", "PlatformConfig": "stopEverything"}


def with_brakes(document: Json, live: Json) -> Json:
    """Return the document, with the brake of the live one if it says nothing about it."""
    if not isinstance(document, Mapping) or not isinstance(live, Mapping):
        return document
    brake = BRAKES.get(str(document.get("kind")))
    spec, live_spec = document.get("spec") or {}, live.get("spec") or {}
    if brake is None or not isinstance(spec, Mapping) or not isinstance(live_spec, Mapping):
        return document
    if brake in spec or not live_spec.get(brake):
        return document
    return {**document, "spec": {**spec, brake: live_spec[brake]}}
