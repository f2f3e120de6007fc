"""Tiles that are loaded again for each use, instead of kept from one to the next.

As a register allocator rematerializes a value: between two uses of a tile its bytes are others'. A
product of two such tiles may go over its inner dimension in slices, each in a part of the bytes.
What a load reads must be what it was; `equivalence` proves that of what is made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from smemreuse.compilers.tilelang.levers.products import MatrixProduct, product_of
from smemreuse.compilers.tilelang.levers.slices import sliced_matrix
from smemreuse.compilers.tilelang.levers.tile_ops import (
    buffer_of,
    copied,
    int32,
    is_plain,
    number,
    sequences,
    touched,
    uses_in,
    with_buffers,
    with_sequences,
)
from smemreuse.compilers.tilelang.visitor import TIR, tirx

SLICE_BYTES = 128
"""The least that a slice has of a row: the widest swizzle, and whole instructions of a product."""

_LAYOUTS = "layout_map"
_BLOCK = "SBlock" if hasattr(tirx, "SBlock") else "Block"


@dataclass(frozen=True)
class LoadedTile:
    """A tile in shared memory that nothing writes but loads from global memory, which stand in one
    sequence; and the statements that use it, each with the sequence that it is in."""

    buffer: Any
    loads: tuple[Any, ...]
    uses: tuple[Any, ...]
    is_kept: bool
    """Whether it is kept for a loop, or from one use to another."""

    @property
    def name(self) -> str:
        return str(self.buffer.name)

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.buffer.shape:
            count *= number(extent) or 1
        return count


# Which tiles ------------------------------------------------------------------------------------


def loaded_tiles(func: Any) -> list[LoadedTile]:
    """The tiles of a function that can be loaded again, the largest first."""
    places = _Places(func)
    found = [tile for buffer in places.loads if (tile := places.tile(buffer)) is not None]
    return sorted(found, key=lambda one: (-one.elements, one.name))


class _Places:
    """Where each tile that is loaded is loaded and used: by statements with no sequence inside."""

    def __init__(self, func: Any) -> None:
        self._func = func
        self._blocks = list(sequences(func.body))
        self.loads: dict[Any, list[tuple[int, int]]] = {}
        self._uses: dict[Any, list[tuple[int, int]]] = {}
        for at, block in enumerate(self._blocks):
            for position, stmt in enumerate(block):
                if not _is_nested(stmt):
                    self._note(at, position, stmt)

    def _note(self, at: int, position: int, stmt: Any) -> None:
        target = load_target(stmt)
        if target is not None:
            self.loads.setdefault(target, []).append((at, position))
            return
        reads, writes = touched(stmt)
        for one in reads | writes:
            self._uses.setdefault(one, []).append((at, position))

    def _stmt(self, place: tuple[int, int]) -> Any:
        return self._blocks[place[0]][place[1]]

    def tile(self, buffer: Any) -> LoadedTile | None:
        """A tile, if all that names it is known, only loads of one sequence write it, and what uses
        it comes after them there, or is inside of what does."""
        loads, uses = self.loads[buffer], self._uses.get(buffer, [])
        block = self._blocks[loads[0][0]]
        known = sum(uses_in(self._stmt(one), buffer) for one in (*loads, *uses))
        behind = sum(uses_in(one, buffer) for one in block[loads[-1][1] + 1 :])
        loading = sum(uses_in(self._stmt(one), buffer) for one in loads)
        named = uses_in(self._func.body, buffer)
        if not behind or known != named or loading + behind != named:
            return None
        users = [self._stmt(one) for one in uses]
        written = any(buffer in touched(one)[1] or not is_plain(one) for one in users)
        if written or len({at for at, _ in loads}) > 1 or _is_addressed(self._func.body, buffer):
            return None
        apart = any(one[0] != two[0] or two[1] - one[1] > 1 for one, two in pairwise(uses))
        is_kept = apart or any(at != loads[0][0] for at, _ in uses)
        return LoadedTile(buffer, tuple(map(self._stmt, loads)), tuple(users), is_kept)


def _is_nested(stmt: Any) -> bool:
    """Whether a statement has a sequence of others inside."""
    return next(iter(sequences(stmt)), None) is not None


def load_target(stmt: Any) -> Any | None:
    """The tile in shared memory that a statement does nothing but load from global memory."""
    is_load = isinstance(stmt, tirx.For) or copied(stmt) is not None
    reads, writes = touched(stmt) if is_load and is_plain(stmt) else (set(), set())
    reads = reads - writes if copied(stmt) is not None else reads
    if len(writes) != 1 or not reads or any(one.scope() != "global" for one in reads):
        return None
    (target,) = writes
    return target if target.scope().startswith("shared") else None


def _is_addressed(body: Any, buffer: Any) -> bool:
    """Whether a tile's address is taken, so that statements may use it unnamed."""
    found = False

    def look(node: Any) -> None:
        nonlocal found
        found |= isinstance(node, tirx.Var) and node.same_as(buffer.data)

    tirx.stmt_functor.post_order_visit(body, look)
    return found


# What is made of them ---------------------------------------------------------------------------


@dataclass
class Reloading:
    """Rewrites a function so that some tiles are loaded again for each use, or group of uses that
    follow each other; `slices` above 1 are those in which products of two such tiles go on."""

    tiles: Sequence[LoadedTile]
    slices: int = 1
    least_bytes: int = SLICE_BYTES
    sliced: list[tuple[str, str]] = field(default_factory=list)
    """The tiles of the products that go in slices."""
    _added: dict[Any, list[Any]] = field(default_factory=dict)
    """New tiles, by those that they are parts or copies of."""

    def rewritten(self, func: Any) -> Any:
        return func.with_body(_with_tiles(with_sequences(func.body, self._block), self._added))

    def _block(self, block: list[Any]) -> list[Any] | None:
        found: list[Any] = []
        before: frozenset[str] = frozenset()
        copies: dict[Any, Any] = {}
        loads = [one for tile in self.tiles for one in tile.loads]
        for stmt in block:
            if any(stmt.same_as(one) for one in loads):
                before = frozenset()
                continue
            used = [tile for tile in self.tiles if any(stmt.same_as(one) for one in tile.uses)]
            product = self._in_slices(stmt, used)
            if product:
                found += product
                before = frozenset()
                continue
            for tile in used:
                if tile.name not in before:
                    copies[tile.buffer] = self._new(tile)
                    found += [with_buffers(one, copies) for one in tile.loads]
            before = frozenset(tile.name for tile in used)
            found.append(with_buffers(stmt, {one.buffer: copies[one.buffer] for one in used}))
        same = len(found) == len(block)
        if same and all(one.same_as(two) for one, two in zip(found, block, strict=True)):
            return None
        return found

    def _new(self, tile: LoadedTile, shape: Sequence[Any] = ()) -> Any:
        """A tile of its own for what a load brings, or for a part of it."""
        added = self._added.setdefault(tile.buffer, [])
        name, old = f"{tile.name}_{len(added) + 1}", tile.buffer
        added.append(tirx.decl_buffer(shape or old.shape, old.dtype, name, scope=old.scope()))
        return added[-1]

    # Slices -------------------------------------------------------------------------------------

    def _in_slices(self, stmt: Any, used: Sequence[LoadedTile]) -> list[Any]:
        """A product of two tiles as a loop over its slices, before which the first stands that
        clears what it adds to; nothing where it has none."""
        product = product_of(stmt.value) if isinstance(stmt, tirx.Evaluate) else None
        if self.slices == 1 or product is None or not self._has_slices(product):
            return []
        by_buffer = {tile.buffer: tile for tile in used}
        matrices = []
        for region, axis in zip(product.matrices, product.axes, strict=True):
            tile = by_buffer.get(buffer_of(region))
            found = None if tile is None else sliced_matrix(region, axis, tile.loads)
            if found is None:
                return []
            matrices.append(found)
        if len(by_buffer) != 2:
            return []
        part, size = tirx.Var("part", "int32"), product.depth // self.slices
        tiles = [self._new(by_buffer[one.buffer], one.shape(size)) for one in matrices]
        pairs = list(zip(matrices, tiles, strict=True))
        one, two = (matrix.matrix(tile, size) for matrix, tile in pairs)

        def slice_at(begin: Any, *, clears: bool = False) -> list[Any]:
            loads = [matrix.load(tile, begin, size) for matrix, tile in pairs]
            return [*loads, product.of((one, two), size, clears=clears)]

        self.sliced.append((str(matrices[0].buffer.name), str(matrices[1].buffer.name)))
        first = int(product.clears)
        before = slice_at(int32(0), clears=True) if product.clears else []
        rest = tirx.SeqStmt(slice_at(part * size))
        kind = tirx.ForKind.SERIAL
        return [*before, tirx.For(part, int32(first), int32(self.slices - first), kind, rest)]

    def _has_slices(self, product: MatrixProduct) -> bool:
        """Whether slices are whole instructions, and their rows wide enough."""
        least = max(self.least_bytes * 8 // product.element_bits, 1)
        return product.depth % (self.slices * least) == 0


def _alike(news: list[Any] | None, var: Any, layout: Any) -> list[Any]:
    """The variables that a layout is for: of parts of a tile it is none."""
    if news is None:
        return [var]
    shape = [int(one) for one in layout.input_size]
    return [one.data for one in news if [number(each) for each in one.shape] == shape]


def _with_tiles(body: Any, added: dict[Any, list[Any]]) -> Any:
    """A body with the allocations of new tiles where those are that they come from, which are left
    out; a layout that was asked for is asked for of copies, too."""

    def change(block: Any) -> Any:
        if not any(one in added for one in block.alloc_buffers):
            return None
        allocated = [new for one in block.alloc_buffers for new in added.get(one, [one])]
        notes = dict(block.annotations)
        if _LAYOUTS in notes:
            known = {old.data: news for old, news in added.items()}
            notes[_LAYOUTS] = {
                new: layout
                for var, layout in notes[_LAYOUTS].items()
                for new in _alike(known.get(var), var, layout)
            }
        return type(block)(
            *(block.iter_vars, block.reads, block.writes, block.name_hint, block.body),
            *(block.init, allocated, block.match_buffers, notes),
        )

    return tirx.stmt_functor.ir_transform(body, None, change, [f"{TIR}.{_BLOCK}"])
