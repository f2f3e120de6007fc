"""Tensor memory and tcgen05 as TileLang has them.

A tensor memory buffer is a word of shared memory that holds its address: what is handed such a
buffer reads that word, when it is issued; with one engine to a row, until its end.
"""

from __future__ import annotations

from collections.abc import Callable

from smemreuse.ir.expr import Call, constant
from smemreuse.semantics.effects import (
    Answer,
    Descriptor,
    Effect,
    Engine,
    Fixed,
    Mbarrier,
    Proxy,
    Rows,
    Signal,
    Together,
)
from smemreuse.semantics.rows.forms import (
    accessing,
    merged,
    ordering_elsewhere,
    reads,
    updates,
    writes,
)

_ADDRESS_BYTES = Fixed(4)


def _mma(arity: int, *tensors: int) -> Callable[[Call], Effect | None]:
    """The row of a tcgen05 multiplication with `arity` operands.

    `tensors` are the positions of its buffers in tensor memory; shared memory is read through
    descriptors. The last operand says whether two blocks of a cluster work together.
    """

    def row(call: Call) -> Effect | None:
        """The effect of one call; None if the number of operands is not the expected one."""
        if len(call.args) != arity:
            return None
        return accessing(
            *(reads(at, _ADDRESS_BYTES, certain=False) for at in tensors),
            engine=Engine.TCGEN05,
            proxy=Proxy.ASYNC,
            reads_described=True,
            matrices=(1, 3),
            remote=constant(call.args[-1]) != 0,
        )

    return row


def _copy(call: Call) -> Effect | None:
    """`ptx_tcgen05_cp_warpx4(source, tensor, column)`: scale factors, by one thread of a warp.

    One operand more is an annotation: of two blocks.
    """
    if len(call.args) < 3:
        return None
    return accessing(
        reads(0, certain=False, swizzled=True),
        reads(1, _ADDRESS_BYTES, certain=False),
        engine=Engine.TCGEN05,
        proxy=Proxy.ASYNC,
        remote=len(call.args) > 3,
    )


def _arrive(call: Call) -> Effect:
    """`tcgen05_mma_arrive(mbarrier)`, of two blocks with an annotation after it."""
    return Effect(
        mbarrier=Mbarrier(Signal.ARRIVE_WITH_MATRICES),
        remote=len(call.args) > 1,
    )


ROWS: Rows = merged(
    {
        # `(descriptor, buffer, offsets..., swizzle)`, moved on to a stage afterwards, as for wgmma.
        "initialize_tcgen05_descriptor": accessing(
            reads(1, swizzled=True),
            engine=Engine.TCGEN05,
            proxy=Proxy.ASYNC,
            describes=Descriptor(local=0, buffer=1),
            writes_locals=(0,),
        ),
        "ptx_tcgen05_mma_ss": _mma(15, 5),
        "ptx_tcgen05_mma_ts": _mma(14, 1, 5),
        "ptx_tcgen05_mma_blockscaled_ss": _mma(16, 5, 9, 11),
        "ptx_tcgen05_cp_warpx4": _copy,
        # 128 words are transposed in place by a warp, with a `__syncwarp` in between.
        "ptx_tcgen05_sf_warp_transpose": accessing(updates(0, certain=False)),
        # The warp that allocates gets the address written to a word of shared memory.
        "ptx_init_tensor_memory": accessing(writes(0, _ADDRESS_BYTES, certain=False)),
        "ptx_deallocate_tensor_memory": accessing(reads(0, _ADDRESS_BYTES, certain=False)),
        # `(bits, chunks, packed, address, column[, lanes], registers)`
        "tcgen05_ld": accessing(
            written=(-1,), arity=frozenset({6, 7}), answer=Answer.VARIES, together=Together.WARP
        ),
        "tcgen05_st": accessing(read=(-1,), arity=frozenset({6, 7}), together=Together.WARP),
        "tcgen05_mma_arrive": _arrive,
    },
    ordering_elsewhere(
        "tcgen05_before_thread_sync tcgen05_after_thread_sync",
        "orders tensor memory across a barrier that stands beside it",
    ),
)
