"""Which threads of a block reach a statement, and with what in their variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Attr,
    Bind,
    Block,
    For,
    If,
    Stmt,
    While,
    nested_blocks,
    rounds_of,
    walk_statements,
)
from smemreuse.semantics.evaluate import Threads, evaluate
from smemreuse.semantics.table import varies_by_thread

AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


class ThreadFlow:
    """The threads at the entry of every statement of a kernel body.

    `entry` has None where it is not known which threads come by: under a condition that threads may
    see differently and that cannot be evaluated, or in a block whose shape is not constant.
    """

    def __init__(self, body: Block):
        self.entry: dict[Stmt, Threads | None] = {}
        self._thread_vars: set[Var] = set()
        self._thread_count = 0
        axes = thread_axes(body)
        if axes is not None:
            self._thread_count = int(np.prod(list(axes.values())))
            self._enter(body, Threads(np.arange(self._thread_count)), axes)

    def is_divergent(self, stmt: If) -> bool:
        """Whether threads of one block may take different arms (rule 4); True if not known."""
        threads = self.entry.get(stmt)
        if threads is None:
            return True
        condition = evaluate(stmt.condition, threads)
        if condition is None:
            return self.depends_on_thread(stmt.condition)
        return isinstance(condition, np.ndarray) and len(np.unique(condition)) > 1

    def parts_of_warps(self, stmt: Stmt) -> Iterator[Block]:
        """The blocks of a branch or loop that part of a warp may enter without the rest."""
        threads = self.entry.get(stmt)
        if isinstance(stmt, If):
            condition = evaluate(stmt.condition, threads) if threads is not None else None
            if threads is None or condition is None:
                if threads is None or self.depends_on_thread(stmt.condition):
                    yield from (stmt.then, stmt.orelse)
            elif isinstance(condition, np.ndarray):
                mask = np.not_equal(condition, 0)
                for block, chosen in ((stmt.then, mask), (stmt.orelse, ~mask)):
                    if not self._whole_warps(threads.ids[chosen]):
                        yield block
        elif isinstance(stmt, (For, While)):
            rounds = rounds_of(stmt) if isinstance(stmt, For) else stmt.condition
            if self.depends_on_thread(rounds):
                yield stmt.body

    def _whole_warps(self, ids: np.ndarray) -> bool:
        """Whether these are all threads of the warps that they are in."""
        present = np.zeros(-(-self._thread_count // 32) * 32, dtype=bool)
        present[ids] = True
        warps = present.reshape(-1, 32)
        sizes = np.minimum(self._thread_count - 32 * np.arange(len(warps)), 32)
        there = warps.sum(axis=1)
        return bool(((there == 0) | (there == sizes)).all())

    def _enter(self, block: Block, threads: Threads | None, axes: Mapping[str, int]) -> None:
        """Notes with which threads and variables each loop and branch is reached."""
        for stmt in block:
            self.entry[stmt] = threads
            if threads is None:
                for inner in nested_blocks(stmt):
                    self._enter(inner, None, axes)
            elif isinstance(stmt, Bind):
                threads = threads.bind(stmt.var, evaluate(stmt.value, threads))
                if self.depends_on_thread(stmt.value):
                    self._thread_vars.add(stmt.var)
            elif isinstance(stmt, Attr):
                self._enter(stmt.body, self._with_axis(stmt, threads, axes), axes)
            elif isinstance(stmt, If):
                then, orelse = self._arms(stmt, threads)
                self._enter(stmt.then, then, axes)
                self._enter(stmt.orelse, orelse, axes)
            elif isinstance(stmt, For):
                if self.depends_on_thread(stmt.begin) or self.depends_on_thread(stmt.step):
                    self._thread_vars.add(stmt.var)
                self._enter(stmt.body, threads.bind(stmt.var, None), axes)
            else:
                for inner in nested_blocks(stmt):
                    self._enter(inner, threads, axes)

    def _with_axis(self, stmt: Attr, threads: Threads, axes: Mapping[str, int]) -> Threads:
        if stmt.key != THREAD_EXTENT or stmt.var is None:
            return threads
        tag = str(stmt.node.value) if isinstance(stmt.node, Const) else ""
        if tag not in axes:
            return threads.bind(stmt.var, None)
        self._thread_vars.add(stmt.var)
        stride = int(np.prod([axes.get(axis, 1) for axis in AXES[: AXES.index(tag)]]))
        return threads.bind(stmt.var, threads.ids // stride % axes[tag])

    def _arms(self, stmt: If, threads: Threads) -> tuple[Threads | None, Threads | None]:
        """The threads of each arm; None where it is not known which they are."""
        condition = evaluate(stmt.condition, threads)
        if condition is None:
            both = None if self.depends_on_thread(stmt.condition) else threads
            return both, both
        if isinstance(condition, int):
            return threads, threads  # one of them is dead code
        mask = np.not_equal(condition, 0)
        return threads.where(mask), threads.where(~mask)

    def depends_on_thread(self, expr: Expr) -> bool:
        """Whether threads may see different values: by index, through memory, or from a call."""
        return any(
            isinstance(node, Load)
            or (isinstance(node, Var) and node in self._thread_vars)
            or (isinstance(node, Call) and varies_by_thread(node))
            for node in walk(expr)
        )


def thread_axes(body: Block) -> dict[str, int] | None:
    """The extents of the thread axes; None where they are not constant or too large."""
    axes: dict[str, int] = {}
    for stmt in walk_statements(body):
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and isinstance(stmt.node, Const):
            tag = str(stmt.node.value)
            extent = stmt.value.value if isinstance(stmt.value, Const) else None
            if tag in AXES:
                if not isinstance(extent, int) or extent < 1:
                    return None
                if axes.setdefault(tag, extent) != extent:
                    return None
    return axes if math.prod(axes.values()) <= 1024 else None
