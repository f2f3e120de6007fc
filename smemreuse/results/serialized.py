"""Records as data ready for JSON, and back: fields by their names, enumerations by their values."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from types import SimpleNamespace, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

LOCAL = {"local": True}
"""The metadata of a field that holds a part of a kernel, and so stays in its process."""


def as_data(record: object) -> Any:
    """A record with its fields in their order, but for `LOCAL` ones; tuples become lists."""
    if is_dataclass(record):
        return {one.name: as_data(getattr(record, one.name)) for one in _shared(type(record))}
    if isinstance(record, Enum):
        return record.value
    if isinstance(record, Mapping):
        return {key: as_data(value) for key, value in record.items()}
    return [as_data(one) for one in record] if isinstance(record, (list, tuple)) else record


def picked(record: object, names: str) -> dict[str, Any]:
    """These attributes of a record, in this order, each as by `as_data`.

    `names` are separated by blanks; `bytes=arena.bytes` goes by another name, and deeper.
    """
    found = {}
    for each in names.split():
        name, _, path = each.partition("=")
        found[name] = as_data(attrgetter(path or name)(record))
    return found


def from_data(kind: type[T], data: Mapping[str, Any]) -> T:
    """The record of which `as_data` was taken; `LOCAL` fields have their defaults.

    Raises `KeyError`, `TypeError` or `ValueError` for anything else.
    """
    return kind(**fields_from_data(kind, data))


def fields_from_data(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Those fields of a record that `data` has, by their names."""
    hints = _hints(kind)
    return {name: _value(hint, data[name]) for name, hint in hints.items() if name in data}


def _shared(kind: Any) -> list[Field[Any]]:
    assert is_dataclass(kind)
    return [one for one in fields(kind) if not one.metadata.get("local")]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of the fields that are shared; those of others need not be there at run time."""
    shared = SimpleNamespace(__annotations__={one.name: one.type for one in _shared(kind)})
    return get_type_hints(shared, vars(sys.modules[kind.__module__]))


def _value(hint: Any, data: Any) -> Any:
    """What a field of a type has where JSON has `data`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [one for one in args if one is not type(None)]
        return _value(kinds[0], data) if len(kinds) == 1 and data is not None else data
    if origin is tuple:
        each = [args[0]] * len(data) if args[1:] == (...,) else args
        return tuple(_value(one, item) for one, item in zip(each, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(args[1], value) for key, value in data.items()}
    if is_dataclass(hint) and isinstance(hint, type):
        return from_data(hint, data)
    return hint(data) if isinstance(hint, type) and issubclass(hint, Enum) else data
