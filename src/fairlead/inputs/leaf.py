"""
A leaf: one input with one owner, one shape and one class.

A path ending in `.*` stands for every name below it; each of those is a leaf of its own, so that
an explanation can name the one file or the one kubelet field that changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairlead.answers.words import LeafClass, Severity

# A JSON value in canonical form: no None, and outside a kubelet's configuration no empty text, list
# or mapping below the top.
Json = object
Leaves = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Shape:
    """
    How one value is written.

    `parse` takes what the document holds and its path, and returns the canonical value or raises
    InputError; `schema` is the same rule as JSON Schema. keeps_empty: '' is a value, as that
    of a label often is; elsewhere it means "not set".
    """

    parse: Callable[[Json, str], Json]
    schema: Mapping[str, Json]
    keeps_empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One row of the registry. `says` is for people; for an ignored leaf it is the reason."""

    path: str
    leaf_class: LeafClass
    shape: Shape
    says: str
    owner: str = "pool owner"
    severity: Severity = Severity.ROUTINE


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that a person must change: where, and what is wrong."""

    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


@dataclass(frozen=True, slots=True)
class Unusable:
    """Inputs from which nothing can be computed. Machines stay as they are."""

    problems: tuple[Problem, ...] = field(default=())

    def __str__(self) -> str:
        return "; ".join(str(problem) for problem in self.problems)
