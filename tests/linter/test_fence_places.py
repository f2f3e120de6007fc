"""Where a proxy fence is said to belong: after which wait, before which barrier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import lint, mends
from smemreuse.linter.fence_places import FencePlace, fence_place
from smemreuse.results.hazards import HazardKind, Mend
from smemreuse.results.sites import Site
from smemreuse.versions import version_of
from smemreuse.versions.thread_sync.after_waits import followed_by_barriers
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures" / "lint"
STORED = (FIXTURES / "stored_without_fence.tir").read_text()
COPIED = (FIXTURES / "copied_without_fence.tir").read_text()
REFILLED = (FIXTURES / "refilled_without_fence.tir").read_text()
RELEASE = "                T.ptx_arrive_barrier(mbarrier_1[1])\n"
SYNC = 'T.tvm_storage_sync("shared.dyn")'


def fix_of(text: str) -> str:
    """How the one missing fence is to be fixed."""
    (kernel,) = parse_dump(text).kernels
    (hazard,) = lint(kernel, BarrierStage.PRESENT).hazards
    assert hazard.kind is HazardKind.MISSING_FENCE
    return hazard.mend.sentence


def copied(text: str, *, own: bool = True) -> tuple[FencePlace, str]:
    """The place between the copies of line 24 and the product, and the sentence that names it.
    `own` says whether the threads that copy are those that multiply."""
    (kernel,) = parse_dump(text).kernels
    by_line = {stmt.line: stmt for stmt in walk_statements(kernel.body)}
    followed = [*followed_by_barriers(kernel.body, version_of(kernel).thread_sync)]
    one, two = by_line[24], by_line[text[: text.index("T.ptx_wgmma_ss")].count("\n") + 1]
    place = fence_place(StatementTree(kernel.body), followed, one, two)
    mend = mends.fence(Site.of(one), Site.of(two), np.arange(128), place, own=own)
    assert mend.until is None, "it has to come after the wait, too"
    return place, mend.sentence


def test_a_barrier_that_the_kernel_has_is_named() -> None:
    assert fix_of(STORED).endswith(" after line 20, before the barrier at line 21.")


def test_a_barrier_of_some_threads_is_not_taken_for_it() -> None:
    told = fix_of(STORED.replace(SYNC, 'T.tvm_storage_sync("shared.dyn", 1, 128)'))
    assert told.endswith(
        " after line 20, before the barrier or mbarrier that orders line 23 after it."
    )


def test_the_wait_for_copies_is_named_and_the_barrier_after_it() -> None:
    place, told = copied(COPIED)
    assert place.wait is not None
    assert place.barrier is not None
    assert (place.wait.line, place.barrier.line) == (26, 27)
    assert told.endswith(
        " after they have waited at line 26 for the copies of line 24, before the barrier at line "
        "27."
    )


def test_a_barrier_that_the_compiler_inserts_after_the_wait_is_told() -> None:
    """It leaves no place before it, so that the readers fence; others cannot do that for them."""
    text = COPIED.replace('        T.tvm_storage_sync("shared")\n', "", 1)
    place, told = copied(text)
    assert (place.barrier, place.follows) == (None, True)
    assert told.endswith(
        " at line 26 for the copies of line 24 and before line 30: after the barrier that the "
        "compiler will insert directly after that wait."
    )
    assert copied(text, own=False)[1].endswith(
        " before the barrier or mbarrier that orders line 30 after it."
    )


def test_the_arrival_and_the_wait_of_another_arm_are_named() -> None:
    assert fix_of(REFILLED).endswith(
        " after line 35, before they arrive at mbarrier_1[1] (line 36), for which line 27 waits."
    )


def test_an_arrival_of_the_next_iteration_is_named_as_such() -> None:
    wait = "                T.mbarrier_wait_parity(mbarrier_1[0], k % 2)\n"
    released = f"                if k > 0:\n    {RELEASE}"
    text = REFILLED.replace(RELEASE, "").replace(wait, RELEASE + wait)
    assert "in the next iteration at mbarrier_1[1] (line 33), for" in handed_over(text)
    text = REFILLED.replace(RELEASE, "").replace(wait, released + wait)
    assert handed_over(text).endswith(
        "before the barrier or mbarrier that orders line 30 after it."
    )


def test_an_arrival_that_may_be_at_another_mbarrier_is_not_taken_for_it() -> None:
    other = RELEASE.replace("mbarrier_1[1]", "mbarrier_1[k + 1]")
    text = REFILLED.replace(RELEASE, other + RELEASE)
    assert handed_over(text).endswith(
        "before the barrier or mbarrier that orders line 30 after it."
    )


def test_an_arrival_at_an_mbarrier_that_is_surely_another_is_passed_over() -> None:
    other = RELEASE.replace("mbarrier_1[1]", "mbarrier_1[k % 2 + 2]")
    text = REFILLED.replace(RELEASE, other + RELEASE)
    assert "before they arrive at mbarrier_1[1] (line 37), for" in handed_over(text)


def handed_over(text: str) -> str:
    """How the fence is described that the readers lack before their tile is loaded again."""
    return handed_over_by(text).sentence


def handed_over_by(text: str) -> Mend:
    (kernel,) = parse_dump(text).kernels
    stmts = [*walk_statements(kernel.body)]
    (one,) = (stmt for stmt in stmts if "sum_1[0] + As_1" in str(Site.of(stmt)))
    (two,) = (stmt for stmt in stmts if str(Site.of(stmt)).startswith("`tma_load"))
    place = fence_place(StatementTree(kernel.body), (), one, two)
    ids = np.arange(128)
    return mends.fence(Site.of(one), Site.of(two), ids + 32, place, own=False)


def test_the_statement_is_known_before_which_one_fence_does_for_all() -> None:
    mend = handed_over_by(REFILLED)
    assert mend.until is not None
    assert f"(line {mend.until.line})" in mend.sentence
    (kernel,) = parse_dump(STORED).kernels
    (hazard,) = lint(kernel, BarrierStage.PRESENT).hazards
    assert hazard.mend.until is not None
    assert hazard.mend.until.line == 21
    assert hazard.without_statements().mend.until == replace(hazard.mend.until, stmt=None)


def test_an_arrival_that_comes_with_the_copies_is_to_come_after_them() -> None:
    """A fence before it would come before the copies are done."""
    text = (FIXTURES / "written_and_handed_over_with_copies.tir").read_text()
    from_there = 'T.tvm_access_ptr(T.type_annotation("float32"), X, tx, 1, 1)'
    to_here = 'T.tvm_access_ptr(T.type_annotation("float32"), As.data, tx, 1, 2)'
    copy = f"T.ptx_cp_async({to_here}, {from_there}, 1)"
    (kernel,) = parse_dump(text.replace("As_1[tx] = X_1[tx]", copy)).kernels
    by_line = {stmt.line: stmt for stmt in walk_statements(kernel.body)}
    one, two = by_line[25], by_line[29]
    place = fence_place(StatementTree(kernel.body), (), one, two)
    mend = mends.fence(Site.of(one), Site.of(two), np.arange(128), place, own=False)
    assert mend.sentence == (
        "let threads 0-127 wait for the copies of line 25, issue a proxy fence "
        "(fence.proxy.async) and only then arrive at mbarrier_1[0], for which line 28 waits; "
        "line 26 arrives with the copies."
    )


def test_a_barrier_takes_the_warps_of_threads_that_are_apart() -> None:
    one, two = Site("As[0] = 1", 3), Site("x = As[0]", 5)
    for ids, who in (
        (np.arange(64), "threads 0-63"),
        (np.arange(0, 64, 4), "the warps of threads 0, 4, 8, 12, ..."),
        (np.r_[0:32, 64:96], "threads 0-31, 64-95"),
    ):
        told = mends.barrier(one, two, ids).sentence
        assert told == f"let {who} meet at a barrier between line 3 and line 5."


def test_a_barrier_is_asked_for_before_the_next_iteration_only_where_that_races() -> None:
    """Of arms that run at the same time, the one that comes later in the text may be the first."""
    for one, two, where in (
        ((("k", 0), ("r", 3)), (("k", 0),), "after line 9, before line 5"),
        (
            (("k", 0), ("r", 3)),
            (("k", 1),),
            "after line 9, before the next iteration reaches line 5",
        ),
        ((), (), "after line 9, before line 5"),
    ):
        sites = Site("As[0] = 1", 9, one), Site("x = As[0]", 5, two)
        assert mends.barrier(*sites, np.arange(64)).sentence == (
            f"let threads 0-63 meet at a barrier {where}."
        )
