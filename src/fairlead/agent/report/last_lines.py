"""
What a unit or a script that failed printed last, short enough for the cause of a stage.

Secrets go first, then what is too long: a cut through a secret would leave a part that nobody
knows again. The end is what is kept, because that is where a program says why it stops.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.report.redact import Redactor

# A warning before the error often explains it; more is for the log.
MOST_LINES = 3

# With what goes before it less than a line that the control plane shows (500).
LONGEST = 360

BETWEEN = " | "


def last_lines(redactor: Redactor, text: str) -> str:
    """Return the last lines of an output as one line without secrets; '' if it says nothing."""
    lines = [" ".join(line.split()) for line in redactor.clean(text).splitlines()]
    told = BETWEEN.join([line for line in lines if line][-MOST_LINES:])
    return told if len(told) <= LONGEST else f"...{told[-LONGEST:]}"


def tell_error(redactor: Redactor, error: Exception) -> str:
    """Return an error's message, and behind it the last lines of what failed, if it has them."""
    told = last_lines(redactor, getattr(error, "said", ""))
    return f"{error}: {told}" if told else str(error)
