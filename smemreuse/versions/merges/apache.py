"""What Apache TVM's merge pass sees of a kernel, blind spots included, for parity with it.

It differs from our policy `outer` in what it takes for a touch. Of `address_of(buf[i])` it sees
what is read to compute `i`, and nothing of `buf`. A buffer's address counts where it is named, also
where it is only bound to a variable, and accesses through that variable do not. It knows nothing of
TileLang's warp specialization, nor of allocations outside of the launch. A live range that ends
at a leaf ends *before* that statement's own first writes, so that a buffer first written there may
take the bytes it reads: `Y[tx] = X[127 - tx]` is then a race.

The pass fails on some kernels, which is reported and not reproduced. Used for policy `outer` with
packer `tvm`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import SCOPE_ATTRS, Linearizer
from smemreuse.analysis.liveness import live_ranges
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Expr, Load, Pointer, children
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    TVM_ALIGNMENT,
    Allocate,
    Assert,
    Attr,
    Bind,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    expressions_of,
    nested_blocks,
)
from smemreuse.policies.packing import Liveness
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import StockFailure, StockFault
from smemreuse.results.sequence import LiveRange, StmtEntry, Touch
from smemreuse.semantics.elements import addressed_element, is_typed
from smemreuse.versions.merges.merge import Merge

_SMALL_BITS = 32


@dataclass(frozen=True)
class ApacheMerge(Merge):
    """`s_tir.transform.MergeSharedMemoryAllocations`, which has no option."""

    compiler: ClassVar[str] = "Apache TVM"
    only_whole: ClassVar[bool] = True

    def liveness(self, kernel: Kernel, scope: str) -> Liveness:
        """The live ranges of the pass's model, without the buffers that it does not place.

        The pass aligns a buffer by its own `data_alignment` alone.
        """
        model = facts_of(kernel).ask(_seen_by_the_pass, scope)
        buffers = kernel.allocations(scope)
        live = {one: found for one, found in model.live.items() if one not in model.unplaced}
        own = {buffer: buffer.alignment or TVM_ALIGNMENT for buffer in buffers}
        return Liveness(scope, buffers, own, live, model.entries, events=model.events)

    def failures(self, kernel: Kernel, scope: str) -> tuple[StockFailure, ...]:
        return facts_of(kernel).ask(_seen_by_the_pass, scope).failures

    def made(self, kernel: Kernel, scope: str) -> Plan:
        """The pass's layout, with the alignments that the buffers need, which it may not give."""
        plan = super().made(kernel, scope)
        needed = alignments(kernel, scope)
        align = {one: max(needed[one], own) for one, own in plan.alignments.items()}
        plan = plan.with_provenance(failures=self.failures(kernel, scope))
        return replace(plan, alignments=align)


@dataclass(frozen=True)
class _Model:
    """The result of the pass: live ranges, the order of their ends, and why it fails, if it does.

    `events` are pairs of a buffer and whether its range begins. `unplaced` buffers are touched but
    get no place in the arena. `entries` is the pass's linear sequence.
    """

    entries: tuple[StmtEntry, ...]
    live: dict[Buffer, LiveRange]
    events: tuple[tuple[Buffer, bool], ...]
    unplaced: tuple[Buffer, ...]
    failures: tuple[StockFailure, ...]


def _seen_by_the_pass(facts: KernelFacts, scope: str) -> _Model:
    """The kernel as the pass sees it, from the allocations of one storage scope."""
    finder = _Finder(scope)
    finder.block(facts.kernel.body)
    ranges = live_ranges(finder.entries)
    unplaced = tuple(buffer for buffer in ranges if _is_small(buffer))
    events = tuple(_events(finder.entries, ranges))
    live = {
        # Nothing begins at a scope's end, so that one rule covers both kinds of kill.
        buffer: LiveRange(buffer, found.begin, max(found.kill, found.begin + 1))
        for buffer, found in ranges.items()
    }
    failures = [*finder.failures, *_placeless(finder.accessed, live, unplaced)]
    return _Model(tuple(finder.entries), live, events, unplaced, tuple(dict.fromkeys(failures)))


def _is_small(buffer: Buffer) -> bool:
    return buffer.size is not None and 0 < 8 * buffer.size <= _SMALL_BITS


def _placeless(
    accessed: Iterable[Buffer], live: Iterable[Buffer], unplaced: Sequence[Buffer]
) -> Iterable[StockFailure]:
    """The failures of the pass: buffers that are used but have no offset."""
    for buffer in unplaced:
        yield StockFailure(StockFault.SMALL, buffer.name)
    seen = set(live)
    for buffer in accessed:
        if buffer not in seen:
            yield StockFailure(StockFault.ADDRESS_ONLY, buffer.name)


def _events(
    entries: Sequence[StmtEntry], ranges: dict[Buffer, LiveRange]
) -> Iterable[tuple[Buffer, bool]]:
    """The begins (True) and ends (False) of live ranges, in the order in which the pass handles
    them.

    At each position: ranges that end, ranges that begin, then ranges of a single leaf end.
    """
    for position, entry in enumerate(entries):
        over = [one for one in _touched(entry) if ranges[one].kill == position]
        yield from ((buffer, False) for buffer in over if ranges[buffer].gen != position)
        if entry.scope_pair_offset >= 0:
            inside = _touched(entries[position + entry.scope_pair_offset])
            yield from ((buffer, True) for buffer in inside if ranges[buffer].gen == position)
        yield from ((buffer, False) for buffer in over if ranges[buffer].gen == position)


def _touched(entry: StmtEntry) -> dict[Buffer, None]:
    """What an entry touches, each once, in order of the first touch."""
    return dict.fromkeys(touch.buffer for touch in entry.touched)


class _Finder(Linearizer):
    """Walks a kernel as `SharedMemLinearAccessPatternFinder` does."""

    def __init__(self, scope: str):
        super().__init__()
        self.failures: list[StockFailure] = []
        self.accessed: dict[Buffer, None] = {}  # whose accesses the pass rewrites
        self._scope = scope

    def statement(self, stmt: Stmt) -> None:
        """Makes the entries of a statement; outside of a launch only its nested blocks count."""
        if isinstance(stmt, Attr):
            self._attr(stmt)
        elif not self.in_launch:
            for block in nested_blocks(stmt):
                self.block(block)
        elif isinstance(stmt, Allocate):
            self.alloc_level[stmt.buffer] = len(self.open)
        elif isinstance(stmt, (Store, Evaluate)):
            self.leaf(stmt)
        elif isinstance(stmt, Bind):
            self.touch(stmt)
        elif isinstance(stmt, (For, While, If, Assert)):
            self.new_scope(stmt)

    def _attr(self, stmt: Attr) -> None:
        """Makes a scope of the first thread axis and of scope attributes; other attributes only
        touch.
        """
        if stmt.key == THREAD_EXTENT and not self.in_launch:
            self.launch(stmt)
        elif self.in_launch and stmt.key in SCOPE_ATTRS:
            self.new_scope(stmt)
        else:
            if self.in_launch:
                self.touch(stmt)
            self.block(stmt.body)

    def touch(self, stmt: Stmt) -> None:
        for expr in expressions_of(stmt):
            self._expr(expr)
        if isinstance(stmt, Store):
            self._access(stmt.buffer, stmt)

    def _expr(self, expr: Expr) -> None:
        """Records what the pass sees of an expression: of an address only its indices."""
        element = addressed_element(expr)
        if element is not None:
            for index in children(element):
                self._expr(index)
            self._rewritten(element.buffer)
            return
        for operand in children(expr):
            self._expr(operand)
            if isinstance(operand, Pointer) and is_typed(expr):
                self._rewritten(operand.buffer)
        if isinstance(expr, Load):
            self._access(expr.buffer, expr)
        elif isinstance(expr, Pointer):
            self._touch(expr.buffer, expr)

    def _access(self, buffer: Buffer, node: Expr | Stmt) -> None:
        self._touch(buffer, node)
        self._rewritten(buffer)

    def _rewritten(self, buffer: Buffer) -> None:
        """Records a buffer of the scope whose accesses the pass rewrites."""
        storage = buffer.storage
        if (
            isinstance(storage, Buffer)
            and storage in self.alloc_level
            and storage.scope == self._scope
        ):
            self.accessed[storage] = None

    def _touch(self, buffer: Buffer, node: Expr | Stmt) -> None:
        """Records a touch at the level of the buffer's allocation, or the failure of the pass
        there.
        """
        storage = buffer.storage
        level = self.alloc_level.get(storage) if isinstance(storage, Buffer) else None
        if not isinstance(storage, Buffer) or level is None:
            return
        if level >= len(self.open):
            self.failures.append(StockFailure(StockFault.READ_OUTSIDE, storage.name))
            level = len(self.open) - 1
        if storage.scope == self._scope:
            self.open[level].append(Touch(storage, Access.READ_WRITE, node))
