"""
The two messages of the AKS live-patching contract, as protobuf on the wire.

GetComponentConfigRequest: component_name (1). GetComponentConfigResponse: component_name (1) and
config (2), both texts. Fields that are not known are passed over; the last of one number counts.
"""

from __future__ import annotations

PATH = "/akslivepatching.v1.LivePatchingService/GetComponentConfig"

COMPONENT_FIELD, CONFIG_FIELD = 1, 2
NUMBER, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
LONGEST_NUMBER = 10  # bytes
LONGEST_NAME = 127  # one byte of length


def encode_request(component: str) -> bytes:
    """Return the question for this component."""
    name = component.encode("ascii")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"a component of {len(name)} letters, expected at most {LONGEST_NAME}")
    return bytes([COMPONENT_FIELD << 3 | BYTES, len(name)]) + name


def config_in(message: bytes) -> bytes:
    """Return the config of an answer, b'' if it has none. Raises OSError if this is no answer."""
    config = b""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        if key & 7 == NUMBER:
            _, at = _number(message, at)
            continue
        if key & 7 == BYTES:
            length, at = _number(message, at)
        elif key & 7 in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if key & 7 == EIGHT_BYTES else 4
        else:
            raise OSError(f"the answer holds a field of type {key & 7}")
        if at + length > len(message):
            raise OSError("the answer ends inside a field")
        if key == CONFIG_FIELD << 3 | BYTES:
            config = message[at : at + length]
        at += length
    return config


def _number(message: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(LONGEST_NUMBER):
        if at + place >= len(message):
            break
        byte = message[at + place]
        number |= (byte & 0x7F) << 7 * place
        if not byte & 0x80:
            return number, at + place + 1
    raise OSError("the answer holds a number that does not end")
