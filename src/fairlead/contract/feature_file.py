"""
Feature flags: KEY=VALUE lines, read and never run.

Nothing is trimmed or unquoted: `KEY= true` and `KEY="true"` are not `true`. Lines that are not
an assignment to a shell identifier say nothing; that covers blank lines and comments.
"""

from __future__ import annotations

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
LETTERS_AND_DIGITS = LETTERS + "0123456789"


def parse_features(text: bytes) -> dict[str, str]:
    """Return the flags of a feature file; the last line of a name wins. Never raises."""
    features: dict[str, str] = {}
    for line in text.decode(errors="surrogateescape").split("\n"):
        name, equals, value = line.partition("=")
        # A value with a NUL cannot be put into an environment, so nobody can have meant it.
        if equals and is_identifier(name) and "\0" not in value:
            features[name] = value
    return features


def is_identifier(name: str) -> bool:
    """Say whether a shell would take this for a variable's name."""
    return name[:1] in LETTERS and name != "" and not name.strip(LETTERS_AND_DIGITS)
