"""
How Go writes and compares text, where a script reads the result byte for byte.

Go and Python agree on the digits of a float but not on its layout: Go leaves out ".0", turns to
an exponent at a million, and gives the exponent at least two digits.
"""

from __future__ import annotations

import binascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What Go calls space. Python's own strip() would also take U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
WHITE_SPACE += "\u2028\u2029\u202f\u205f\u3000"

# Exponents below the first, or from the second on, are written out: 1e-05, 1e+06.
LOWEST_PLAIN_EXPONENT = -4
LOWEST_LARGE_EXPONENT = 6

SPECIAL_REALS = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf", "0.0": "0", "-0.0": "-0"}


def render_flag(value: object) -> str:
    """Return whether a value holds anything, as Go writes a bool."""
    return "true" if value else "false"


def render_real(value: float) -> str:
    """Return a float as Go's %v writes it: the shortest digits that give it back."""
    if repr(value) in SPECIAL_REALS:
        return SPECIAL_REALS[repr(value)]
    sign, digits, exponent = _parts_of(value)
    if exponent < LOWEST_PLAIN_EXPONENT or exponent >= LOWEST_LARGE_EXPONENT:
        fraction = "." + digits[1:] if digits[1:] else ""
        return f"{sign}{digits[0]}{fraction}e{exponent:+03d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def _parts_of(value: float) -> tuple[str, str, int]:
    """Return the sign, the shortest digits and the decimal exponent of the first digit."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    first = len(whole) - 1 - leading_zeros + int(exponent or 0)
    return "-" if value < 0 else "", digits.rstrip("0"), first


def sorted_pairs(values: Mapping[str, object], delimiter: str) -> str:
    """Return key=value pairs in the order of the keys' bytes."""
    return delimiter.join(f"{key}={values[key]}" for key in sorted(values))


def base64_of(text: str) -> str:
    """Return the base64 of a text's UTF-8, on one line."""
    return binascii.b2a_base64(text.encode(), newline=False).decode()


def is_same_folded(text: str, folded: str) -> bool:
    """Say whether the text equals `folded`, which is lower-case ASCII, in any case."""
    return len(text) == len(folded) and text.casefold() == folded
