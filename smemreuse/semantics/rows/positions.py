"""The positions of operands in a row: moved where a call has operands of its own in front."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemreuse.semantics.effects import (
    BytesIn,
    Descriptor,
    Effect,
    ElementsIn,
    OnlyIf,
    Operand,
    Position,
    Size,
)


def shifted(effect: Effect, by: int) -> Effect:
    """The row of a function's parameters as one of a call that has `by` operands before them."""

    def moved(at: int | None) -> int | None:
        return None if at is None else _moved(at, by)

    waits, mbarrier, meeting = effect.waits, effect.mbarrier, effect.meeting
    return replace(
        effect,
        operands=tuple(_moved_operand(operand, by) for operand in effect.operands),
        arity=effect.arity and frozenset(number + by for number in effect.arity),
        waits=waits and replace(waits, keep=moved(waits.keep)),
        mbarrier=mbarrier
        and replace(mbarrier, at=_moved_position(mbarrier.at, by), count=moved(mbarrier.count)),
        meeting=meeting
        and replace(
            meeting,
            count=moved(meeting.count),
            mask=moved(meeting.mask),
            identity=moved(meeting.identity),
        ),
        describes=effect.describes
        and Descriptor(_moved(effect.describes.local, by), _moved(effect.describes.buffer, by)),
        writes_locals=tuple(_moved(at, by) for at in effect.writes_locals),
    )


def _moved(at: int, by: int) -> int:
    """Counted from the end, a position stays."""
    return at if at < 0 else at + by


def _moved_position(at: Position, by: int) -> Position:
    return _moved(at, by) if isinstance(at, int) else at


def _moved_operand(operand: Operand, by: int) -> Operand:
    certain = operand.certain
    if isinstance(certain, OnlyIf):
        certain = OnlyIf(_moved(certain.at, by), certain.value)
    return replace(
        operand,
        at=_moved_position(operand.at, by),
        size=_moved_size(operand.size, by),
        certain=certain,
    )


def _moved_size(size: Size, by: int) -> Size:
    if isinstance(size, (BytesIn, ElementsIn)):
        return replace(size, at=_moved(size.at, by))
    return size


def positions(effect: Effect) -> Iterator[int]:
    """All positions that a row names; those found by what the operand is are left out."""
    named: list[Position | None] = [*effect.writes_locals]
    for operand in effect.operands:
        named.append(operand.at)
        named += [one.at for one in (operand.size, operand.certain) if hasattr(one, "at")]
    if effect.waits is not None:
        named.append(effect.waits.keep)
    if effect.mbarrier is not None:
        named += [effect.mbarrier.at, effect.mbarrier.count]
    if effect.meeting is not None:
        meeting = effect.meeting
        named += [meeting.count, meeting.mask, meeting.identity]
    if effect.describes is not None:
        named += [effect.describes.local, effect.describes.buffer]
    yield from (at for at in named if isinstance(at, int))
