"""Which accesses of a statement stand before the barriers in one of its operations, and which
behind."""

from __future__ import annotations

from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Stmt, Store, walk_statements
from smemreuse.semantics.accesses import KernelAccesses, MemoryAccess
from smemreuse.semantics.table import calls_of, effect_of
from smemreuse.semantics.within import AroundMeeting, meeting_within
from tests.checker.small import kernel_of, reduced, under


def _statement(body: str) -> tuple[Stmt, tuple[MemoryAccess, ...]]:
    kernel = kernel_of(body)
    (stmt,) = (
        one
        for one in walk_statements(kernel.body)
        if any(effect_of(call).within for call in calls_of(one))
    )
    return stmt, KernelAccesses.of(kernel.body).by_statement[stmt]


def _apart(body: str) -> tuple[list[str], list[str], list[str]]:
    stmt, accesses = _statement(body)
    call = meeting_within(stmt)
    assert call is not None
    around = AroundMeeting.of(call, accesses)
    before, own, behind = (
        [
            f"{one.buffer.name} {'r' if one.access is Access.READ else 'w'}"
            for one in part
            if one.buffer.name in ("As", "Bs")
        ]
        for part in (around.before, around.own, around.behind)
    )
    return before, own, behind


def test_what_is_handed_in_is_read_before_and_the_workspace_used_behind() -> None:
    assert _apart(f"O[tx] = {reduced(value='Bs[tx]')}\n") == (["Bs r"], ["As w"], [])
    assert _apart(f"Bs[tx] = {reduced()}\n") == ([], ["As w"], ["Bs w"])


def test_what_stands_beside_an_operation_may_be_read_before_it_or_behind() -> None:
    assert _apart(f"O[tx] = Bs[tx] + {reduced()}\n") == (["Bs r"], ["As w"], ["Bs r"])


def test_an_operation_that_begins_before_its_barrier_may_access_on_both_sides() -> None:
    transposed = 'T.call_extern("handle", "tl::tcgen05_sf_warp_transpose", As.data)\n'
    assert _apart(transposed) == (["As w"], ["As w"], [])


def test_threads_meet_in_what_is_surely_evaluated_once() -> None:
    def meets(body: str) -> bool:
        stmt, _ = _statement(body)
        return meeting_within(stmt) is not None

    assert meets(f"O[tx] = {reduced()}\n")
    assert meets(f"O[tx] = T.max({reduced()}, 3)\n")
    assert not meets(f"O[tx] = T.if_then_else(D[0] > 0, {reduced()}, 0)\n")
    assert meets(f"O[tx] = T.if_then_else({reduced()} > 0, 1, 0)\n")
    assert not meets(f"O[tx] = {reduced()} + {reduced(workspace='Bs')}\n")
    assert not meets(f"O[{reduced()}] = 0\n")
    assert not meets(under(f"if {reduced()} > 0", "O[tx] = 0\n"))
    stmt, _ = _statement(f"O[tx] = {reduced()}\n")
    assert isinstance(stmt, Store)
