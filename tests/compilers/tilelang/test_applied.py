"""`check` on what TileLang itself merged, in the IR that has its barriers."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.kernels import FIXTURES
from smemreuse.analysis.alignment import alignments
from smemreuse.audit import applied_layout
from smemreuse.checker import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.results.verdict import Verdict
from tests.compilers.tilelang.lowering import arena_of, lower

pytestmark = pytest.mark.tilelang

SCOPE = "shared.dyn"


def audited(name: str, arch: str, enable_aggressive_merge: bool = False) -> Verdict:
    """TileLang's own plan for a fixture, read back from the text of the lowered module."""
    fixture: Any = FIXTURES[name]
    func = fixture.make(**fixture.configs["small"])
    lowered = lower(func, arch, enable_aggressive_merge=enable_aggressive_merge)
    mod = lowered.artifact.device_mod
    (kernel,) = parse_dump(mod.script()).kernels
    applied = applied_layout(kernel, SCOPE)
    assert applied is not None
    ((arena, offsets),) = arena_of(mod).values()
    assert applied.arena == arena
    assert {buffer.name: offset for buffer, offset in applied.offsets.items()} == offsets
    align = alignments(applied.kernel, SCOPE)
    return check_plan(applied.kernel, SCOPE, applied.offsets, arena, align, assume_barriers=False)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("gemm", "sm_80"),
        ("gemm", "sm_90a"),
        ("batched_gemm", "sm_90a"),
        ("flash_attention", "sm_90a"),
        ("gemm_two_consumers", "sm_90a"),
        ("divergent_groups", "sm_80"),
    ],
)
def test_the_default_holds(name: str, arch: str) -> None:
    assert audited(name, arch).verdict == "sound"


@pytest.mark.parametrize("name", ["gemm_three_groups", "producer_consumer_groups"])
def test_the_default_does_not_hold(name: str) -> None:
    """Wrong results on an H200 too: two warp groups write the same bytes at the same time."""
    verdict = audited(name, "sm_90a")
    assert verdict.verdict == "unsound"
    assert 6 in {violation.rule for violation in verdict.violations}


@pytest.mark.parametrize(
    "name", ["scratch_before_carried", "alternate_refill", "while_table", "divergent_arms"]
)
def test_the_aggressive_option_does_not_hold(name: str) -> None:
    assert audited(name, "sm_80", enable_aggressive_merge=True).verdict == "unsound"


def test_the_aggressive_option_holds_for_the_batched_gemm() -> None:
    for arch in ("sm_80", "sm_90a"):
        assert audited("batched_gemm", arch, enable_aggressive_merge=True).verdict == "sound"
