"""Tiles that are loaded again for each use: what becomes of a function, and where it stays."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T

from smemreuse.compilers.tilelang.levers.programs import ProgramReader
from smemreuse.compilers.tilelang.levers.reload_settings import reload_settings, with_reloads
from smemreuse.compilers.tilelang.levers.reloads import loaded_tiles
from smemreuse.compilers.tilelang.levers.tile_ops import sequences
from smemreuse.equivalence import equivalence
from smemreuse.results.fitting import LeverKind
from tests.compilers.tilelang.levers.kernels import attention, gathered, gemm, sparse
from tests.conftest import Golden

pytestmark = pytest.mark.tilelang


def is_equivalent(func: Any, changed: Any) -> bool:
    reader = ProgramReader()
    return equivalence(reader.program("main", func), reader.program("main", changed)).holds


def statements(func: Any) -> list[str]:
    """What is in the sequences of a function, line by line."""
    return [line.strip() for line in func.script().splitlines()]


def test_tiles_that_only_loads_write_are_found_the_largest_first() -> None:
    found = loaded_tiles(attention())
    assert [one.name for one in found] == ["keys", "queries", "bias"]
    assert [one.is_kept for one in found] == [True, True, False]
    assert [len(one.uses) for one in found] == [2, 1, 1]


def test_settings_go_from_one_tile_to_all_and_to_slices() -> None:
    found = reload_settings(attention())
    assert [one.lever.kind for one in found] == [LeverKind.RELOAD] * 2 + [LeverKind.SLICES] * 4
    assert found[0].lever.sentence == "keys is loaded again for each use"
    assert found[1].lever.sentence == "keys and queries are loaded again for each use"
    assert "for products of queries with keys in 4 slices" in found[-1].lever.sentence
    assert [one.cost for one in found] == sorted(one.cost for one in found)


@pytest.mark.parametrize("number", range(6))
def test_each_setting_is_equivalent(number: int) -> None:
    func = attention()
    assert is_equivalent(func, reload_settings(func)[number].rewrite(func))


@pytest.mark.parametrize("name", ["reloaded", "in_slices"])
def test_what_becomes_of_a_function(name: str, golden: Golden) -> None:
    func = attention()
    setting = reload_settings(func)[1 if name == "reloaded" else -1]
    golden(f"attention_{name}", setting.rewrite(func).script().splitlines())


def test_uses_that_follow_each_other_have_one_load() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((128, 64), "float16")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64, 64), "float16")
            T.copy(A, a)
            for k in T.serial(2):
                T.copy(a, B[0, 0])
                T.copy(a, B[64, 0])
                T.clear(B[k * 64, 0])

    changed = with_reloads(main, [one.buffer for one in loaded_tiles(main)])
    loads = [line for line in statements(changed) if "T.region(A[" in line]
    assert len(loads) == 1
    assert is_equivalent(main, changed)


def test_a_gather_is_carried_out_again() -> None:
    func = gathered()
    changed = with_reloads(func, [one.buffer for one in loaded_tiles(func)])
    assert [one.name for one in loaded_tiles(func)] == ["rows"]
    assert "rows_2" in changed.script()
    assert is_equivalent(func, changed)


def test_gathers_and_parts_of_a_tile_go_in_slices() -> None:
    func = sparse()
    changed = with_reloads(func, [one.buffer for one in loaded_tiles(func)], slices=2)
    found = statements(changed)
    at = found.index("for part in range(2):")
    assert "Q[0, part * 64]" in found[at + 1]
    assert "K[X[k * 64 + i], j + part * 64]" in found[at + 4]
    assert is_equivalent(func, changed)


def test_a_gather_of_a_part_of_a_tile_stays_whole() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((128, 64), "float16"),
        B: T.Tensor((64, 128), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ) -> None:
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 128), "float16")
            b = T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            for i, j in T.Parallel(64, 128):
                a[i, j] = A[j, i]
            for i, j in T.Parallel(64, 64):
                b[i, j] = B[i, j]
            T.clear(c)
            T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    assert reload_settings(main) == []


def test_a_layout_that_was_asked_for_is_that_of_each_copy() -> None:
    func = attention(swizzled=True)
    changed = with_reloads(func, [one.buffer for one in loaded_tiles(func)])
    (before,), (after,) = map(layouts, (func, changed))
    assert (before, after) == (["keys"], ["keys_1", "keys_2"])
    sliced = with_reloads(func, [one.buffer for one in loaded_tiles(func)], slices=2)
    assert list(layouts(sliced)) == [["keys_2"]]


def layouts(func: Any) -> list[list[str]]:
    """For each block the tiles of which a layout is asked for."""
    from smemreuse.compilers.tilelang.visitor import tirx

    found = []

    def look(node: Any) -> None:
        if isinstance(node, tirx.SBlock) and "layout_map" in node.annotations:
            names = {one.data: one.name for one in node.alloc_buffers}
            found.append([names[var] for var in node.annotations["layout_map"]])

    tirx.stmt_functor.post_order_visit(func.body, look)
    return found


@pytest.mark.parametrize("kind", ["written", "partly", "before", "behind", "addressed"])
def test_a_tile_that_is_more_than_loaded_is_kept(kind: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 64), "float16"), B: T.Tensor((128, 64), "float16")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64, 64), "float16")
            if kind == "before":
                T.copy(a, B[64, 0])
            for k in T.serial(2):
                T.copy(A[k * 64, 0], a)
                if kind == "written":
                    T.clear(a)
                elif kind == "partly":
                    a[0, 0] = T.float16(1)
                elif kind == "addressed":
                    T.call_extern("handle", "mystery", T.access_ptr(a, "r"))
                T.copy(a, B[k * 64, 0])
            if kind == "behind":
                T.copy(a, B[64, 0])

    assert loaded_tiles(main) == []
    assert reload_settings(main) == []


def test_what_is_written_meanwhile_is_not_loaded_again() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")) -> None:
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64, 64), "float16")
            T.copy(A, a)
            for _ in T.serial(2):
                T.copy(a, B)
                T.copy(B, A)

    (setting,) = reload_settings(main)
    assert not is_equivalent(main, setting.rewrite(main))


@pytest.mark.parametrize(("slices", "count"), [(1, 0), (2, 2), (3, 0), (4, 0)])
def test_slices_are_whole_and_wide_enough(slices: int, count: int) -> None:
    """Rows of 128 bytes at least: of a depth of 128 two slices of 64 halves."""
    func = gemm(2, depth=128)
    changed = with_reloads(func, [one.buffer for one in loaded_tiles(func)], slices)
    parts = [line for line in statements(changed) if line.startswith("for part")]
    assert len(parts) == count


def test_the_first_slice_of_a_product_that_clears_its_tile_stands_by_itself() -> None:
    func = attention(clear=True)
    changed = reload_settings(func)[-1].rewrite(func)
    found = [line for line in statements(changed) if "(scores" in line or "for part" in line]
    assert "for part in range(1, 4):" in found
    cleared = [
        line for line in found if "T.gemm" in line and line.endswith("T.bool(True), 0, 0, 0)")
    ]
    assert len(cleared) == 1
    assert is_equivalent(func, changed)


def test_no_sequence_is_left_empty() -> None:
    func = gemm(2)
    changed = with_reloads(func, [one.buffer for one in loaded_tiles(func)])
    assert all(len(one) > 1 for one in sequences(changed.body))
