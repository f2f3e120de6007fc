"""Asynchronous copies as TileLang has them: cp.async, TMA, bulk copies, and their waits.

Sources: `codegen_cuda.cc` for the operands, `tl_templates/cuda/copy*.h` and `barrier.h` for the
instructions. An operation of the two compilers goes by one name where the printer gives it one:
`ptx_cp_async` counts elements, and bytes where the type comes first.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import (
    BytesIn,
    Effect,
    ElementsIn,
    Engine,
    Extent,
    Fixed,
    Mbarrier,
    Proxy,
    Rows,
    Signal,
    Wait,
)
from smemreuse.semantics.rows.forms import (
    BARRIER,
    SHARED,
    accessing,
    each,
    merged,
    nothing,
    reads,
    text_at,
    writes,
)


def _cp_async(call: Call) -> Effect | None:
    """`ptx_cp_async(target, source, elements[, predicate])`, or with a type first and bytes."""
    at, size = (1, BytesIn(3)) if text_at(call, 0) is not None else (0, ElementsIn(2))
    predicated = len(call.args) == at + 4
    if not predicated and len(call.args) != at + 3:
        return None
    # Where the predicate is off, TileLang copies zeros, to all of the bytes (`src-size` 0 in
    # `copy.h`); the form that counts bytes is also TVM's, some versions of which then leave them
    # alone. No copy to a plain address is certain: some versions count bytes there, and others
    # elements.
    target = call.args[at]
    typed = isinstance(target, Call) and target.op == "tvm_access_ptr"
    return accessing(
        reads(at + 1, size, certain=not predicated),
        writes(at, size, certain=typed and not (predicated and at)),
        engine=Engine.CP_ASYNC,
    )


WAIT_ALL = Effect(commits=Engine.CP_ASYNC, waits=Wait(Engine.CP_ASYNC))
"""`cp.async.wait_all`, for copies of no group, too: by PTX a commit and a wait for all groups."""

_CP_ASYNC: Rows = {
    "ptx_cp_async": _cp_async,
    "ptx_commit_group": Effect(commits=Engine.CP_ASYNC),
    "ptx_wait_group": Effect(waits=Wait(Engine.CP_ASYNC, keep=0, of_no_group=True)),
    "ptx_cp_async_barrier_noinc": Effect(mbarrier=Mbarrier(Signal.ARRIVE_WITH_COPIES)),
    # It raises the count of arrivals that are due by the one that it makes later.
    "ptx_cp_async_barrier": Effect(mbarrier=Mbarrier(Signal.HOLD_FOR_COPIES)),
}

# `tma_load(tensor map, mbarrier, target, coordinates..., policy)`, or without a map `(target,
# source, mbarrier, bytes, policy)`. What lies out of bounds is filled with zeros: all of the box is
# written.
TMA_LOAD = accessing(
    writes(SHARED, Extent.CLAIMED, swizzled=True),
    engine=Engine.TMA_LOAD,
    proxy=Proxy.ASYNC,
    mbarrier=Mbarrier(Signal.COMPLETE_WITH_BYTES, BARRIER),
)

TMA_STORE = accessing(
    reads(SHARED, Extent.CLAIMED, swizzled=True),
    engine=Engine.TMA_STORE,
    proxy=Proxy.ASYNC,
)

_TMA: Rows = merged(
    {
        "tma_load_multicast": replace(TMA_LOAD, remote=True),
        "tma_store_arrive": Effect(commits=Engine.TMA_STORE),
        "tma_store_wait": Effect(waits=Wait(Engine.TMA_STORE, keep=0)),
        # `tma_store_cluster(target, source, block, bytes, mbarrier)`: into another block, whose
        # mbarrier tells when; a proxy fence comes first.
        "tma_store_cluster": accessing(
            reads(1, BytesIn(3), swizzled=True),
            writes(0, certain=False, swizzled=True),
            arity=frozenset({5}),
            engine=Engine.REMOTE,
            proxy=Proxy.ASYNC,
            mbarrier=Mbarrier(Signal.ARRIVE_AND_EXPECT, 4, count=3),
            fence=True,
            remote=True,
        ),
        # `ptx_cluster_store(buffer, value, block, index)`: an element in another block.
        "ptx_cluster_store": accessing(
            writes(0, certain=False),
            arity=frozenset({4}),
            engine=Engine.REMOTE,
            remote=True,
        ),
        "fence_proxy_async": Effect(fence=True),
        # `(type, target, offset, source, offset, bytes, number of the mbarrier)`
        "ptx_cp_async_bulk": accessing(
            writes(1, certain=False, swizzled=True),
            reads(3, certain=False),
            arity=frozenset({7}),
            engine=Engine.UNKNOWN_ASYNC,
            proxy=Proxy.ASYNC,
        ),
    },
    each("tma_load tma_load_im2col tma_load_gather4", TMA_LOAD),
    each("tma_store tma_store_scatter4", TMA_STORE),
    nothing("prefetch_tma_descriptor", "a tensor map is not in shared memory"),
)

_BULK: Rows = {
    # `ptx_st_bulk_shared(target, bytes, value)`: one thread's store of many bytes.
    "ptx_st_bulk_shared": accessing(writes(0, BytesIn(1))),
}

# Cluster launch control writes 16 bytes, and reports to an mbarrier when they are there.
CLC_REQUEST = accessing(
    writes(0, Fixed(16)),
    arity=frozenset({2}),
    engine=Engine.TMA_LOAD,
    proxy=Proxy.ASYNC,
    mbarrier=Mbarrier(Signal.COMPLETE_WITH_BYTES, 1),
)
_CLUSTER_LAUNCH = merged(
    {
        "clc_try_cancel": CLC_REQUEST,
        "clc_try_cancel_multicast": replace(CLC_REQUEST, remote=True),
    },
    # The device function ends with a proxy fence.
    each(
        "clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z",
        accessing(reads(0, Fixed(16)), fence=True),
    ),
)

ROWS: Rows = merged(_CP_ASYNC, _TMA, _BULK, _CLUSTER_LAUNCH)
