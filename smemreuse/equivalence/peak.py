"""How many bytes of shared memory the tiles of a program need at one time, before it is lowered.

A tile is live where it may have been written and may be read before it is written again, however
little of it that is. No plan takes less than the most bytes that are live at one time, in each
storage scope: before a statement or after it, since what it writes may take the place of what it
reads, element by element.

Loads of a pipelined loop run ahead: a lower bound leaves that out. An estimate counts a tile for
each round that may be on its way, for as long as the loop goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from smemreuse.equivalence.program import (
    Block,
    Bound,
    Branch,
    Fill,
    Loop,
    Marker,
    Operation,
    Region,
    Repeat,
    Statement,
    TileCopy,
    TileProgram,
    Write,
    is_shared,
    loaded_by,
    statements_in,
    written_by,
)
from smemreuse.ir.expr import Expr, Load, walk
from smemreuse.ir.kernel import Buffer

Tiles = frozenset[Buffer]


def least_bytes(program: TileProgram) -> int:
    """The bytes that every plan of it takes, with loads where they stand."""
    return _Peaks(ahead=False).of(program)


def estimated_bytes(program: TileProgram) -> int:
    """About the bytes that it takes, with as many tiles as loads run rounds ahead."""
    return _Peaks(ahead=True).of(program)


class _Peaks:
    """Walks a program backwards, with the tiles that are needed behind each statement, and those
    that may have been written before it."""

    def __init__(self, ahead: bool) -> None:
        self._ahead = ahead
        self._copies: Counter[Buffer] = Counter()
        """How many of a tile there are, where that is more than one."""
        self._most: Counter[str] = Counter()

    def of(self, program: TileProgram) -> int:
        self._block(program.body, frozenset(), frozenset())
        return sum(self._most.values())

    # Statements, backwards -----------------------------------------------------------------------

    def _block(self, block: Block, written: Tiles, needed: Tiles) -> Tiles:
        """What is needed before a block, of what may have been `written` before it."""
        before = [written]
        for one in block:
            before.append(before[-1] | _written_in((one,)))
        for one, known in zip(reversed(block), reversed(before[:-1]), strict=True):
            needed = self._statement(one, known, needed)
        return needed

    def _statement(self, one: Statement, written: Tiles, needed: Tiles) -> Tiles:
        if isinstance(one, Loop):
            return self._loop(one, written, needed)
        if isinstance(one, Repeat):
            return self._rounds(one.body, written, needed | _read_by(one))
        if isinstance(one, Branch):
            arms = [self._block(arm, written, needed) for arm in (one.then, one.orelse)]
            return arms[0] | arms[1] | _read_by(one)
        reads, writes = _read_by(one), _shared(written_by(one))
        before = (needed - writes) | reads
        self._note(before & (written | reads))
        self._note((needed & written) | writes)
        return before

    def _loop(self, loop: Loop, written: Tiles, needed: Tiles) -> Tiles:
        if loop.parallel:
            return self._block(loop.body, written, needed)
        if not (self._ahead and loop.ahead):
            return self._rounds(loop.body, written, needed)
        loaded = _shared(filter(None, map(loaded_by, statements_in(loop.body))))
        for one in loaded:
            self._copies[one] = max(self._copies[one], loop.ahead)
        return self._rounds(loop.body, written | loaded, needed, loaded) - loaded

    def _rounds(
        self, body: Block, written: Tiles, needed: Tiles, throughout: Tiles = frozenset()
    ) -> Tiles:
        """As `_block`, of a body that is carried out at least once: what one round needs the one
        before it hands on."""
        written |= _written_in(body)
        behind = needed | throughout
        while True:
            found = self._block(body, written, behind)
            if found <= behind:
                return found
            behind |= found

    def _note(self, live: Tiles) -> None:
        sizes: Counter[str] = Counter()
        for one in live:
            sizes[one.scope] += (one.size or 0) * max(self._copies[one], 1)
        self._most |= sizes


def _shared(buffers: Iterable[Buffer]) -> Tiles:
    return frozenset(one for one in buffers if is_shared(one))


def _written_in(block: Block) -> Tiles:
    return _shared(each for one in statements_in(block) for each in written_by(one))


def _read_by(one: Statement) -> Tiles:
    """The tiles that a statement itself reads."""
    regions: tuple[Buffer, ...] = ()
    if isinstance(one, TileCopy):
        regions = (one.source.buffer,)
    elif isinstance(one, Operation):
        regions = tuple(each.buffer for each in one.reads)
    loads = (
        each.buffer for part in _expressions(one) for each in walk(part) if isinstance(each, Load)
    )
    return _shared((*regions, *loads))


def _expressions(one: Statement) -> Iterator[Expr]:
    """The expressions of a statement itself, not those of what is inside."""
    if isinstance(one, Bound):
        yield one.value
    elif isinstance(one, Write):
        yield from (*one.indices, one.value)
    elif isinstance(one, Fill):
        yield one.value
    elif isinstance(one, (Operation, Marker)):
        yield from one.operands
    elif isinstance(one, (Repeat, Branch)):
        yield one.condition
    yield from (begin for region in _regions(one) for begin in region.begins)


def _regions(one: Statement) -> tuple[Region, ...]:
    if isinstance(one, TileCopy):
        return one.source, one.target
    if isinstance(one, Fill):
        return (one.target,)
    return (*one.reads, *one.writes) if isinstance(one, Operation) else ()
