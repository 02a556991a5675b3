"""
Values of the path as JSON and back, for the edges that keep them in a database or a cluster.

One rule for all of them, from the types themselves: a field that a later version added has its
default when it is missing, and one that an earlier version does not know is dropped. What is
stored is therefore readable across an upgrade and a downgrade.

A pass restores everything it reads, so the rule is worked out once per type, into functions.
"""

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache

from fairlead.errors import InputError
from fairlead.inputs.leaf import Json

T = typing.TypeVar("T")

_Writer = Callable[[typing.Any], Json]
_Reader = Callable[[Json], typing.Any]


def stored(value: object) -> Json:
    """Return a value as JSON. Only what the path is made of can be stored."""
    kind: typing.Any = type(value)
    return _writer(kind)(value)


def restored(kind: type[T], value: Json) -> T:
    """Return what was stored as a value of this type. Raises InputError by field."""
    wanted: typing.Any = kind
    return typing.cast("T", _reader(wanted)(value))


@cache
def _writer(kind: type) -> _Writer:
    if dataclasses.is_dataclass(kind):
        return _fields_writer(kind)
    found = (write for known, write in _WRITERS if issubclass(kind, known))
    return next(found, _as_it_is)


def _fields_writer(kind: type) -> _Writer:
    names = tuple(field.name for field in dataclasses.fields(kind))

    def write(value: object) -> Json:
        return {name: stored(getattr(value, name)) for name in names}

    return write


def _name(key: object) -> str:
    return str(key.value) if isinstance(key, enum.Enum) else str(key)


def _as_it_is(value: Json) -> Json:
    return value


_WRITERS: tuple[tuple[type, _Writer], ...] = (
    (Mapping, lambda value: {_name(key): stored(item) for key, item in value.items()}),
    (list, lambda value: [stored(item) for item in value]),
    (tuple, lambda value: [stored(item) for item in value]),
    (enum.Enum, lambda value: value.value),
    (datetime, lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
)


@cache
def _reader(kind: typing.Any) -> _Reader:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_reader(kind)
    if origin is tuple:
        return _tuple_reader(kind)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(kind)
    if not isinstance(kind, type):
        return _as_it_is
    return _fields_reader(kind) if dataclasses.is_dataclass(kind) else _plain_reader(kind)


def _plain_reader(kind: type) -> _Reader:
    if issubclass(kind, enum.Enum):
        return _parsing(kind, kind)
    if kind is datetime:
        return _parsing(kind, lambda value: datetime.fromisoformat(str(value)))
    if kind is timedelta:
        return _parsing(kind, lambda value: timedelta(seconds=float(str(value))))
    if kind not in (str, int, bool):
        return _as_it_is

    def read(value: Json) -> Json:
        if not isinstance(value, kind):
            raise InputError(f"found {value!r}, expected {kind.__name__}")
        return value

    return read


def _parsing(kind: type, parse: Callable[[Json], object]) -> _Reader:
    def read(value: Json) -> object:
        try:
            return parse(value)
        except ValueError as error:
            raise InputError(f"{value!r} is no {kind.__name__}") from error

    return read


def _fields_reader(kind: type) -> _Reader:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    readers = {name: _reader(hints[name]) for name in names}

    def read(value: Json) -> object:
        if not isinstance(value, Mapping):
            raise InputError(f"found {value!r}, expected a {kind.__name__}")
        found = {}
        for name, reader in readers.items():
            if name in value:
                try:
                    found[name] = reader(value[name])
                except InputError as error:
                    raise _below(name, error) from error
        try:
            return kind(**found)
        except TypeError as error:
            raise InputError(f"a {kind.__name__} lacks a field: {error}") from error

    return read


def _union_reader(kind: typing.Any) -> _Reader:
    choices = [choice for choice in typing.get_args(kind) if choice is not types.NoneType]
    read_choice = _reader(choices[0])
    return lambda value: None if value is None else read_choice(value)


def _tuple_reader(kind: typing.Any) -> _Reader:
    kinds = typing.get_args(kind)
    repeated = len(kinds) == 2 and kinds[1] is Ellipsis  # noqa: PLR2004 - tuple[X, ...]
    readers = [_reader(item) for item in kinds if item is not Ellipsis]

    def read(value: Json) -> object:
        if not isinstance(value, list):
            raise InputError(f"found {value!r}, expected a list")
        found = []
        for at, item in enumerate(value):
            try:
                found.append(readers[0 if repeated else at](item))
            except InputError as error:
                raise _below(f"[{at}]", error) from error
        return tuple(found)

    return read


def _mapping_reader(kind: typing.Any) -> _Reader:
    read_key, read_item = (_reader(part) for part in typing.get_args(kind))

    def read(value: Json) -> object:
        if not isinstance(value, Mapping):
            raise InputError(f"found {value!r}, expected a mapping")
        if read_item is _as_it_is:
            return {read_key(key): item for key, item in value.items()}
        found = {}
        for key, item in value.items():
            try:
                found[read_key(key)] = read_item(item)
            except InputError as error:
                raise _below(str(key), error) from error
        return found

    return read


def _below(place: str, error: InputError) -> InputError:
    """Return the error with its field one level further down."""
    joint = "." if error.field and not error.field.startswith("[") else ""
    return InputError(error.problem, field=f"{place}{joint}{error.field}", hint=error.hint)
