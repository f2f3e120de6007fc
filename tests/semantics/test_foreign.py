"""Calls of functions that are written in CUDA and have no row."""

from __future__ import annotations

import pytest

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer
from smemreuse.ir.kernel import Buffer
from smemreuse.semantics.effects import Answer, Engine
from smemreuse.semantics.foreign import (
    foreign_effect,
    is_over_at_return,
    names_instructions,
    returns_address,
    takes_values,
)

S = Buffer("S", "float32", (Const(4),), "shared.dyn")
ELEMENT = Load(S, (Const(0),))
TEXT = "__device__ void scale(float* x) { x[threadIdx.x] *= 2; }"
BY_REFERENCE = "__device__ void scale(float& x) { x *= 2; }"
ASSEMBLY = '__device__ void scale(float* x) { asm volatile("nop;"); }'


def typed(name: str, *args: Expr, dtype: str = "int32") -> Call:
    """`call_extern`, of which nobody knows the text."""
    return Call("call_extern", (Const(dtype), Const(name), *args))


def inlined(text: str, *args: Expr, name: str = "scale", dtype: str = "") -> Call:
    """`func_call`, which brings its text."""
    last = (Const(dtype),) if dtype else ()
    return Call("cuda.func_call", (Const(name), *args, Const(text), *last))


@pytest.mark.parametrize(
    ("call", "over"),
    [
        (typed("scale"), False),  # who knows
        (typed("__of_cuda_without_a_row"), False),
        (typed("tl::something_of_tomorrow"), False),
        (inlined(TEXT), True),
        (inlined(BY_REFERENCE), True),
        (inlined(ASSEMBLY), False),
        (inlined('#include "scale.h"\n' + TEXT), False),
        (inlined("#include <cmath>\n" + TEXT), True),
        (inlined(TEXT, name="shift"), False),  # the text is of another function
        (Call("call_extern", (Const("int32"),)), False),
    ],
    ids=str,
)
def test_a_function_is_over_when_it_returns_if_that_can_be_read(call: Call, over: bool) -> None:
    assert is_over_at_return(call) is over
    engine = foreign_effect(call).engine
    assert engine is (Engine.THREAD if over else Engine.UNKNOWN_ASYNC)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (typed("scale", ELEMENT), False),
        (typed("scale_by", ELEMENT), False),
        (inlined(TEXT, ELEMENT), True),
        (inlined(BY_REFERENCE, ELEMENT), False),
        (inlined(TEXT, ELEMENT, Const("&& more text")), False),
        (inlined(TEXT, ELEMENT, name="shift"), False),
    ],
    ids=str,
)
def test_an_element_may_be_handed_over_by_reference(call: Call, values: bool) -> None:
    assert takes_values(call) is values
    assert foreign_effect(call).by_reference == (not values)


@pytest.mark.parametrize(
    ("call", "address"),
    [
        *((typed("scale", dtype=dtype), True) for dtype in ("handle", "int64", "uint64", "uint32")),
        *((typed("scale", dtype=dtype), False) for dtype in ("int32", "float32", "bool", "uint8")),
        (inlined(TEXT, dtype="uint64"), True),
        (inlined(TEXT, dtype="float32"), False),
        (Call("call_global", (Const("f"), Pointer(S))), True),  # of no type at all
    ],
    ids=str,
)
def test_a_function_may_give_an_address_back_where_its_type_holds_one(
    call: Call, address: bool
) -> None:
    assert returns_address(call) is address
    assert foreign_effect(call).address is address


def test_a_text_with_instructions_in_it_is_not_understood() -> None:
    assert names_instructions(inlined(ASSEMBLY))
    assert not names_instructions(inlined(TEXT))
    assert not names_instructions(typed("asm"))  # a name is no text
    assert not names_instructions(Call("asm", (Const("f"), Const("asm"))))
    assert foreign_effect(inlined(ASSEMBLY)).swizzles


def test_whatever_a_function_does_each_thread_may_get_another_answer() -> None:
    effect = foreign_effect(typed("scale"))
    assert effect.answer is Answer.VARIES
    assert effect.handed_on
    assert effect.follows
    assert not effect.orders
