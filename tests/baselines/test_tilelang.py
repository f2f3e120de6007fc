"""Packer `tilelang` against TileLang's merge pass: `outer` its default, `inner` its aggressive."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
from hypothesis import HealthCheck, given, settings
from tilelang import tvm

from smemreuse.ir.kernel import unique_names
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.tilelang import read_module
from tests.baselines.emit import Emitter
from tests.baselines.modules import Dialect, Launch, modules
from tests.compilers.tilelang.lowering import arena_of

pytestmark = pytest.mark.tilelang

# The pass counts an address where it is bound to a variable and not where that is used; our
# policies count it where it is used, for which the pass has no equal.
DIALECT = Dialect(
    attributes=("extern_scope", "pragma", "kWarpSpecializationScope"), binds_pointers=False
)


def emitted(module: tuple[Launch, ...]) -> Any:
    """Each launch as a function of its own, as it is behind SplitHostDevice."""
    return tvm.ir.IRModule(
        {
            f"f{number}": tvm.tirx.PrimFunc([], Emitter(tvm, is_apache=False).launch(launch))
            for number, launch in enumerate(module)
        }
    )


@pytest.mark.parametrize("policy", ["outer", "inner"])
def test_offsets_equal_the_stock_pass(policy: str) -> None:
    merge = tilelang.transform.MergeSharedMemoryAllocations(
        enable_aggressive_merge=policy == "inner"
    )

    @given(module=modules(DIALECT, ("shared.dyn",)))
    @settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
    def check(module: tuple[Launch, ...]) -> None:
        mod = emitted(module)
        kernels = read_module(mod)
        stock = arena_of(merge(mod))
        assert {kernel.name for kernel in kernels} == set(stock)
        for kernel in kernels:
            plan = plan_kernel(kernel, "shared.dyn", policy=policy, packer="tilelang")
            names = unique_names(tuple(plan.buffers))
            ours = {names[buffer]: offset for buffer, offset in plan.offsets.items()}
            assert (plan.arena_bytes, ours) == stock[kernel.name]

    check()
