"""Whether a later pass puts barriers wherever accesses of two buffers need one (rule 6)."""

from __future__ import annotations

from itertools import product

import numpy as np

from smemreuse.checker.layout import Layout
from smemreuse.checker.separation.facts import Facts
from smemreuse.checker.uncompared import element_of
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Expr, variables_in
from smemreuse.ir.kernel import Buffer, For, Stmt
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.evaluate import Threads, evaluate


def are_compared(facts: Facts, layout: Layout, one: Buffer, two: Buffer) -> bool:
    """Whether it compares all accesses of two buffers and sees what collides, as `Uncompared` and
    the trace have it."""
    uncompared = facts.uncompared
    if uncompared.in_while(one, two):
        return False
    unread = uncompared.unread(one, two) or uncompared.unread(two, one)
    shift = layout.offsets[one] - layout.offsets[two]
    for (stmt, first), (other, second) in product(facts.by_buffer[one], facts.by_buffer[two]):
        both = (first.access, second.access)
        if not element_of(first) or not element_of(second) or Access.READ_WRITE in both:
            continue
        if first.access is not second.access:
            if _are_alike(facts, (stmt, first), (other, second), shift):
                return False
        elif first.access is Access.WRITE and unread:
            if not _meets_itself(facts, (stmt, first), (other, second), shift):
                return False
    return True


Made = tuple[Stmt, MemoryAccess]


def _are_alike(facts: Facts, one: Made, two: Made, shift: int) -> bool:
    """Whether two elements may have the same index, and several threads each."""
    (stmt, first), (other, second) = one, two
    start, there = first.footprint.start, second.footprint.start
    if element_of(first) != element_of(second) or start is None or there is None:
        return False
    if variables_in(start) != variables_in(there):
        return False
    mine, theirs = (_places(facts, stmt, start), _places(facts, other, there))
    if mine is None or theirs is None:
        return True
    if len(mine) != len(theirs) or not np.array_equal(mine + shift, theirs):
        return False
    exactly = evaluate(start, facts.reaches[stmt].threads)
    return exactly is None or len(np.unique(mine)) < len(mine)


def _meets_itself(facts: Facts, one: Made, two: Made, shift: int) -> bool:
    """Whether a thread surely writes to one place in both."""
    (stmt, first), (other, second) = one, two
    if first.footprint.start is None or second.footprint.start is None:
        return False
    mine = _places(facts, stmt, first.footprint.start)
    theirs = _places(facts, other, second.footprint.start)
    if mine is None or theirs is None:
        return False
    ids, here, there = np.intersect1d(
        facts.reaches[stmt].threads.ids, facts.reaches[other].threads.ids, return_indices=True
    )
    return bool(len(ids) and (mine[here] + shift == theirs[there]).any())


def _places(facts: Facts, stmt: Stmt, start: Expr) -> np.ndarray | None:
    """Where each thread accesses in the first round of all loops, and in the first block."""
    threads: Threads = facts.reaches[stmt].threads
    for scope in facts.tree.around(stmt):
        if isinstance(scope, For):
            begin = evaluate(scope.begin, threads)
            threads = threads.bind(scope.var, begin)
    for name in variables_in(start):
        if threads.values.get(name) is None:
            threads = threads.bind(name, 0)
    found = evaluate(start, threads)
    return None if found is None else np.broadcast_to(found, (threads.count,))
