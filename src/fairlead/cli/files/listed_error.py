"""All that is wrong with one file, as one error."""

from __future__ import annotations

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.inputs.leaf import Json


class ListedError(InputError):
    """
    Several things are wrong with one file.

    lines: the whole of it for people. listed: each problem with the names line, column, field and
    problem, for scripts.
    """

    def __init__(self, lines: Sequence[str], listed: Sequence[dict[str, Json]]) -> None:
        super().__init__("\n".join(lines))
        self.lines = [*lines]
        self.listed = [*listed]
