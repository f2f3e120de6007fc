"""What each lever makes of a function, and where it is not pulled."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tilelang.language as T

from smemreuse.compilers.tilelang.levers.rewrites import (
    direct_stores,
    fewer_stages,
    pipelines,
    with_later_loads,
)
from smemreuse.results.fitting import LeverKind
from tests.compilers.tilelang.levers.kernels import gemm

pytestmark = pytest.mark.tilelang


def statements(func: Any) -> list[str]:
    """The tile operations of a function in their order, by their buffers."""
    found = []
    for line in func.script().splitlines():
        if match := re.search(r"T\.(copy|gemm|fill)\(", line):
            found.append(" ".join([match[1], *re.findall(r"region.(\w+)", line)]))
    return found


def test_each_loop_has_settings_for_all_smaller_numbers_of_stages() -> None:
    (settings,) = fewer_stages(gemm(3))
    counts = [[stages for _, stages in pipelines(one.rewrite(gemm(3)))] for one in settings]
    assert counts == [[2], [1], []]
    assert [str(one.lever.kind) for one in settings] == ["stages", "stages", "later-loads"]
    assert [one.cost for one in settings] == sorted(one.cost for one in settings)
    assert "2 stages instead of 3" in settings[0].lever.sentence


def test_fewer_stages_change_nothing_but_the_annotation() -> None:
    two = fewer_stages(gemm(3))[0][0].rewrite(gemm(3))
    assert two.script() == gemm(2).script()


def test_a_loop_that_its_author_has_laid_out_is_left_alone() -> None:
    @T.prim_func
    def main(A: T.Tensor((512,), "float16")) -> None:
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64,), "float16")
            for k in T.Pipelined(8, num_stages=2, order=[0, 1], stage=[0, 1]):
                T.copy(A[k * 64], a)
                T.copy(a, A[k * 64])

    assert fewer_stages(main) == []


def test_a_load_is_put_off_to_where_its_tile_is_used() -> None:
    func = gemm(2, at_once=True)
    late = statements(fewer_stages(func)[0][-1].rewrite(func))
    assert late == statements(gemm(2))
    assert late.index("copy S scale") == late.index("gemm a b c") + 1


def test_a_pipeline_inside_keeps_its_loads_where_they_are() -> None:
    func = gemm(2, at_once=True)
    assert statements(func.with_body(with_later_loads(func.body))) == statements(func)


@pytest.mark.parametrize("between", ["writes", "reads", "unknown"])
def test_a_load_is_not_put_off_past_what_it_depends_on(between: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float16")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64,), "float16")
            b = T.alloc_shared((64,), "float16")
            for _ in range(4):
                T.copy(A, a)
                if between == "writes":
                    T.copy(b, A)  # what is loaded
                elif between == "reads":
                    T.copy(a, B)
                else:
                    T.call_extern("handle", "mystery")
                T.copy(b, B)
                T.copy(a, b)

    assert with_later_loads(main.body).script() == main.body.script()


def test_a_tile_on_its_way_out_is_stored_from_registers() -> None:
    (setting,) = direct_stores(gemm())
    assert setting.lever.kind is LeverKind.DIRECT_STORE
    changed = statements(setting.rewrite(gemm()))
    assert "copy c C" in changed
    assert "out" not in " ".join(changed)


def test_a_tile_that_rounds_on_its_way_is_kept() -> None:
    assert direct_stores(gemm(through="bfloat16")) == []


def test_a_tile_that_is_used_again_is_kept() -> None:
    @T.prim_func
    def main(C: T.Tensor((128, 128), "float16"), D: T.Tensor((128, 128), "float16")) -> None:
        with T.Kernel(1, threads=128):
            out = T.alloc_shared((128, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            T.copy(c, out)
            T.copy(out, C)
            T.copy(out, D)

    assert direct_stores(main) == []
