"""
The two messages of the AKS live-patching contract, in the wire form of protobuf.

    service akslivepatching.v1.LivePatchingService
      rpc GetComponentConfig(GetComponentConfigRequest) returns (GetComponentConfigResponse)
    message GetComponentConfigRequest  { string component_name = 1; }
    message GetComponentConfigResponse { string component_name = 1; string config = 2; }

Two texts need no generated code and no run-time library. As protobuf asks: fields that are not
known are passed over, and of a field that comes twice the last one counts.
"""

from __future__ import annotations

from fairlead.errors import InputError

METHOD = "/akslivepatching.v1.LivePatchingService/GetComponentConfig"

_VARINT, _EIGHT_BYTES, _TEXT, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10
# A byte of a number: this bit says that another one follows.
_MORE = 0x80


def parse_request(message: bytes) -> str:
    """Return the component that is asked for. Raises InputError if this is no such message."""
    component = b""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise InputError("found field number 0, expected 1 or more")
        content, at = _content(message, at, kind)
        if number == 1:
            if kind != _TEXT:
                raise InputError(f"found wire type {kind}, expected a text", field="component_name")
            component = content
    try:
        return component.decode()
    except UnicodeDecodeError:
        raise InputError("found no UTF-8", field="component_name") from None


def render_response(component: str, config: bytes) -> bytes:
    """Return the message of an answer. config: UTF-8."""
    return _field(1, component.encode()) + _field(2, config)


def _content(message: bytes, at: int, kind: int) -> tuple[bytes, int]:
    """Return the content of a field and where it ends."""
    if kind == _VARINT:
        end = _varint(message, at)[1]
    elif kind == _TEXT:
        length, at = _varint(message, at)
        end = at + length
    elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
        end = at + (8 if kind == _EIGHT_BYTES else 4)
    else:
        raise InputError(f"found wire type {kind}, expected 0, 1, 2 or 5")
    if end > len(message):
        raise InputError(f"found {len(message)} bytes, a field ends after {end}")
    return message[at:end], end


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(message[at : at + _LONGEST_VARINT]):
        value |= (byte & ~_MORE) << (7 * count)
        if byte < _MORE:
            return value, at + count + 1
    raise InputError("found a number without an end")


def _field(number: int, content: bytes) -> bytes:
    if not content:
        return b""
    return bytes([number << 3 | _TEXT]) + _as_varint(len(content)) + content


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value >= _MORE:
        out.append(value % _MORE | _MORE)
        value >>= 7
    return bytes([*out, value])
