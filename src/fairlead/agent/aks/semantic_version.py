"""
Whether a Kubernetes or containerd version is at least a release.

Reads versions as leniently as upstream: a leading v, and 1.34 for 1.34.0, are fine, a broken
version is below everything. A pre-release of a release is below it: 1.34.0-alpha.1 < 1.34.0.
"""

from __future__ import annotations

MAX_NUMBER = 2**64 - 1
# Python refuses to read thousands of digits.
MAX_LENGTH = 1000
NUMBERS = 3
WORD_CHARACTERS = frozenset("0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def is_at_least(version: str, release: tuple[int, int, int]) -> bool:
    """Say whether a version is the release or a later one; False if it is not a version."""
    rest, plus, metadata = version.removeprefix("v").partition("+")
    core, dash, pre_release = rest.partition("-")
    if plus and not _is_dotted_words(metadata):
        return False
    if dash and not (_is_dotted_words(pre_release) and _has_plain_numbers(pre_release)):
        return False
    numbers = _numbers_of(core)
    if numbers is None:
        return False
    return numbers > release or (numbers == release and not dash)


def _numbers_of(core: str) -> tuple[int, ...] | None:
    """Return major, minor and patch, 0 where the text leaves one out; None if it is broken."""
    parts = core.split(".")
    if len(parts) > NUMBERS or len(core) > MAX_LENGTH:
        return None
    if not all(part.isascii() and part.isdigit() for part in parts):
        return None
    numbers = [int(part) for part in parts]
    if max(numbers) > MAX_NUMBER:
        return None
    return (*numbers, *[0] * (NUMBERS - len(numbers)))


def _is_dotted_words(text: str) -> bool:
    return all(word and WORD_CHARACTERS.issuperset(word) for word in text.split("."))


def _has_plain_numbers(text: str) -> bool:
    """Say whether no number among the words has a zero in front."""
    return not any(word.isdigit() and word != "0" and word[0] == "0" for word in text.split("."))
