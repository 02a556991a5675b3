"""
Thinking about one pool whose failure is that pool's own.

A pass, a list of pools and a change of the platform think about many. What is raised for one, by
a value that nobody foresaw or by a defect, is told as that pool's, and the others are thought
about. A seam that does not answer is everybody's: UnavailableError goes through.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fairlead.errors import FairleadError, UnavailableError

T = TypeVar("T")

LONGEST_SAYING = 500


@dataclass(frozen=True, slots=True)
class Failed:
    """Why one pool could not be thought about."""

    error: Exception

    @property
    def says(self) -> str:
        """What went wrong, in words."""
        return says_of(self.error)


def attempt(think: Callable[[], T]) -> T | Failed:
    """Return what thinking gives, or why it gives nothing. Raises UnavailableError."""
    try:
        return think()
    except UnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 - door 2: a pool's failure is its own
        return Failed(error)


def says_of(error: Exception) -> str:
    """Return an error in words, of bounded length; one that nobody foresaw is a defect."""
    says = str(error)
    if not isinstance(error, FairleadError):
        says = f"a defect of the controller: {type(error).__name__}: {error}"
    return says if len(says) <= LONGEST_SAYING else f"{says[:LONGEST_SAYING]}..."
