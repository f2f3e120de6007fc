"""Rule 7: the strictest of element, 16 bytes, what lowering recorded, and what hardware asks."""

from __future__ import annotations

import pytest

from smemreuse.analysis.alignment import alignments
from smemreuse.errors import InputError
from smemreuse.ir.expr import Call, Const, Expr, Pointer, Var
from smemreuse.ir.kernel import Allocate, Bind, Buffer, Declare, Evaluate, If, Kernel, Stmt
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.versions import APACHE_TVM
from tests.analysis.trees import access_ptr, load, shared, store

A, B = shared("A"), shared("B")


def align(*body: Stmt, **recorded: object) -> dict[str, int]:
    attrs = {"tl.smem_alignment_map": recorded} if recorded else {}
    kernel = Kernel("k", (Allocate(A), Allocate(B), *body), attrs)
    return {buffer.name: value for buffer, value in alignments(kernel, "shared.dyn").items()}


def test_16_bytes_is_the_least() -> None:
    assert align(store(A, load(B))) == {"A": 16, "B": 16}


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("uint8", 16), ("float16x8", 16), ("float32x8", 32), ("float64x6", 64), ("uint8x128", 128)],
)
def test_a_wide_element_asks_for_its_own_size(dtype: str, expected: int) -> None:
    wide = shared("W", dtype=dtype)
    kernel = Kernel("k", (Allocate(wide),))
    assert alignments(kernel, "shared.dyn") == {wide: expected}


@pytest.mark.parametrize(
    "op",
    [
        "tma_load",
        "tma_load_multicast",
        "tma_load_im2col",
        "tma_store",
        "tma_store_cluster",
        "initialize_wgmma_descriptor",
        "initialize_tcgen05_descriptor",
    ],
)
@pytest.mark.parametrize(
    "operand",
    [access_ptr(A, Const(2)), Pointer(A), load(A), Call("address_of", (load(A),))],
    ids=["access_ptr", "data", "load", "address_of"],
)
def test_what_may_be_swizzled_is_aligned_to_the_period(op: str, operand: Expr) -> None:
    assert align(Evaluate(Call(op, (Var("desc"), operand)))) == {"A": 1024, "B": 16}


def test_the_operand_may_hide_behind_views_pointers_and_branches() -> None:
    pointer = Var("p")
    view = Buffer("v", "uint8", (Const(8),), "shared.dyn", pointer)
    use = Evaluate(Call("tma_store", (access_ptr(view, Const(1)),)))
    hidden = (Bind(pointer, Pointer(A)), Declare(view), If(Const(1), (), (use,)))
    assert align(*hidden) == {"A": 1024, "B": 16}


def test_what_lowering_recorded_is_exact() -> None:
    swizzled = Evaluate(Call("tma_load", (access_ptr(A, Const(2)), access_ptr(B, Const(2)))))
    assert align(swizzled, A=128) == {"A": 128, "B": 1024}
    assert align(A=256) == {"A": 256, "B": 16}
    assert align(A=4) == {"A": 16, "B": 16}


def test_a_second_buffer_of_a_name_is_printed_with_a_suffix_and_found() -> None:
    second = shared("A_1")
    kernel = Kernel("k", (Allocate(second),), {"tl.smem_alignment_map": {"A": 512}})
    assert alignments(kernel, "shared.dyn") == {second: 512}


def test_a_buffer_really_named_like_a_second_one_is_not_under_aligned() -> None:
    other = shared("A_1")
    use = Evaluate(Call("tma_load", (Var("desc"), access_ptr(other, Const(2)))))
    kernel = Kernel("k", (Allocate(other), use), {"tl.smem_alignment_map": {"A": 128}})
    assert alignments(kernel, "shared.dyn") == {other: 1024}


@pytest.mark.parametrize(
    "value",
    ["many", None, [1], float("inf"), 0, -4, 48, 2**400],
    ids=["word", "none", "list", "infinity", "zero", "negative", "no power", "huge"],
)
def test_a_requirement_that_is_no_number_is_bad_input_and_no_crash(value: object) -> None:
    with pytest.raises(InputError):
        align(A=value)


def test_offsets_keep_to_the_alignment() -> None:
    odd = shared("odd", 24)
    use = Evaluate(Call("tma_load", (access_ptr(A, Const(2)), load(odd), load(B))))
    kernel = Kernel("k", (Allocate(odd), Allocate(A), Allocate(B), use))
    for packer in ("best", "tilelang"):
        plan = plan_kernel(kernel, "shared.dyn", packer=packer)
        assert all(offset % plan.alignments[b] == 0 for b, offset in plan.offsets.items())
        assert plan.alignments[A] == 1024


def test_apache_tvm_aligns_to_what_its_buffers_say() -> None:
    """64 bytes where nobody asked for another; its own merge and unmerged arrays do the same."""
    wider = Buffer("W", "uint8", (Const(8),), "shared.dyn", alignment=128)
    stated = Buffer("S", "uint8", (Const(8),), "shared.dyn", alignment=64)
    kernel = Kernel("k", (Allocate(A), Allocate(stated), Allocate(wider)), version=APACHE_TVM)
    assert list(alignments(kernel, "shared.dyn").values()) == [64, 64, 128]


@pytest.mark.parametrize(
    "op",
    [
        "ptx.cp.async_.bulk.tensor",
        "ptx.wgmma",
        "cuda.wgmma.encode_matrix_descriptor",
        "ptx.tcgen05",
    ],
)
def test_so_is_what_apache_tvm_s_instructions_may_swizzle(op: str) -> None:
    assert align(Evaluate(Call(op, (Pointer(A),)))) == {"A": 1024, "B": 16}


@pytest.mark.parametrize(("text", "expected"), [("void f(void*);", 16), ('asm("x");', 1024)])
def test_and_what_instructions_in_a_text_may(text: str, expected: int) -> None:
    call = Call("cuda.func_call", (Const("f"), Pointer(A), Const(text)))
    assert align(Evaluate(call))["A"] == expected
