"""What resident blocks take and leave, in words."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.comparisons import comparison
from smemreuse.report.residents import (
    AS_LARGE,
    NO_FASTER,
    gain_note,
    why_all,
    why_as_default,
)
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from smemreuse.targets.architectures import architecture
from tests.conftest import DUMPS
from tests.dumps import kernels_of
from tests.report.made import APART, KB, SHARED, SUBJECT


def test_a_smaller_layout_says_what_it_would_gain() -> None:
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    apart = replace(plan_kernel(kernel, "shared.dyn", objective="none"), lower_bound_bytes=0)
    merged = plan_kernel(kernel, "shared.dyn", objective="bytes")
    for name, told in (
        ("sm_80", " (32 KB more to L1)"),  # registers stop a block
        ("sm_120", " (1 block more)"),
    ):
        assert gain_note(kernel, merged, apart, architecture(name)) == told
    few = replace(apart, arena_bytes=apart.arena_bytes - 256)
    assert gain_note(kernel, few, apart, architecture("sm_80")) == " (no block and no L1 more)"


def test_a_layout_below_the_bound_says_why_it_may_be() -> None:
    bound = replace(APART, lower_bound_bytes=48 * KB)
    hoped = (SHARED, Verdict(UNPROVED, uncovered=("why not",)))
    found = comparison(SUBJECT, 0, [(bound, Verdict(SOUND))], hoped)
    below = "by live ranges shorter than the lower bound's"
    assert (
        found.hoped
        == f"a smaller layout of 32,768 bytes (2 blocks more; {below}) is unproved: why not"
    )


def test_a_plan_that_gains_nothing_over_the_default_merge_says_why() -> None:
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    sound = Verdict(SOUND)
    made = plan_kernel(kernel, "shared.dyn", objective="bytes")
    fast = made.with_provenance(objective="speed")
    usual = replace(made, arena_bytes=made.arena_bytes + 256)
    assert why_as_default(kernel, made, (made, sound), None) == AS_LARGE
    assert why_as_default(kernel, made, (made, Verdict(UNPROVED)), None) == ""
    assert why_as_default(kernel, made, None, None) == ""
    assert why_as_default(kernel, fast, (usual, sound), None) == NO_FASTER
    assert why_as_default(kernel, made, (usual, sound), None) == "", "bytes are all it is about"
    larger = replace(made, arena_bytes=2 * made.arena_bytes)
    assert why_as_default(kernel, fast, (larger, sound), None) == "", "L1 gains"
    assert why_all([AS_LARGE, NO_FASTER]) == AS_LARGE
    assert why_all([AS_LARGE, ""]) == why_all([]) == ""
