"""The re-enacted `InjectFenceProxy` and the pass itself put the same fences in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tilelang

from smemreuse.ir.kernel import Block, Stmt, nested_blocks
from smemreuse.ir.labels import label
from smemreuse.semantics.table import evaluated_effect
from smemreuse.tilelang import read_module
from smemreuse.versions import version_of
from tests.compilers.tilelang.conftest import CASES, Case
from tests.compilers.tilelang.lowering import before_merge

pytestmark = [pytest.mark.tilelang, pytest.mark.xdist_group("lowered once")]

FENCE = "fence"

MORE = [
    Case(fixture, "small", "sm_90a")
    for fixture in (
        "flash_attention",
        "persistent_gemm",
        "gemm_three_groups",
        "tma_store_in_flight",
    )
]


def told(body: Block, is_fenced: Callable[[Stmt], bool]) -> Iterator[str]:
    """The statements in program order, with the fences before them."""
    for stmt in body:
        if is_fenced(stmt):
            yield FENCE
        effect = evaluated_effect(stmt)
        yield FENCE if effect is not None and effect.fence else label(stmt)
        for block in nested_blocks(stmt):
            yield from told(block, is_fenced)


def listed(mod: Any, *, to_come: bool) -> list[str]:
    lines: list[str] = []
    for kernel in read_module(mod):
        rules = version_of(kernel).fence_pass
        fences = rules.fences_to_come(kernel.body) if to_come else frozenset()
        lines += told(kernel.body, fences.__contains__)
    return lines


@pytest.mark.parametrize("case", [*CASES, *MORE], ids=str)
def test_the_same_fences_come_at_the_same_places(case: Case) -> None:
    before = before_merge(case)
    after = tilelang.cuda.transform.InjectFenceProxy()(before)
    expected = listed(after, to_come=False)
    if case.arch == "sm_80":
        assert FENCE not in expected
    else:
        assert listed(before, to_come=True) == expected
