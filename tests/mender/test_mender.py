"""`mend`: the least that makes a kernel clean, and what stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Attr, Block, For, If, Kernel, Stmt, While, walk_statements
from smemreuse.linter import Apart, lint
from smemreuse.mender import mend, mender
from smemreuse.mender.edited import edited
from smemreuse.results.hazards import LintStatus
from smemreuse.results.mending import Inserted, Insertion, Mended, Mending
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.synchronizing import proxy_fence
from smemreuse.semantics.table import evaluated_effect
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    WGMMA_A,
    init_barrier,
    kernel_of,
    tma_load,
    under,
)
from tests.conftest import DUMPS, ROOT
from tests.versions.made_up import registered

FIXTURES = ROOT / "fixtures" / "lint"

MENDED = {
    "race_between_threads": [("tvm_storage_sync('shared.dyn')", "before", 23)],
    "race_round_the_loop": [("tvm_storage_sync('shared.dyn')", "behind", 23)],
    "race_of_a_partial_barrier": [("tvm_storage_sync('shared.dyn')", "before", 21)],
    "race_of_two_types": [("tvm_storage_sync('shared.dyn')", "before", 24)],
    "cp_async_not_waited_for": [("ptx_wait_group(0)", "behind", 22)],
    "tma_load_not_waited_for": [("mbarrier_wait_parity(mbarrier_1[0], 0)", "before", 27)],
    "tma_store_not_waited_for": [("tma_store_wait(0, True)", "behind", 26)],
    "warp_that_is_late": [("if tx // 32 == 0", "around", 27)],
    "refilled_without_fence": [("fence_proxy_async()", "before", 36)],
    "stored_without_fence": [("fence_proxy_async()", "before", 21)],
    "accumulator_not_waited_for": [("warpgroup_wait(0)", "behind", 31)],
    "copied_without_fence": [("fence_proxy_async()", "before", 27)],
    "last_round_not_waited_for": [("ptx_wait_group(0)", "behind", 26)],
    "overwritten_across_stages": [("tvm_storage_sync('shared.dyn')", "before", 25)],
    "race_of_two_groups_round_the_loop": [("tvm_storage_sync('shared.dyn')", "behind", 33)],
    "race_with_a_bulk_store": [("tvm_storage_sync('shared.dyn')", "before", 22)],
    "reused_by_a_view_without_barrier": [("tvm_storage_sync('shared.dyn')", "before", 28)],
    "sparse_wgmma_without_fence": [("fence_proxy_async()", "before", 26)],
    "waited_for_in_the_loop_alone": [("mbarrier_wait_parity(mbarrier_1[0], 0)", "before", 27)],
}
"""What is put in, on which side of which line."""

OTHERS = sorted(
    path.stem
    for path in FIXTURES.glob("*.tir")
    if "mended" not in path.name and path.stem not in MENDED
)


def mended(kernel: Kernel, stage: BarrierStage = BarrierStage.PRESENT) -> Mending:
    """What came of mending a kernel, linted once more with everything in."""
    found = mend(kernel, stage)
    body, _ = edited(kernel.body, found.edits)
    again = lint(replace(kernel, body=body), stage)
    assert (again.status, len(again.hazards)) == (found.after.status, len(found.after.hazards))
    return found


def put_in(found: Mending) -> list[tuple[str, str, int | None]]:
    return [(text, each.side, each.anchor.line) for each in found.edits for text in each.texts]


def of_text(body: str, **kernel: int | str) -> Mending:
    """What came of mending a small kernel that has all its barriers."""
    return mended(kernel_of(body, **kernel))  # type: ignore[arg-type]


def operations(found: Mending) -> list[str]:
    return [operation for operation, _, _ in put_in(found)]


@pytest.mark.parametrize("name", MENDED)
def test_what_can_be_put_in_is(name: str) -> None:
    (kernel,) = read_dump(FIXTURES / f"{name}.tir").kernels
    found = mended(kernel)
    assert put_in(found) == MENDED[name]
    assert found.after.clean
    assert found.unmended == ()
    (hazard,) = found.before.hazards
    assert [one.hazard for one in found.mends] == [hazard]
    assert str(hazard.kind) in found.mends[0].sentence


@pytest.mark.parametrize("name", OTHERS)
def test_a_kernel_that_takes_another_mend_stays_as_it_is(name: str) -> None:
    (kernel,) = read_dump(FIXTURES / f"{name}.tir").kernels
    found = mended(kernel)
    assert found.mends == ()
    assert found.after is found.before
    assert [one.hazard for one in found.unmended] == list(found.before.hazards)
    assert all(one.why for one in found.unmended)


@pytest.mark.parametrize("name", [*MENDED, *OTHERS])
def test_nothing_is_put_into_a_clean_kernel(name: str) -> None:
    (kernel,) = read_dump(FIXTURES / f"{name}.mended.tir").kernels
    found = mended(kernel)
    assert (found.mends, found.unmended) == ((), ())
    assert found.before.clean


def test_what_a_later_pass_inserts_is_not_put_in() -> None:
    (kernel,) = read_dump(FIXTURES / "race_between_threads.tir").kernels
    assert put_in(mended(kernel, BarrierStage.LATER)) == []
    (kernel,) = read_dump(FIXTURES / "refilled_without_fence.tir").kernels
    assert put_in(mended(kernel, BarrierStage.LATER)) == MENDED["refilled_without_fence"]


def test_a_barrier_before_those_of_a_later_pass_is_one_that_an_author_writes() -> None:
    """It must not look as if that pass had been here."""
    (kernel,) = read_dump(FIXTURES / "race_of_a_partial_barrier.tir").kernels
    assert operations(mended(kernel, BarrierStage.LATER)) == ["tvm_storage_sync('shared')"]


def test_one_barrier_for_many_races() -> None:
    found = of_text("As[tx] = tx\nBs[tx] = tx\nO[tx] = As[63 - tx]\nO[tx] = Bs[63 - tx]\n")
    assert operations(found) == ["tvm_storage_sync('shared.dyn')"]
    assert len(found.before.hazards) == 2
    assert found.after.clean


def test_what_a_later_mend_makes_superfluous_is_taken_out() -> None:
    (kernel,) = read_dump(FIXTURES / "refilled_without_fence.tir").kernels
    search = mender.MendSearch(Apart(kernel), later=False)
    (hazard,) = search.before.hazards
    assert hazard.other is not None
    read = hazard.other.stmt
    assert read is not None
    superfluous = Mended(Insertion(read, False, (Inserted(proxy_fence()),)), hazard)
    (needed,) = mend(kernel, BarrierStage.PRESENT).mends
    search.chosen = [superfluous, needed]
    report = search._lint(search._edits)
    assert search._without_needless(report).clean
    assert search.chosen == [needed]


def test_each_of_several_is_needed() -> None:
    body = "for k in range(4):\n    As[tx] = k\n    O[tx] = As[63 - tx]\n"
    found = of_text(body)
    assert len(found.mends) == 2
    for gone in found.edits:
        kernel = kernel_of(body)
        places = {stmt.line: stmt for stmt in walk_statements(kernel.body)}  # of another reading
        rest = [
            replace(one, anchor=places[one.anchor.line]) for one in found.edits if one is not gone
        ]
        kernel = replace(kernel, body=edited(kernel.body, rest)[0])
        assert lint(kernel, BarrierStage.PRESENT).hazards


def test_lanes_that_go_in_step_get_the_barrier_of_their_warp() -> None:
    body = "As[tx] = tx\nO[tx] = As[tx // 32 * 64 + 31 - tx % 32 - tx // 32 * 32]\n"
    assert operations(of_text(body)) == ["sync_warp()"]


def test_a_barrier_where_not_all_threads_come_is_of_those_who_do() -> None:
    inside = "As[tx] = tx\nO[tx] = As[63 - tx]\n"
    found = of_text(under("if tx < 64", inside), threads=128, elements=128)
    assert operations(found) == ["tvm_storage_sync('shared.dyn', 15, 64)"]
    assert found.after.clean


def test_a_wait_that_the_kernel_lacks_closes_the_group_too() -> None:
    found = of_text(f"{COPY_A}{SYNC}O[tx] = As[63 - tx]\n")
    assert operations(found) == ["ptx_commit_group()", "ptx_wait_group(0)"]
    assert found.after.clean


def test_a_wait_and_a_barrier_where_there_is_neither() -> None:
    found = of_text(f"{COPY_A}T.ptx_commit_group()\nO[tx] = As[63 - tx]\n")
    assert operations(found) == ["ptx_wait_group(0)", "tvm_storage_sync('shared.dyn')"]
    assert found.after.clean


def test_as_many_groups_stay_open_as_may() -> None:
    """Two stages: the copy of the next round goes on while this one's is read."""
    element = 'T.tvm_access_ptr(T.type_annotation("int32"), {}, {}, 1, {})'

    def copy(at: str) -> str:
        target, source = element.format("As.data", at, 2), element.format("X", "tx", 1)
        return f"T.ptx_cp_async({target}, {source}, 1)\nT.ptx_commit_group()\n"

    def rounds(wait: str) -> str:
        use = f"{SYNC}O[tx] = As[k % 2 * 64 + 63 - tx]\n{SYNC}"
        return copy("tx") + under("for k in range(8)", copy("(k + 1) % 2 * 64 + tx") + wait + use)

    assert of_text(rounds("T.ptx_wait_group(1)\n"), elements=128).before.clean
    found = of_text(rounds(""), elements=128)
    assert operations(found) == ["ptx_wait_group(1)"]
    assert found.after.clean


def test_matrices_are_waited_for_before_another_arm_is_told() -> None:
    """What is missing there looks like a race of two arms."""
    (dumped,) = read_dump(DUMPS / "flash_attention.sm_90a.tir").kernels
    narrowed, _ = edited(dumped.body, mended(dumped, BarrierStage.LATER).edits)
    kernel = replace(dumped, body=narrowed)
    waits = [
        stmt
        for stmt in walk_statements(kernel.body)
        if (effect := evaluated_effect(stmt)) is not None
        and effect.waits is not None
        and effect.waits.engine.value == "wgmma"
    ]
    for stmt in waits:
        broken = replace(kernel, body=without(kernel.body, stmt))
        found = mended(broken, BarrierStage.LATER)
        assert not found.before.clean
        assert found.after.clean
        assert operations(found) == ["warpgroup_wait(0)"]


def without(block: Block, gone: Stmt) -> Block:
    """A block without one of the statements in it."""
    return tuple(_scope(stmt, gone) for stmt in block if stmt is not gone)


def _scope(stmt: Stmt, gone: Stmt) -> Stmt:
    if isinstance(stmt, If):
        return replace(stmt, then=without(stmt.then, gone), orelse=without(stmt.orelse, gone))
    if isinstance(stmt, (For, While, Attr)):
        return replace(stmt, body=without(stmt.body, gone))
    return stmt


def ordering(kernel: Kernel) -> Iterator[Stmt]:
    """The waits, fences and barriers of a kernel; not those for a phase of an mbarrier."""
    for stmt in walk_statements(kernel.body):
        effect = evaluated_effect(stmt)
        if effect is not None and effect.signals is not Signal.WAIT:
            if effect.waits is not None or effect.fence or effect.meeting is not None:
                yield stmt


DELETED_FROM = (
    "gemm.sm_80",
    "gemm.sm_90a",
    "tma_store_in_flight.sm_90a",
    "cp_async_past_loop.sm_80",
)


@pytest.mark.parametrize("name", DELETED_FROM)
def test_what_is_deleted_from_a_clean_kernel_is_put_in_again(name: str) -> None:
    (kernel,) = read_dump(DUMPS / f"{name}.tir").kernels
    needed = 0
    for stmt in ordering(kernel):
        broken = replace(kernel, body=without(kernel.body, stmt))
        found = mended(broken, BarrierStage.LATER)
        assert found.after.clean, stmt
        needed += not found.before.clean
    assert needed


def test_two_arms_are_ordered_by_no_barrier() -> None:
    (kernel,) = read_dump(FIXTURES / "released_too_early.tir").kernels
    found = mended(kernel)
    assert found.mends == ()
    assert {one.why for one in found.unmended} == {mender.NO_PLACE}


def test_a_load_that_nobody_waits_for_is_waited_for_in_its_first_phase() -> None:
    load = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"))
    found = of_text(init_barrier(1) + load + "O[tx] = As[tx]\n")
    assert operations(found) == ["mbarrier_wait_parity(full[0], 0)"]
    assert found.after.clean


def test_matrices_that_are_not_waited_for() -> None:
    text = f"As[tx] = tx\nT.fence_proxy_async()\n{SYNC}{DESCRIBE_A}T.warpgroup_arrive()\n{WGMMA_A}"
    text += f"T.warpgroup_commit_batch()\n{SYNC}As[tx] = 2\n"
    found = of_text(text, threads=128, elements=128, declared=DESCRIPTORS)
    assert operations(found) == ["warpgroup_wait(0)"]
    assert found.after.clean


def test_a_hazard_that_cannot_be_mended_does_not_keep_others_from_it() -> None:
    found = of_text(f"As[tx] = tx\nO[tx] = As[63 - tx]\n{SYNC}O[tx] = Bs[tx]\n")
    assert operations(found) == ["tvm_storage_sync('shared.dyn')"]
    (left,) = found.unmended
    assert (left.hazard.kind.value, left.why) == ("uninitialised-read", mender.NOT_PUT_IN)
    assert found.after.status is LintStatus.HAZARDS


def test_beyond_its_budget_a_hazard_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mender, "MOST_LINTS", 1)
    found = of_text("As[tx] = tx\nO[tx] = As[63 - tx]\n")
    assert found.mends == ()
    assert [one.why for one in found.unmended] == [mender.GIVEN_UP]


def test_what_a_compiler_writes_otherwise_is_not_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel,) = read_dump(FIXTURES / "refilled_without_fence.tir").kernels
    version = registered(monkeypatch, has_tilelang_operations=False)
    found = mended(replace(kernel, version=version))
    assert found.mends == ()
    assert [one.why for one in found.unmended] == [mender.NOT_WRITTEN]


def test_the_same_goes_in_where_the_kernel_writes_it_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (kernel,) = read_dump(FIXTURES / "cp_async_not_waited_for.tir").kernels
    version = registered(monkeypatch, has_tilelang_operations=False)
    assert put_in(mended(replace(kernel, version=version))) == MENDED["cp_async_not_waited_for"]


def test_a_fence_stands_before_the_loops_of_what_needs_it() -> None:
    """What was in flight at the barrier behind it is not fenced there."""
    many = under("for i in T.unroll(4)", under("for j in T.unroll(4)", WGMMA_A))
    copied = f"{COPY_A}T.ptx_commit_group()\n{SYNC}T.ptx_wait_group(0)\n{SYNC}"
    text = f"{copied}{DESCRIBE_A}T.warpgroup_arrive()\n{many}"
    text += "T.warpgroup_commit_batch()\nT.warpgroup_wait(0)\n"
    found = of_text(text, threads=128, elements=128, declared=DESCRIPTORS)
    (one,) = found.edits
    assert one.texts == ("fence_proxy_async()",)
    assert isinstance(one.anchor, For)
    assert (one.anchor.var.name, one.side) == ("i", "before")
    assert found.after.clean


def test_nothing_is_put_into_a_kernel_that_is_not_followed() -> None:
    """A hazard might be gone only because the trace ends before it."""
    view = 'View = T.decl_buffer((128,), "int32", data=As.data, scope="shared.dyn")\n'
    race = "As[tx] = tx\nO[tx] = As[63 - tx]\n"
    assert of_text(race).after.clean
    found = of_text(f"{view}{race}O[tx] = View[tx]\n")
    assert found.before.unknown
    assert found.mends == ()
    assert {one.why for one in found.unmended} == {mender.NOT_FOLLOWED}


def test_no_barrier_is_put_in_where_nothing_tells_what_threads_wait_for() -> None:
    """The second warp polls before it for what the first one does behind it."""
    poll = under("if tx >= 32", "while O[99] == 0:\n    T.evaluate(0)\n")
    body = "As[tx] = tx\n{}O[tx] = As[63 - tx]\n" + under("if tx < 32", "O[99] = 1\n")
    found = mend(kernel_of(body.format(poll)), BarrierStage.PRESENT)
    assert not found.mends
    assert "may wait for ever" in found.unmended[0].why
    assert mend(kernel_of(body.format("")), BarrierStage.PRESENT).mends
