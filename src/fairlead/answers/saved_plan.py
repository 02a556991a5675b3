"""A plan in a file: the documents, what they were shown to do, and what they were computed from."""

from collections.abc import Mapping
from typing import Literal

from fairlead.answers.document import Document, Json, Moment
from fairlead.answers.plan import Plan


class SavedPlan(Document, frozen=True, kw_only=True):
    """What `fairlead plan -o` writes and `fairlead apply PLAN` carries out, or refuses to."""

    kind: Literal["SavedPlan"] = "SavedPlan"
    version: Literal["v1"] = "v1"
    made_at: Moment
    documents: tuple[Json, ...]
    plans: tuple[Plan, ...]
    bases: Mapping[str, str]
