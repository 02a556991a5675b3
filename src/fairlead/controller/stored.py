"""
Values of the path as JSON and back, for the edges that keep them in a database or a cluster.

One rule for all of them, from the types themselves: a field that a later version added has its
default when it is missing, and one that an earlier version does not know is dropped. What is
stored is therefore readable across an upgrade and a downgrade.
"""

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache

from fairlead.errors import InputError
from fairlead.inputs.leaf import Json

T = typing.TypeVar("T")


def stored(value: object) -> Json:
    """Return a value as JSON. Only what the path is made of can be stored."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: stored(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {_name(key): stored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [stored(item) for item in value]
    return _stored_plain(value)


def _stored_plain(value: object) -> Json:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value


def restored(kind: type[T], value: Json) -> T:
    """Return what was stored as a value of this type. Raises InputError by field."""
    return typing.cast("T", _restore(kind, value, ""))


def _name(key: object) -> str:
    return str(key.value) if isinstance(key, enum.Enum) else str(key)


def _restore(kind: object, value: Json, path: str) -> object:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _restore_union(kind, value, path)
    if origin is tuple:
        return _restore_tuple(kind, value, path)
    if origin is not None and issubclass(origin, Mapping):
        return _restore_mapping(kind, value, path)
    if isinstance(kind, type):
        return _restore_plain(kind, value, path)
    return value


def _restore_plain(kind: type, value: Json, path: str) -> object:
    if dataclasses.is_dataclass(kind):
        return _restore_fields(kind, value, path)
    try:
        if issubclass(kind, enum.Enum):
            return kind(value)
        if kind is datetime:
            return datetime.fromisoformat(str(value))
        if kind is timedelta:
            return timedelta(seconds=float(str(value)))
    except ValueError as error:
        raise InputError(f"{value!r} is no {kind.__name__}", field=path) from error
    if kind in (str, int, bool) and not isinstance(value, kind):
        raise InputError(f"found {value!r}, expected {kind.__name__}", field=path)
    return value


def _restore_fields(kind: type, value: Json, path: str) -> object:
    if not isinstance(value, Mapping):
        raise InputError(f"found {value!r}, expected a {kind.__name__}", field=path)
    found = {
        name: _restore(hint, value[name], f"{path}.{name}".lstrip("."))
        for name, hint in _hints(kind).items()
        if name in value
    }
    try:
        return kind(**found)
    except TypeError as error:
        raise InputError(f"a {kind.__name__} lacks a field: {error}", field=path) from error


def _restore_union(kind: object, value: Json, path: str) -> object:
    choices = [choice for choice in typing.get_args(kind) if choice is not types.NoneType]
    if value is None:
        return None
    return _restore(choices[0], value, path)


def _restore_tuple(kind: object, value: Json, path: str) -> object:
    if not isinstance(value, list):
        raise InputError(f"found {value!r}, expected a list", field=path)
    kinds = typing.get_args(kind)
    repeated = len(kinds) == 2 and kinds[1] is Ellipsis  # noqa: PLR2004 - tuple[X, ...]
    return tuple(
        _restore(kinds[0] if repeated else kinds[at], item, f"{path}[{at}]")
        for at, item in enumerate(value)
    )


def _restore_mapping(kind: object, value: Json, path: str) -> object:
    if not isinstance(value, Mapping):
        raise InputError(f"found {value!r}, expected a mapping", field=path)
    key_kind, item_kind = typing.get_args(kind)
    return {
        _restore(key_kind, key, path): _restore(item_kind, item, f"{path}.{key}")
        for key, item in value.items()
    }


@cache
def _hints(kind: type) -> Mapping[str, object]:
    return typing.get_type_hints(kind)
