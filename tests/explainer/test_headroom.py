"""What the bytes of a plan hang on: computed by planning anew, not guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.plans import judged_plan, side_by_side
from smemreuse.report.headroom import ShippedHeadroom, change_words
from smemreuse.results.headroom import ChangeKind, Headroom
from smemreuse.targets.architectures import architecture
from tests.compilers.text.texts import LAUNCH, dump, kernel_of
from tests.conftest import DUMPS
from tests.dumps import kernels_of


def of(name: str, arch: str | None = None) -> Headroom:
    (kernel,) = kernels_of(DUMPS / f"{name}.tir")
    return headroom_of(kernel, "shared.dyn", architecture(arch) if arch else None)


def test_the_peak_has_a_statement_and_names_who_is_live() -> None:
    found = of("batched_gemm.sm_80")
    assert found.peak.bytes == found.arena_bytes == 32_768
    assert [one.name for one in found.live] == ["As", "Bs"]
    assert found.step is not None
    assert found.step.stmt.line == 35
    assert sum(one.bytes for one in found.live) == found.peak.bytes


@pytest.mark.parametrize(
    ("name", "limits", "excess"),
    [
        ("rotating_stages.sm_80", ("shared memory",), 640),
        ("gemm.sm_80", ("registers",), None),
        ("leaf_both.sm_80", ("threads",), None),
        ("stream_k.sm_80", ("shared memory", "registers"), None),
    ],
)
def test_what_stops_the_next_block(name: str, limits: tuple[str, ...], excess: int | None) -> None:
    found = of(name).residents
    assert found is not None
    assert (found.limits, found.excess) == (limits, excess)


def test_the_excess_is_exactly_what_one_more_block_needs() -> None:
    found = of("rotating_stages.sm_80").residents
    assert found is not None
    assert found.most_bytes is not None
    sm_80 = architecture("sm_80")
    assert sm_80.most_by_bytes(found.most_bytes) == found.blocks + 1
    assert sm_80.most_by_bytes(found.most_bytes + 1) == found.blocks


def test_a_block_that_does_not_fit_is_the_next_one() -> None:
    body = 'As = T.alloc_buffer((65536,), scope="shared.dyn")\n' + LAUNCH + "As[0] = 0.0\n"
    found = headroom_of(kernel_of(dump(body)), "shared.dyn", architecture("sm_90")).residents
    assert found is not None
    assert (found.blocks, found.limits, found.excess) == (0, ("shared memory",), 262_144 - 232_448)


@pytest.mark.parametrize(
    ("threads", "registers", "blocks"), [(32, 255, 8), (256, 255, 1), (1024, 64, 1)]
)
def test_locals_beyond_what_a_thread_may_have_are_spilled(
    threads: int, registers: int, blocks: int
) -> None:
    """ptxas keeps a block of known threads launchable, however much its local arrays take."""
    launch = f'{LAUNCH}tx = T.launch_thread("threadIdx.x", {threads})\n'
    declared = 'As = T.alloc_buffer((64,), scope="shared.dyn")\n'
    declared += 'acc = T.alloc_buffer((400,), scope="local")\n'
    body = declared + launch + "acc[0] = As[0]\nAs[0] = acc[399]\n"
    kernel = kernel_of(dump(body))
    found = headroom_of(kernel, "shared.dyn", architecture("sm_90")).residents
    assert found is not None
    assert found.registers is not None
    assert (found.threads, found.registers.count, found.blocks) == (threads, registers, blocks)


def test_a_live_range_that_ends_sooner() -> None:
    """Fixture `miss_tiles` is an early load: two statements in another order save a tile."""
    (change,) = of("miss_tiles.sm_80").changes
    assert change.kind is ChangeKind.RANGE
    assert (change.buffers, change.arena_bytes, change.adds_block) == (("Ss", "Bs"), 8_192, False)
    assert (
        "Ss were loaded to registers (16+ registers per thread) before Bs begins at `Bs_1[...]"
        in (change.condition)
    )


@pytest.mark.parametrize(
    ("name", "buffers", "words"),
    [
        (
            "rotating_stages.sm_80",
            ("ring", "scratch"),
            "if each iteration wrote what it reads; now: ring: ",
        ),
        (
            "cp_async_past_loop.sm_80",
            ("stage", "scratch"),
            "if the kernel waited for asynchronous accesses before stage and scratch share",
        ),
        ("divergent_arms.sm_80", ("left", "right"), "if a barrier of all threads, or mbarriers"),
        ("step_branches_unsynced.sm_80", ("left", "right"), "if a barrier of all threads stood"),
    ],
)
def test_a_rule_that_speaks_against_a_pair(name: str, buffers: tuple[str, ...], words: str) -> None:
    (change,) = of(name).changes
    assert (change.kind, change.buffers) == (ChangeKind.PAIR, buffers)
    assert change.condition.startswith(words)
    assert change.arena_bytes < of(name).arena_bytes


def test_one_stage_less() -> None:
    (change,) = of("flash_attention.sm_90a").changes
    assert (change.kind, change.buffers) == (ChangeKind.STAGES, ("Ks", "Vs"))
    assert change.arena_bytes == 40_960 - 2 * 8_192
    assert change.condition == (
        "if the loop `for k in serial(4)` (line 74) had 1 stage instead of 2 (`num_stages`), so "
        "that no load overlaps computation"
    )


def test_nothing_is_said_where_one_statement_needs_both() -> None:
    """As and Bs of `leaf_both` are operands of one statement."""
    assert of("leaf_both.sm_80").changes == ()


def test_a_buffer_that_is_only_held_over_another() -> None:
    body = 'G = T.decl_buffer((1024,), "float32", data=A)\n'
    for name in ("As", "Bs"):
        body += f'{name} = T.alloc_buffer((256,), scope="shared.dyn")\n'
    body += LAUNCH + "As[0] = G[0]\nG[2] = As[0]\n"
    body += "Bs[0] = G[1]\nG[1] = Bs[0]\nG[3] = Bs[1]\nG[0] = As[0]\nG[5] = As[1]\n"
    found = headroom_of(kernel_of(dump(body)), "shared.dyn")
    (change,) = found.changes
    assert change.condition.startswith("if As were not held over Bs, from `G[2] = As[0]`")
    assert (change.statements, change.arena_bytes) == (1, 1_024)


def test_a_plan_for_something_else_than_bytes_has_no_changes() -> None:
    (kernel,) = kernels_of(DUMPS / "miss_tiles.sm_80.tir")
    plan, _ = judged_plan(kernel, "shared.dyn", objective="none")
    found = headroom_of(kernel, "shared.dyn", plan=plan)
    assert found.changes == ()
    assert found.arena_bytes == plan.arena_bytes


def test_a_kernel_without_live_buffers_has_no_peak() -> None:
    found = headroom_of(kernel_of(dump(LAUNCH)), "shared.dyn")
    assert (found.step, found.live, found.changes) == (None, (), ())


def test_what_stops_one_more_block_after_a_change_is_told() -> None:
    found = of("flash_attention.sm_90a")
    (change,) = found.changes
    assert change.stopped_by == ("registers",)
    gains = replace(change, adds_block=True, blocks=2)
    assert ", 2 blocks (registers allow no more), if the loop " in change_words(gains, found)
    bare = replace(gains, stopped_by=("shared memory",))
    assert ", 2 blocks, if the loop " in change_words(bare, found)


def test_what_is_not_shared_for_speed_says_what_it_would_gain() -> None:
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    apart = headroom_of(kernel, "shared.dyn", plan=side_by_side(kernel, "shared.dyn"))
    least = headroom_of(kernel, "shared.dyn")
    speed = "could be shared (--objective bytes), but that gains"
    told = ShippedHeadroom(apart, least, "speed").why_unshared
    assert told == f"{speed} 32 KB of L1, which is not worth its barriers in loops"
    alike = ShippedHeadroom(apart, replace(least, residents=apart.residents), "speed").why_unshared
    assert alike == f"{speed} neither a resident block nor L1"
    assert ShippedHeadroom(apart, least, "bytes").why_unshared == "could be shared"
    none = ShippedHeadroom(apart, least, "none").why_unshared
    assert none == "could be shared, which --objective none does not"
