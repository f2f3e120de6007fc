"""Is a buffer's content local to one iteration of a loop? Proved byte by byte (rule 2).

Every byte that an iteration reads must have been written earlier in the same iteration, and what
is read after the loop must be written in every iteration. Footprints are enumerated exactly over
all threads of the block; a loop variable that occurs only under `% c` needs only `c` values. What
cannot be enumerated (data-dependent, symbolic) is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from smemreuse.analysis.divergence import ThreadFlow
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Var, children, walk
from smemreuse.ir.kernel import (
    MAX_FOLLOWED,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    rounds_of,
    walk_statements,
)
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.evaluate import Threads, evaluate, wraps
from smemreuse.semantics.table import leaves, returns

MAX_VALUES = 64
"""Values of a loop variable that are enumerated one by one."""

MAX_RANGE = 1 << 20
"""The largest bounds of a loop whose values are all listed."""

MAX_STEPS = 5_000
"""Statements that one proof may follow, loops iterated."""

MAX_BYTES = 1 << 25
"""Bytes of one access that are enumerated, each once for every place where it begins."""

MAX_LANES = 1 << 16
"""Threads times iterations that are enumerated at once."""


class Locality:
    """Answers for the loops of one kernel body."""

    def __init__(
        self, body: Block, accesses: Mapping[Stmt, tuple[MemoryAccess, ...]], flow: ThreadFlow
    ):
        self._accesses = accesses
        self._mentioned: dict[Stmt, frozenset[Buffer]] = {}
        self._flow = flow
        self._counting = True
        self._steps_left = MAX_STEPS
        self._threads_leave = returns(body)
        self._body = body

    def is_local(self, loop: For | While, buffer: Buffer) -> bool:
        """Whether no byte of `buffer` is carried into, across or out of the loop's iterations."""
        threads = self._flow.entry.get(loop)
        size = buffer.size
        if threads is None or size is None or size > MAX_FOLLOWED or isinstance(loop, While):
            return False
        if leaves(loop) or self._threads_leave:
            return False  # an iteration may be cut short, or not all threads are there
        needed = self._read_outside(loop, buffer)
        self._steps_left = MAX_STEPS
        for value in self._values(loop, buffer, threads):
            written = np.zeros(size, dtype=bool)
            if self._exposed(loop.body, buffer, threads.bind(loop.var, value), written):
                return False
            if needed and not written.all():
                return False
        return True

    # What one iteration does to a buffer --------------------------------------------------------

    def _exposed(self, block: Block, buffer: Buffer, threads: Threads, written: np.ndarray) -> bool:
        """Whether a byte is read before `written` says that it was; writes are added to that."""
        for stmt in block:
            if isinstance(stmt, Bind):
                threads = threads.bind(stmt.var, evaluate(stmt.value, threads))
            if buffer not in self._buffers(stmt):
                continue
            self._steps_left -= 1
            if self._steps_left < 0:
                return True  # no proof within the budget
            for access in self._accesses[stmt]:
                if access.buffer is buffer and self._exposed_by(access, threads, written):
                    return True
            if isinstance(stmt, If):
                exposed = self._exposed_in_arms(stmt, buffer, threads, written)
            elif isinstance(stmt, For):
                exposed = self._exposed_in_loop(stmt, buffer, threads, written)
            elif isinstance(stmt, While):
                exposed = self._exposed_in_some_rounds(
                    stmt, stmt.condition, buffer, threads, written
                )
            else:
                exposed = any(
                    self._exposed(inner, buffer, threads, written) for inner in nested_blocks(stmt)
                )
            if exposed:
                return True
        return False

    def _exposed_by(self, access: MemoryAccess, threads: Threads, written: np.ndarray) -> bool:
        where = footprint_bytes(access, threads, len(written))
        if access.access is not Access.WRITE:
            read = written if where is None else written[where]
            if not read.all():
                return True
        certain = access.access is Access.WRITE and access.certain and self._counting
        if certain and where is not None:
            written[where] = True
        return False

    def _exposed_in_arms(
        self, stmt: If, buffer: Buffer, threads: Threads, written: np.ndarray
    ) -> bool:
        condition = evaluate(stmt.condition, threads)
        if isinstance(condition, int):
            return self._exposed(stmt.then if condition else stmt.orelse, buffer, threads, written)
        if condition is not None:
            mask = np.not_equal(condition, 0)
            arms = ((stmt.then, threads.where(mask)), (stmt.orelse, threads.where(~mask)))
            before = written.copy()
            for block, chosen in arms:
                # Arms run concurrently: neither may count on what the other writes (rule 4).
                own = before.copy()
                if chosen.count and self._exposed(block, buffer, chosen, own):
                    return True
                written |= own
            return False
        then, orelse = written.copy(), written.copy()
        with self._by_some_threads(self._flow.depends_on_thread(stmt.condition)):
            exposed = self._exposed(stmt.then, buffer, threads, then) or self._exposed(
                stmt.orelse, buffer, threads, orelse
            )
        written |= then & orelse
        return exposed

    @contextmanager
    def _by_some_threads(self, some: bool) -> Iterator[None]:
        """Inside, it is not known which threads act: what they write does not count."""
        before, self._counting = self._counting, self._counting and not some
        try:
            yield
        finally:
            self._counting = before

    def _exposed_in_some_rounds(
        self,
        stmt: For | While,
        decided_by: Expr,
        buffer: Buffer,
        threads: Threads,
        written: np.ndarray,
    ) -> bool:
        """A loop of unknown length: it may not run at all, so nothing counts behind it."""
        if isinstance(stmt, For):
            threads = threads.bind(stmt.var, None)
        with self._by_some_threads(self._flow.depends_on_thread(decided_by)):
            return self._exposed(stmt.body, buffer, threads, written.copy())

    def _exposed_in_loop(
        self, stmt: For, buffer: Buffer, threads: Threads, written: np.ndarray
    ) -> bool:
        values = _constant_range(stmt, threads)
        if values is None:
            return self._exposed_in_some_rounds(stmt, rounds_of(stmt), buffer, threads, written)
        if len(values) == 0:
            return False
        if len(self._kinds(stmt.body, buffer)) == 1:
            if threads.count * len(values) <= MAX_LANES:
                every = threads.repeated(stmt.var, values)
                return self._exposed(stmt.body, buffer, every, written)
        chosen = self._chosen(stmt, buffer, values)
        if chosen is None:
            inside = written.copy()
            return self._exposed(stmt.body, buffer, threads.bind(stmt.var, None), inside)
        return any(
            self._exposed(stmt.body, buffer, threads.bind(stmt.var, int(value)), written)
            for value in chosen
        )

    def _values(self, loop: For, buffer: Buffer, threads: Threads) -> Iterator[int | None]:
        """The values of the loop's own variable to prove for; None stands for any."""
        values = _constant_range(loop, threads)
        if not self._uses(loop.body, buffer, loop.var):
            yield None
            return
        if values is None:
            period = self._period(loop.body, buffer, loop.var)
            yield from range(period) if period is not None else (None,)
            return
        chosen = self._chosen(loop, buffer, values)
        yield from (None,) if chosen is None else map(int, chosen)

    def _chosen(self, loop: For, buffer: Buffer, values: np.ndarray) -> np.ndarray | None:
        """The iterations that have to be looked at one by one; None if there are too many."""
        period = self._period(loop.body, buffer, loop.var)
        if period is not None and period < len(values):
            return values[:period] if loop.step == Const(1) else None
        return values if len(values) <= MAX_VALUES else None

    # Facts about blocks -------------------------------------------------------------------------

    def _buffers(self, stmt: Stmt) -> frozenset[Buffer]:
        known = self._mentioned.get(stmt)
        if known is None:
            found = {access.buffer for access in self._accesses[stmt]}
            for block in nested_blocks(stmt):
                for inner in block:
                    found |= self._buffers(inner)
            known = self._mentioned[stmt] = frozenset(found)
        return known

    def _kinds(self, block: Block, buffer: Buffer) -> set[Access]:
        return {
            access.access
            for stmt in walk_statements(block)
            for access in self._accesses[stmt]
            if access.buffer is buffer
        }

    def _deciding(self, block: Block, buffer: Buffer) -> Iterator[Expr]:
        """Expressions that decide where or whether the buffer is accessed."""
        for stmt in walk_statements(block):
            if buffer not in self._buffers(stmt) and not isinstance(stmt, Bind):
                continue
            if isinstance(stmt, Bind):
                yield stmt.value
            elif isinstance(stmt, (If, While)):
                yield stmt.condition
            elif isinstance(stmt, For):
                yield from (stmt.begin, stmt.extent, stmt.step)
            for access in self._accesses[stmt]:
                if access.buffer is buffer and access.footprint.start is not None:
                    yield access.footprint.start

    def _uses(self, block: Block, buffer: Buffer, var: Var) -> bool:
        return any(node is var for expr in self._deciding(block, buffer) for node in walk(expr))

    def _period(self, block: Block, buffer: Buffer, var: Var) -> int | None:
        """`c` if `var` decides only under `% c`; None if it decides otherwise too."""
        period = 1
        for expr in self._deciding(block, buffer):
            for divisor in _moduli(expr, var):
                if divisor is None:
                    return None
                period = math.lcm(period, divisor)
        return period if period <= MAX_VALUES else None

    def _read_outside(self, loop: Stmt, buffer: Buffer) -> bool:
        """Whether statements outside of the loop may read the buffer."""
        inside = set(walk_statements((loop,)))
        return any(
            access.buffer is buffer and access.access is not Access.WRITE
            for stmt in walk_statements(self._body)
            if stmt not in inside
            for access in self._accesses[stmt]
        )


def footprint_bytes(access: MemoryAccess, threads: Threads, size: int) -> np.ndarray | None:
    """The byte indices that all threads access together; None where they are not known.

    An index that leaves the buffer is no proof of anything.
    """
    footprint = access.footprint
    if footprint.start is None:
        return None
    start = evaluate(footprint.start, threads)
    if start is None:
        return None
    starts = np.unique(np.asarray(start))
    if len(starts) * footprint.count * footprint.size > MAX_BYTES:
        return None
    runs = np.arange(footprint.count)[:, None] * footprint.stride + np.arange(footprint.size)
    where: np.ndarray = (starts.reshape(-1, 1) + runs.reshape(1, -1)).ravel()
    if len(where) and (where.min() < 0 or where.max() >= size):
        return None
    return where


def _constant_range(loop: For, threads: Threads) -> np.ndarray | None:
    """All values of a loop's variable; None where its bounds are not the same constants for all."""
    bounds: Sequence[object] = [
        evaluate(expr, threads) for expr in (loop.begin, loop.extent, loop.step)
    ]
    begin, extent, step = bounds
    if isinstance(begin, int) and isinstance(extent, int) and isinstance(step, int) and step > 0:
        if max(abs(begin), extent) <= MAX_RANGE:
            return np.arange(begin, begin + max(extent, 0), step)
    return None


def _moduli(expr: Expr, var: Var) -> Iterator[int | None]:
    """The constants modulo which `expr` depends on `var`; None for a dependence without one."""
    if expr is var:
        yield None
        return
    if isinstance(expr, Call) and expr.op == "floormod" and len(expr.args) == 2:
        dividend, divisor = expr.args
        if any(node is var for node in walk(dividend)):
            constant = divisor.value if isinstance(divisor, Const) else None
            usable = isinstance(constant, int) and constant > 0 and _is_affine(dividend, var)
            if usable and isinstance(constant, int) and wraps(dividend):
                usable = not constant & (constant - 1)  # others lose their place where it wraps
            yield int(constant) if usable and constant is not None else None
            return
    for child in children(expr):
        yield from _moduli(child, var)


def _is_affine(expr: Expr, var: Var) -> bool:
    """Whether `expr` is a sum of integer multiples of `var` and of things without it."""
    if expr is var or not any(node is var for node in walk(expr)):
        return True
    if isinstance(expr, Call) and expr.op in ("add", "sub"):
        return all(_is_affine(arg, var) for arg in expr.args)
    if isinstance(expr, Call) and expr.op == "mul":
        return any(isinstance(arg, Const) for arg in expr.args) and all(
            _is_affine(arg, var) for arg in expr.args
        )
    return False
