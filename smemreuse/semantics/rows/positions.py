"""The positions of operands in a row: moved where a call has operands of its own in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from smemreuse.semantics.effects import Effect, Operand

_IN_PARTS = {
    "waits": ("keep",),
    "mbarrier": ("at", "count"),
    "meeting": ("count", "mask", "identity"),
    "describes": ("local", "buffer"),
    "butterfly": ("workspace",),
}
"""The fields of a row's parts that are positions, by the column."""


def shifted(effect: Effect, by: int) -> Effect:
    """The row of a function's parameters as one of a call that has `by` operands before them."""
    arity = effect.arity and frozenset(number + by for number in effect.arity)
    # Counted from the end, a position stays.
    return replace(_mapped(effect, lambda at: at if at < 0 else at + by), arity=arity)


def positions(effect: Effect) -> Iterator[int]:
    """All operand positions that a row names, except operands identified by their kind."""
    named: list[int] = []

    def note(at: int) -> int:
        named.append(at)
        return at

    _mapped(effect, note)
    yield from named


def _mapped(effect: Effect, move: Callable[[int], int]) -> Effect:
    """A row with `move` applied to each position in it."""
    moved: dict[str, Any] = {
        column: _moved(getattr(effect, column), fields, move)
        for column, fields in _IN_PARTS.items()
    }
    within = tuple(_moved(one, _IN_PARTS["meeting"], move) for one in effect.within)
    return replace(
        effect,
        within=within,
        operands=tuple(_operand(operand, move) for operand in effect.operands),
        writes_locals=tuple(map(move, effect.writes_locals)),
        lanes=None if effect.lanes is None else move(effect.lanes),
        **moved,
    )


def _operand(operand: Operand, move: Callable[[int], int]) -> Operand:
    moved: Operand = _moved(operand, ("at",), move)
    size, matrices = (_moved(one, ("at",), move) for one in (operand.size, operand.matrices))
    return replace(moved, size=size, matrices=matrices)


def _moved(part: Any, fields: tuple[str, ...], move: Callable[[int], int]) -> Any:
    """A part of a row with these fields moved, as far as it has them and they are numbers."""
    found = {name: getattr(part, name, None) for name in fields}
    numbers = {name: move(at) for name, at in found.items() if isinstance(at, int)}
    return replace(part, **numbers) if numbers else part
