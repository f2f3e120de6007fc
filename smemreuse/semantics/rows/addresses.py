"""Addresses, control flow, and what the readers make of what is not TIR."""

from __future__ import annotations

from smemreuse.ir.expr import Call, constant
from smemreuse.semantics.effects import Answer, Effect, Leaving, Rows
from smemreuse.semantics.rows.forms import accessing, each, merged, nothing, reads, writes

_ADDRESS = "an address: who uses it accesses what is there"

_ADDRESSES = merged(
    each("tvm_access_ptr address_of", Effect(address=True, answer=Answer.VARIES, words=_ADDRESS)),
    each("handle_add_byte_offset reinterpret", Effect(address=True, words=_ADDRESS)),
)

_LEAVING = merged(
    each("thread_return ret return", Effect(leaves=Leaving.RETURN)),
    each("break_loop loop_break", Effect(leaves=Leaving.BREAK)),
    each("continue_loop", Effect(leaves=Leaving.CONTINUE)),
)


def _allreduce(call: Call) -> Effect | None:
    """`tvm_thread_allreduce(n, values..., condition, results..., axes...)`: what it is lowered to
    has buffers and barriers of its own, later than here."""
    count = constant(call.args[0]) if call.args else None
    if count is None or len(call.args) < 2 + 2 * count:
        return None
    results = range(2 + count, 2 + 2 * count)
    return accessing(
        *tuple(writes(at, certain=False) for at in results),
        handed_on=True,
        writes_locals=tuple(results),
        answer=Answer.VARIES,
    )


_NOT_UNDERSTOOD: Rows = {
    # A field or method of something that is no buffer.
    "attribute": Effect(handed_on=True, follows=True, address=True, answer=Answer.VARIES),
    "tvm_thread_allreduce": _allreduce,
    # `T.load(type, handle, index)` and `T.store(handle, index, value)` of 2021, where the handle is
    # not seen through.
    "load": accessing(reads(1, certain=False), address=True, answer=Answer.VARIES),
    "store": accessing(writes(0, certain=False), handed_on=True),
}

_NO_CODE = nothing("evaluate", "evaluates its operand and drops it")

ROWS: Rows = merged(_ADDRESSES, _LEAVING, _NOT_UNDERSTOOD, _NO_CODE)
