"""Loads, stores and atomics that are written as calls."""

from __future__ import annotations

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Answer, Effect, ElementsIn, Fixed, Operand, Row, Rows
from smemreuse.semantics.rows.forms import (
    ONE_ELEMENT,
    accessing,
    each,
    merged,
    nothing,
    reads,
    updates,
    vector_atomic,
    writes,
)


def _atomic(operand: Operand) -> Effect:
    """`(target, value, memory order)`; the value may be a pointer to it."""
    return accessing(operand, handed_on=True, answer=Answer.VARIES, atomic=True)


_ATOMIC = _atomic(updates(0, ONE_ELEMENT))

_ATOMICS: Rows = merged(
    each(
        "atomic_add_elem_op atomic_add_ret_elem_op atomic_or_elem_op"
        " atomic_max_elem_op atomic_max_ret_elem_op atomic_min_elem_op atomic_min_ret_elem_op",
        _ATOMIC,
    ),
    # An access pointer claims one element of them.
    each("atomic_addx2_elem_op atomic_addx2_ret_elem_op", _atomic(vector_atomic(2))),
    each("atomic_addx4_elem_op atomic_addx4_ret_elem_op", _atomic(vector_atomic(4))),
    {
        "atomic_load_elem_op": accessing(reads(0, ONE_ELEMENT), answer=Answer.VARIES, atomic=True),
        "atomic_store_elem_op": accessing(writes(0, ONE_ELEMENT), handed_on=True, atomic=True),
        # TIR's own: `atomic_add(pointer, value)`, of a value of any type.
        "atomic_add": _atomic(updates(0, certain=False)),
    },
)


def _load(size: int) -> Row:
    """`ldg32(pointer[, predicate])`"""

    def row(call: Call) -> Effect | None:
        if len(call.args) not in (1, 2):
            return None
        read = reads(0, Fixed(size), certain=len(call.args) == 1)
        return accessing(read, answer=Answer.VARIES)

    return row


def _store(size: int) -> Row:
    """`stg32(pointer, value[, predicate])`"""

    def row(call: Call) -> Effect | None:
        if len(call.args) not in (2, 3):
            return None
        return accessing(writes(0, Fixed(size), certain=len(call.args) == 2))

    return row


_WIDTHS = (32, 64, 128, 256)

_VECTORS: Rows = merged(
    {f"{name}{bits}": _load(bits // 8) for name in ("ldg", "lds") for bits in _WIDTHS},
    {f"{name}{bits}": _store(bits // 8) for name in ("stg", "sts") for bits in _WIDTHS},
)

_OTHERS: Rows = merged(
    {
        # `__ldg(element)`, or with a pointer and an index.
        "__ldg": Effect(handed_on=True, follows=True, answer=Answer.VARIES),
        # `ptx_ldg32(registers, guard, element, index)`, in Apache TVM `s_tir.ldg32`.
        "ptx_ldg32": accessing(written=(0,), handed_on=True),
        "s_tir.ldg32": accessing(written=(0,), handed_on=True),
        # `masked_load(type, buffer, indices..., mask)`, `masked_store(buffer, value, ...)`
        "masked_load": accessing(reads(1, certain=False), answer=Answer.VARIES),
        "masked_store": accessing(writes(0, certain=False)),
        "print_buffer": accessing(reads(0, certain=False)),
    },
    # `any_of(pointer, elements)`, which may stop at the first.
    each(
        "any_of all_of",
        accessing(reads(0, ElementsIn(1), certain=False), answer=Answer.VARIES),
    ),
    nothing("prefetch", "brings data nearer, and changes none"),
)

ROWS: Rows = merged(_ATOMICS, _VECTORS, _OTHERS)
