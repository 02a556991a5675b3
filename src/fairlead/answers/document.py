"""
What every document of an answer is: values that never change, with names as JSON has them.

Lists are tuples here. A name that Python keeps for itself (`class`, `for`, `from`) is spelled
otherwise in code and as it is in JSON.
"""

from datetime import datetime
from typing import Annotated, Any, Self

import msgspec

# Any JSON value: text, a number, true or false, a list, a mapping, or None.
Json = object

# A moment with its offset from UTC; in JSON an RFC 3339 text.
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One document, or a part of one. Fields that this version does not know are passed over."""

    def but(self, **changes: object) -> Self:
        """Return the document with other values in these fields."""
        return msgspec.structs.replace(self, **changes)

    def parts(self) -> dict[str, Any]:
        """Return the fields by their names in code, to make a larger document of."""
        return msgspec.structs.asdict(self)
