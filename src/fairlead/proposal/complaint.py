"""One thing that is wrong with a document that somebody wants in force."""

from dataclasses import dataclass

from fairlead.errors import InputError


@dataclass(frozen=True, slots=True)
class Complaint:
    """
    One thing that is wrong. is_name: the name of the field is, rather than its value.

    is_strict: the parser of what runs takes it. Where the same is in force already, it goes on:
    nobody must mend a document to scale a pool.
    """

    field: str
    problem: str
    hint: str = ""
    is_name: bool = False
    is_strict: bool = True

    def __str__(self) -> str:
        return self.problem + (f" ({self.hint})" if self.hint else "")


def refuse(complaints: tuple[Complaint, ...], title: str = "") -> None:
    """Raise InputError if there is a complaint: by the field of the first, with all the others."""
    if not complaints:
        return
    first, *rest = complaints
    also = "; ".join(f"{other.field}: {other}" for other in rest)
    hint = "; ".join(text for text in (first.hint, f"also {also}" if also else "") if text)
    problem = f"{title}: {first.problem}" if title else first.problem
    raise InputError(problem, field=first.field, hint=hint)
