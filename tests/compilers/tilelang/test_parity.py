"""Our model of TileLang's pass against the pass itself, offset by offset."""

from __future__ import annotations

import pytest

from smemreuse.ir.kernel import unique_names
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.tilelang import read_module
from tests.compilers.tilelang.conftest import Case
from tests.compilers.tilelang.lowering import arena_of, before_merge, stock_merge

pytestmark = [pytest.mark.tilelang, pytest.mark.xdist_group("lowered once")]


@pytest.mark.parametrize("policy", ["outer", "inner"])
def test_offsets_equal_the_stock_pass(case: Case, policy: str) -> None:
    (kernel,) = read_module(before_merge(case))
    plan = plan_kernel(kernel, "shared.dyn", policy=policy, packer="tilelang")
    names = unique_names(tuple(plan.buffers))
    ours = {names[buffer]: offset for buffer, offset in plan.offsets.items()}
    assert {kernel.name: (plan.arena_bytes, ours)} == arena_of(
        stock_merge(case, aggressive=policy == "inner")
    )


def test_best_is_never_larger_than_the_stock_pass(case: Case) -> None:
    (kernel,) = read_module(before_merge(case))
    for policy in ("outer", "inner"):
        plan = plan_kernel(kernel, "shared.dyn", policy=policy)
        merged = stock_merge(case, aggressive=policy == "inner")
        ((stock_arena, _),) = arena_of(merged).values()
        assert plan.arena_bytes <= stock_arena
        assert plan.optimal


def test_aggressive_option_moves_kills_outwards_in_stream_k() -> None:
    """Where `inner` and the aggressive option differ: its rule for levels costs 32 KB here.

    `red` and `Cs` are written in loops that are deeper than the pipeline's in TileLang's count of
    levels, so the stages' kill is moved behind them and they cannot take the stages' bytes.
    """
    (kernel,) = read_module(before_merge(Case("stream_k", "small", "sm_80")))
    inner = plan_kernel(kernel, "shared.dyn", policy="inner")
    aggressive = plan_kernel(kernel, "shared.dyn", policy="inner", packer="tilelang")
    assert (inner.arena_bytes, aggressive.arena_bytes) == (65_536, 98_304)
