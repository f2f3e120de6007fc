"""Loads, stores and atomics that TileLang writes as calls."""

from __future__ import annotations

from smemreuse.semantics.effects import Answer, Extent, Rows
from smemreuse.semantics.rows.forms import accessing, each, merged, reads, updates, writes

# `(target, value, memory order)`, one element. Those that give back what was there go by `_ret`.
_ATOMIC = accessing(updates(0, Extent.CLAIMED), handed_on=True, answer=Answer.VARIES)
# Two or four elements, of which the access pointer claims one.
_VECTOR_ATOMIC = accessing(updates(0, certain=False), handed_on=True, answer=Answer.VARIES)

ROWS: Rows = merged(
    each(
        "atomic_add_elem_op atomic_add_ret_elem_op atomic_or_elem_op"
        " atomic_max_elem_op atomic_max_ret_elem_op atomic_min_elem_op atomic_min_ret_elem_op",
        _ATOMIC,
    ),
    each(
        "atomic_addx2_elem_op atomic_addx2_ret_elem_op"
        " atomic_addx4_elem_op atomic_addx4_ret_elem_op",
        _VECTOR_ATOMIC,
    ),
    {
        "atomic_load_elem_op": accessing(reads(0, Extent.CLAIMED), answer=Answer.VARIES),
        "atomic_store_elem_op": accessing(writes(0, Extent.CLAIMED), handed_on=True),
    },
    # TIR's own: `atomic_add(element or pointer, value)`.
    each("atomic_add", _VECTOR_ATOMIC),
)
