"""Packer `tilelang` against TileLang's merge pass: `outer` its default, `inner` its aggressive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import tilelang
from tilelang import tvm

from smemreuse.ir.kernel import Kernel, unique_names
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.tilelang import read_module
from tests.compilers.tilelang.lowering import arena_of
from tests.random_kernels.choices import Pick, run_seed
from tests.random_kernels.trees import COMPILED_DTYPES, Grammar, grow_module
from tests.soundness.kernels import format_kernel
from tests.versions.merges.emit import Emitter

pytestmark = pytest.mark.tilelang

SEEDS = 400
SCOPE = "shared.dyn"
# The pass counts an address where it is bound to a variable and not where that is used; our
# policies count it where it is used, for which the pass has no equal.
GRAMMAR = Grammar(
    dtypes=COMPILED_DTYPES,
    scopes=(SCOPE,),
    statements=(*Grammar.statements, "specialize"),
    binds_pointers=False,
)


def emitted(module: Sequence[Kernel]) -> Any:
    """Each launch as a function of its own, as it is behind SplitHostDevice."""
    return tvm.ir.IRModule(
        {
            kernel.name: tvm.tirx.PrimFunc([], Emitter(tvm, is_apache=False).launch(kernel))
            for kernel in module
        }
    )


def test_offsets_equal_the_stock_pass() -> None:
    for seed in range(SEEDS):
        run_seed(seed, compare)


def compare(pick: Pick) -> None:
    module = grow_module(pick, GRAMMAR)
    mod = emitted(module)
    kernels = read_module(mod)
    for policy in ("outer", "inner"):
        merge = tilelang.transform.MergeSharedMemoryAllocations(
            enable_aggressive_merge=policy == "inner"
        )
        stock = arena_of(merge(mod))
        assert {kernel.name for kernel in kernels} == set(stock)
        for kernel in kernels:
            plan = plan_kernel(kernel, SCOPE, policy=policy, packer="tilelang")
            names = unique_names(tuple(plan.buffers))
            ours = {names[buffer]: offset for buffer, offset in plan.offsets.items()}
            text = "\n".join(map(format_kernel, module))
            assert (plan.arena_bytes, ours) == stock[kernel.name], f"{policy}\n{text}"
