"""One thing that is wrong with a document that somebody wants in force."""

from dataclasses import dataclass


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
