"""The tables that declare functions, from TOML or Python: closed, so that no word is overlooked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smemreuse.errors import InputError
from smemreuse.ir.access import Access
from smemreuse.semantics.declarations import Argument, Declaration
from smemreuse.semantics.effects import BytesIn, ElementsIn, Extent, Fixed, Size

_SAID = ("asynchronous", "escapes", "barrier_at_end")
_NEEDED = ("arguments", *_SAID)
_KEYS = (*_NEEDED, "barriers_inside")
_ACCESSES: Mapping[str, Access | None] = {
    **{access.value: access for access in Access},
    "value": None,
    "unknown": None,
}
_SIZES = ("bytes", "bytes_in", "elements_in")
_OF_ARGUMENTS = ("access", *_SIZES, "surely", "swizzled")
MOST_BYTES = 1 << 20


class TableError(InputError):
    """What is wrong with a table; `key` is where."""

    def __init__(self, message: str, key: str = "", **where: Any):
        super().__init__(message, **where)
        self.key = key


def declaration(name: str, table: Any, source: str) -> Declaration:
    """The declaration that a table is. Raises `TableError`."""
    if not isinstance(table, Mapping):
        raise TableError(f"{name} is to be a table, not {table!r:.60}")
    for key in table:
        if key not in _KEYS:
            raise TableError(f"{name}: {key!r} is not known; {', '.join(_KEYS)} are", str(key))
    for key in _NEEDED:
        if key not in table:
            raise TableError(f"{name} does not say `{key}`; each is to be said")
    for key in (*_SAID, "barriers_inside"):
        if not isinstance(table.get(key, False), bool):
            raise TableError(f"{name}: {key} is true or false, not {table[key]!r:.60}", key)
    given = table["arguments"]
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TableError(f"{name}: arguments are a list, one for each", "arguments")
    try:
        arguments = tuple(_argument(one) for one in given)
        _check(arguments, table)
    except TableError as error:
        raise TableError(f"{name}: {error.message}", "arguments") from None
    asynchronous, escapes, barrier = (table[key] for key in _SAID)
    inside = table.get("barriers_inside")
    return Declaration(name, arguments, asynchronous, escapes, barrier, source, inside)


def _argument(given: Any) -> Argument:
    """An argument by its access alone, or a table of more."""
    table = {"access": given} if isinstance(given, str) else given
    if not isinstance(table, Mapping) or table.get("access") not in [*_ACCESSES]:  # or a list
        words = ", ".join(_ACCESSES)
        raise TableError(f"an argument's `access` is one of {words}, not {given!r:.60}")
    for key in table:
        if key not in _OF_ARGUMENTS:
            raise TableError(f"{key!r} of an argument is not known; {', '.join(_OF_ARGUMENTS)} are")
    word = table["access"]
    access = _ACCESSES[word]
    if access is None:
        if len(table) > 1:
            raise TableError(f"of an argument that is {word!r} nothing else is said")
        return Argument(known=word == "value")
    surely: Any = table.get("surely")
    swizzled = table.get("swizzled", False)
    if surely not in (None, "thread", "block"):
        raise TableError(f"`surely` is 'thread' or 'block', not {surely!r:.60}")
    if not isinstance(swizzled, bool):
        raise TableError(f"`swizzled` is true or false, not {swizzled!r:.60}")
    return Argument(access, _size(table), surely, swizzled)


def _size(table: Mapping[str, Any]) -> Size:
    said = [key for key in _SIZES if key in table]
    if not said:
        return Extent.WHOLE
    if len(said) > 1:
        raise TableError(f"`{said[0]}` and `{said[1]}` both say how many bytes; give one")
    (key,) = said
    number = table[key]
    least = 1 if key == "bytes" else 0
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= MOST_BYTES:
        raise TableError(f"`{key}` is a number from {least} on, not {number!r:.60}")
    if key == "bytes":
        return Fixed(number)
    return BytesIn(number) if key == "bytes_in" else ElementsIn(number)


def _check(arguments: Sequence[Argument], table: Mapping[str, Any]) -> None:
    """What is said of one argument must fit what is said of the others, and of the function."""
    for one in arguments:
        if isinstance(one.size, (BytesIn, ElementsIn)):
            at = one.size.at
            if at >= len(arguments):
                last = len(arguments) - 1
                raise TableError(f"there is no argument {at} to say a size; the last is {last}")
            if arguments[at].access is not None or not arguments[at].known:
                raise TableError(f"argument {at} says a size, so its access is 'value'")
        if one.surely is not None and table["asynchronous"]:
            raise TableError("nothing is surely accessed at the return of an asynchronous function")
        if one.surely == "block" and not table["barrier_at_end"]:
            raise TableError(
                "surely = 'block' needs barrier_at_end = true: only after a barrier have all "
                "threads made their accesses; say surely = 'thread', or leave it out"
            )
