"""The re-enacted `AnnotateWarpGroupRegAlloc` and the pass itself hand over in the same kernels."""

from __future__ import annotations

import pytest
import tilelang

from smemreuse.ir.kernel import walk_statements
from smemreuse.semantics.table import evaluated_call
from smemreuse.targets.architectures import threads_of
from smemreuse.tilelang import read_module
from smemreuse.versions import version_of
from tests.compilers.tilelang.conftest import CASES, Case
from tests.compilers.tilelang.lowering import before_merge

pytestmark = [pytest.mark.tilelang, pytest.mark.xdist_group("lowered once")]

MORE = [
    Case(fixture, "small", "sm_90a")
    for fixture in ("flash_attention", "gemm_three_groups", "producer_consumer_groups")
]


@pytest.mark.parametrize("case", [*CASES, *MORE], ids=str)
def test_the_same_kernels_hand_registers_over(case: Case) -> None:
    before = before_merge(case)
    after = tilelang.cuda.transform.AnnotateWarpGroupRegAlloc()(before)
    for one, other in zip(read_module(before), read_module(after), strict=True):
        rules = version_of(one).register_pass
        calls = [call for call in map(evaluated_call, walk_statements(other.body)) if call]
        sets = any(call.op in rules.sets for call in calls)
        threads = threads_of(one)
        assert threads is not None
        assert (rules.handed_over(one.body, threads) is not None) == sets
        assert rules.handed_over(other.body, threads) == rules.handed_over(one.body, threads)
