"""What statements do that are neither loops nor branches, on value numbers."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import prod

import numpy as np

from smemreuse.equivalence.expressions import Expressions
from smemreuse.equivalence.memory import GlobalMemory, GlobalPlaces, Numbering
from smemreuse.equivalence.program import (
    Bound,
    Fill,
    Fold,
    Marker,
    Operation,
    Region,
    TileCopy,
    Unfollowed,
    Write,
    is_global,
    is_own,
    loaded_by,
)
from smemreuse.equivalence.terms import Term, chosen, combined, known, made, places
from smemreuse.ir.kernel import Buffer

TILES_AT_POINTS = "a tile operation is inside a parallel loop"


class Effects(Expressions):
    """The effects of statements on the memory of a block whose number is a symbol.

    With `ahead` loads of pipelined loops see global memory as it was when these let them begin.
    """

    def __init__(self, names: Numbering, ahead: bool) -> None:
        super().__init__(names)
        self.ahead = ahead

    def carry_out(self, one: Bound | Write | TileCopy | Fill | Operation | Marker) -> None:
        if isinstance(one, Bound):
            self.values[one.var] = self.value(one.value)
        elif isinstance(one, Write):
            self._write(one)
        elif isinstance(one, (TileCopy, Fill)) and self.points.extents:
            raise Unfollowed(TILES_AT_POINTS)
        elif isinstance(one, TileCopy):
            self._transfer(one)
        elif isinstance(one, Fill):
            value = self.cast(self.value(one.value), self._type(one.value), one.target.buffer.dtype)
            self._put(one.target, _one_value(value))
        elif isinstance(one, Operation):
            self._operation(one)
        else:
            operands = [*map(self.value, one.operands), *map(known, self.points.extents)]
            state = self.tiles.state
            state.events = combined(one.name, (state.events, *operands, *self.points.guards))

    # Tile operations ----------------------------------------------------------------------------

    def _transfer(self, one: TileCopy) -> None:
        source, target = one.source, one.target
        with self._reading(one):
            if source.extents_above_one != target.extents_above_one:
                self._operation(Operation("transfer", (source,), (target,)))
                return
            value = self._taken(source)
        value = self.cast(value, source.buffer.dtype, target.buffer.dtype)
        self._put(target, value.reshaped(target.extents))

    def _reading(self, one: TileCopy | Write) -> AbstractContextManager[None]:
        """How a statement reads global memory."""
        early = self.ahead and self.early and loaded_by(one) is not None
        return self.running_ahead() if early else nullcontext()

    def _taken(self, region: Region) -> Term:
        """The elements of a region."""
        begins = self._begins(region)
        if is_global(region.buffer):
            return self.global_memory(region.buffer).read(self._places(region, begins))
        return self.tiles.read_region(region, begins)

    def _put(self, region: Region, value: Term) -> None:
        begins, buffer = self._begins(region), region.buffer
        if is_global(buffer):
            at = self._places(region, begins)
            written = self.global_memory(buffer).write(at, value.over(region.extents))
            self.tiles.state.globals[buffer.storage] = written
        else:
            self.tiles.write_region(region, begins, value)

    def _begins(self, region: Region) -> tuple[Term, ...]:
        return tuple(_one_value(self.value(one)) for one in region.begins)

    def _places(self, region: Region, begins: tuple[Term, ...]) -> GlobalPlaces:
        """The places of a region in global memory."""
        rank, indices = len(region.extents), []
        for axis, (begin, extent) in enumerate(zip(begins, region.extents, strict=True)):
            steps = np.arange(extent).reshape((-1,) + (1,) * (rank - axis - 1))
            indices.append(begin.plus(known(steps)))
        self.tiles.work += prod(region.extents)
        return self.address(region.buffer, tuple(indices))

    def _operation(self, one: Operation) -> None:
        if self.points.extents:
            self._at_points(one)
            return
        if one.fold is not None:
            self._fold(one, one.fold)
            return
        taken = [self._taken(region) for region in (*one.reads, *one.writes)]
        operands = [self.value(operand) for operand in one.operands]
        digest = combined(one.name, (*operands, *taken))
        for number, region in enumerate(one.writes):
            self._put(region, places("result", (digest, number), region.extents))

    def _fold(self, one: Operation, fold: Fold) -> None:
        """A product, step by step: what one step leaves is what the next one adds to, so that a
        product of slices, one after the other, leaves the same."""
        (into,) = one.writes
        matrices = [self._taken(region).over(region.extents) for region in one.reads]
        value = places("nothing", (), into.extents) if fold.clears else self._taken(into)
        operands = [self.value(operand) for operand in one.operands]
        depth = one.reads[0].extents[fold.axes[0]]
        for begin in range(0, depth, fold.step):
            inner = slice(begin, begin + fold.step)
            parts = (
                matrix.at((slice(None),) * axis + (inner,))
                for matrix, axis in zip(matrices, fold.axes, strict=True)
            )
            known_before = () if fold.clears and begin == 0 else (value,)
            digest = combined(one.name, (*operands, *parts, *known_before))
            value = places("result", (digest, 0), into.extents)
            self.tiles.work += value.rest.size
        self._put(into, value)

    def _at_points(self, one: Operation) -> None:
        """An operation on single elements, at all points at once. They may meet in an element:
        what they write is a function of all of them."""
        regions = (*one.reads, *one.writes)
        if any(prod(region.extents) != 1 for region in regions):
            raise Unfollowed(TILES_AT_POINTS)
        shape = self.points.shape
        indices = [begin for region in regions for begin in region.begins]
        operands = [*map(self.value, (*one.operands, *indices)), *self.points.guards]
        known_at = [each.over(shape) for each in operands]
        memory = [self._whole(region.buffer) for region in regions]
        digest = combined(one.name, (*memory, *known_at))
        for number, region in enumerate(one.writes):
            self._put_whole(region.buffer, combined("result", (digest, number)))

    def _whole(self, buffer: Buffer) -> int:
        """One number of all that a buffer holds."""
        if is_global(buffer):
            self.known_view(buffer)
            return self.global_memory(buffer).digest
        if is_own(buffer):
            raise Unfollowed(f"points of a parallel loop hand {buffer.name} on")
        return self.tiles.read_whole(buffer)

    def _put_whole(self, buffer: Buffer, digest: int) -> None:
        if is_global(buffer):
            self.tiles.state.globals[buffer.storage] = GlobalMemory(digest)
        else:
            self.tiles.put(buffer, places("changed", (digest,), (self.tiles.size(buffer),)))

    # Elements -----------------------------------------------------------------------------------

    def _write(self, one: Write) -> None:
        with self._reading(one):
            value = self.value(one.value)
        indices = tuple(map(self.value, one.indices))
        shape, guard = self.points.shape, self._guard()
        if is_global(one.buffer):
            self._write_global(one.buffer, indices, value, guard)
            return
        at, buffer = self._place(one.buffer, indices, shape), one.buffer
        if is_own(buffer) and buffer.storage in self.points.scratch:
            self._write_own(buffer, at, value, guard)
            return
        number = at.known
        if number is None:
            before = self.tiles.read_whole(buffer)
            written = [each.over(shape) for each in (at, value, guard)]
            self._put_whole(buffer, combined("into", (before, *written)))
            return
        places_known = np.broadcast_to(number, shape)
        taking_part = guard.known
        if taking_part is None:
            value = chosen(guard, value, self.tiles.read(buffer, places_known)).over(shape)
        elif not taking_part.all():
            mask = np.broadcast_to(taking_part != 0, shape)
            places_known, value = places_known[mask], value.over(shape).at(mask)
        self.tiles.write(buffer, places_known, value)

    def _place(self, buffer: Buffer, indices: tuple[Term, ...], shape: tuple[int, ...]) -> Term:
        self.tiles.size(buffer)
        return self.place(buffer, indices).over(shape)

    def _guard(self) -> Term:
        """What has to hold for a point to take part."""
        found = known(1)
        for one in self.points.guards:
            found = _both(found, one)
        return found

    def _write_global(
        self, buffer: Buffer, indices: tuple[Term, ...], value: Term, guard: Term
    ) -> None:
        shape = self.points.shape
        indices = tuple(one.over(shape) for one in indices)
        taking_part = guard.known
        memory = self.global_memory(buffer)
        if taking_part is None:
            at = self.address(buffer, indices)
            value = chosen(guard.over(shape), value.over(shape), memory.read(at))
        elif not taking_part.all():
            mask = np.broadcast_to(taking_part != 0, shape)
            if not mask.any():
                return
            indices = tuple(one.at(mask) for one in indices)
            at, value = self.address(buffer, indices), value.over(shape).at(mask)
        else:
            at = self.address(buffer, indices)
        self.tiles.work += at.hashes.size
        self.tiles.state.globals[buffer.storage] = memory.write(at, value)

    def _write_own(self, buffer: Buffer, at: Term, value: Term, guard: Term) -> None:
        """Writes to a register that each point has for itself."""
        shape, number = self.points.shape, at.known
        size = self.tiles.size(buffer)
        if number is None or (number < 0).any() or (number >= size).any():
            raise Unfollowed(f"it is not known where points write in {buffer.name}")
        nothing = known(0).over((*shape, size)), np.zeros((*shape, size), dtype=bool)
        values, written = self.points.own.get(buffer.storage, nothing)
        if values.rest.shape[:-1] != shape:
            raise Unfollowed(f"{buffer.name} is used in loops of other points")
        where = np.broadcast_to(number, shape)[..., None]
        if not (guard.known is not None and guard.known.all()):
            if not np.take_along_axis(written, where, -1).all():
                raise Unfollowed(f"points of a parallel loop hand {buffer.name} on")
            value = chosen(guard, value, self._own(buffer, at))
        value, written = value.over(shape), written.copy()
        rest, numbers = values.rest.copy(), values.number.copy()
        np.put_along_axis(rest, where, value.rest[..., None], -1)
        np.put_along_axis(numbers, where, value.number[..., None], -1)
        np.put_along_axis(written, where, True, -1)
        self.points.own[buffer.storage] = Term(rest, numbers), written


def _both(one: Term, other: Term) -> Term:
    """Whether two conditions hold, where one of them surely does as the other."""
    for this, that in ((one, other), (other, one)):
        number = this.known
        if number is not None and (number != 0).all():
            return that
    numbers = one.known, other.known
    if numbers[0] is not None and numbers[1] is not None:
        return known(((numbers[0] != 0) & (numbers[1] != 0)).astype(np.int64))
    return made("and", (one, other))


def _one_value(value: Term) -> Term:
    """A value that is the same for the whole block, without axes."""
    return value.reshaped(())
