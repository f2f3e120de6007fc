"""Apache TVM's own operations: `cuda.*`, `nvshmem.*`, and what it has of older spellings.

Its mbarriers are in plain shared memory, so what is done to one is an access to its 8 bytes too.
"""

from __future__ import annotations

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import (
    Answer,
    Descriptor,
    Effect,
    Engine,
    Fixed,
    Group,
    Mbarrier,
    Meeting,
    Proxy,
    Rows,
    Signal,
)
from smemreuse.semantics.rows.forms import (
    EXCHANGED,
    IN_REGISTERS,
    accessing,
    address_values,
    each,
    merged,
    nothing,
    ordering_elsewhere,
    prefixed,
    reads,
    updates,
    values,
    varying,
    writes,
)

MBARRIER = Fixed(8)

_VALUES: Rows = merged(
    values(
        prefixed(
            "cuda.",
            """
            bfloat1622float2 bfloat162float fadd2_rn fdividef ffs_u32 float22bfloat162_rn
            float22bfloat162_rn_from_float2 float2_x float2_y float_as_uint fmul2_rn
            fp8x4_e4m3_from_float4 half2float hmax2 hmin2 make_float2 uint_as_float
            tcgen05.encode_instr_descriptor tcgen05.encode_instr_descriptor_block_scaled
            get_tmem_addr
            """,
        )
    ),
    varying(
        "cuda.clock64 cuda.elect_sync cuda.mov_sreg cuda.thread_rank"
        " cuda.iket.range_start cuda.iket.sentinel_token"
    ),
    each(
        """
        cuda.__shfl_sync cuda.__shfl_up_sync cuda.__shfl_down_sync cuda.__shfl_xor_sync
        cuda.any_sync cuda.ballot_sync cuda.reduce_add_sync_u32 cuda.reduce_min_sync_u32
        cuda.warp_reduce
        """,
        EXCHANGED,
    ),
    varying("cuda.__activemask", IN_REGISTERS),
    address_values(
        "cuda.cvta_generic_to_shared cuda.smem_addr_from_uint64 ptx.addr ptr_byte_offset"
        " buffer_data"
    ),
    # The same place in the leading block of two.
    {
        "cuda.sm100_2sm_leader_smem_addr": accessing(
            updates(0, certain=False), engine=Engine.REMOTE, address=True, remote=True
        )
    },
    address_values("tvm_tuple"),
    values("buffer_offset filter"),
)

_BARRIERS: Rows = {
    "cuda.cta_sync": Effect(meeting=Meeting(Group.BLOCK)),
    "cuda.syncthreads_and": Effect(meeting=Meeting(Group.BLOCK)),
    "cuda.syncthreads_or": Effect(meeting=Meeting(Group.BLOCK)),
    "cuda.warp_sync": Effect(meeting=Meeting(Group.WARP)),
    "cuda.warpgroup_sync": Effect(meeting=Meeting(Group.NAMED, identity=0, threads=128)),
    "cuda.cluster_sync": Effect(meeting=Meeting(Group.CLUSTER)),
    "cuda.grid_sync": Effect(meeting=Meeting(Group.GRID)),
    "cuda.mbarrier_wait": accessing(
        updates(0, MBARRIER, certain=False), mbarrier=Mbarrier(Signal.WAIT, 0, count=1)
    ),
    "cuda.mbarrier_wait_acquire_cluster": accessing(
        updates(0, MBARRIER, certain=False), mbarrier=Mbarrier(Signal.WAIT, 0, count=1)
    ),
}


def _ldg(call: Call) -> Effect | None:
    """`ldg(address, type)`, or `ldg(targets..., address, type, vector, number of targets)`"""
    if len(call.args) == 2:
        return accessing(reads(0, certain=False), answer=Answer.VARIES)
    targets = range(len(call.args) - 4)
    if not targets:
        return None
    return accessing(reads(len(targets), certain=False), written=targets)


_ATOMIC = accessing(updates(0, certain=False), answer=Answer.VARIES, atomic=True)

_MEMORY: Rows = {
    "cuda.atomic_add": _ATOMIC,
    "cuda.atomic_cas": _ATOMIC,
    "cuda.ldg": _ldg,
    # `wait_until(register, word, condition, ...)`: a loop that reads the word, and acquires.
    "cuda.wait_until": accessing(
        reads(1, certain=False), writes_locals=(0,), answer=Answer.VARIES, may_wait=True
    ),
    # `cta_reduce(value, operator, warps, scratch)`: the scratch is written, all threads meet, a
    # warp reads and writes it, they meet again, and all read it.
    "cuda.cta_reduce": accessing(
        writes(3, certain=False),
        answer=Answer.VARIES,
        within=(Meeting(Group.BLOCK), Meeting(Group.BLOCK)),
    ),
    # `(target, source)`, and `(source, target)` for eight.
    "cuda.float22half2": accessing(reads(1, certain=False), written=(0,)),
    "cuda.half8tofloat8": accessing(reads(0, certain=False), written=(1,)),
    "cuda.float8tohalf8": accessing(reads(0, certain=False), written=(1,)),
    "cuda.runtime_instr_desc": accessing(written=(0,)),
}


# `(pointer to the descriptor, address, offsets..., swizzle)`: the descriptor is not followed
# through its pointer, so what it stands for may be read at any time from now on.
_DESCRIBING = accessing(
    reads(1, certain=False, swizzled=True),
    engine=Engine.UNKNOWN_ASYNC,
    proxy=Proxy.ASYNC,
    describes=Descriptor(local=0, buffer=1),
    writes_locals=(0,),
)


def _mma_store(call: Call) -> Effect | None:
    """`mma_store(type, m, n, target, source, offset, stride)`; the older form has no type."""
    target = len(call.args) - 4
    if target not in (2, 3):
        return None
    return accessing(writes(target, certain=False), read=(target + 1,))


def _mma_fill(call: Call) -> Effect | None:
    """`mma_fill(type, elements, target, offset)`; the older form has no type."""
    target = len(call.args) - 2
    if target not in (1, 2):
        return None
    return accessing(written=(target,))


def _legacy_mma(call: Call) -> Effect | None:
    """`(shape, layouts and types x5, A, offset, B, offset, C, offset, saturate[, operator])`"""
    if len(call.args) not in (13, 14):
        return None
    return accessing(read=(6, 8), written=(10,))


_MATRICES: Rows = {
    "cuda.wgmma.encode_matrix_descriptor": _DESCRIBING,
    "cuda.tcgen05.encode_matrix_descriptor": _DESCRIBING,
    "cuda.mma_store": _mma_store,
    "cuda.mma_store_legacy": _mma_store,
    "cuda.mma_fill": _mma_fill,
    "cuda.mma_fill_legacy": _mma_fill,
    "ptx_legacy.mma": _legacy_mma,
    # `(transposed, matrices, type, registers, offset, source, offset)`; int8 is transposed
    # element by element, and read from all over.
    "ptx_legacy.ldmatrix": accessing(reads(5, certain=False), written=(3,), arity=frozenset({7})),
    "cuda.wgmma.noop_barrier": Effect(writes_locals=(0,), words="keeps the compiler in order"),
}


def _cp_async_raw(call: Call) -> Effect | None:
    """`cp_async_raw(type, target, offset, source, offset, bytes[, predicate])`

    Zeros are stored by the thread itself where the predicate is off. The offsets count elements.
    """
    if len(call.args) not in (6, 7):
        return None
    return accessing(reads(3, certain=False), writes(1, certain=False), engine=Engine.CP_ASYNC)


_ACROSS_GPUS = Effect(
    handed_on=True,
    follows=True,
    engine=Engine.UNKNOWN_ASYNC,
    answer=Answer.VARIES,
    may_wait=True,
)

_COPIES: Rows = merged(
    {"s_tir.cp_async_raw": _cp_async_raw},
    each(
        (
            f"nvshmem.{name}{scope}"
            for name in ("getmem_nbi", "putmem_nbi", "putmem_signal_nbi")
            for scope in ("", ".warp", ".block")
        ),
        _ACROSS_GPUS,
    ),
    each("nvshmem.signal_op nvshmem.wait_until", _ACROSS_GPUS),
    values("nvshmem.my_pe nvshmem.n_pes"),
    ordering_elsewhere(
        "nvshmem.quiet nvshmem.fence", "order between GPUs, which is not counted on within a block"
    ),
    # All blocks of all GPUs: what a thread has done before it is known to those who come after.
    each(
        "nvshmem.barrier_all",
        Effect(
            words="order between GPUs, which is not counted on within a block",
            elsewhere=True,
            may_wait=True,
        ),
    ),
)

_WORDS = merged(
    nothing("cuda.nano_sleep", "takes time, and orders nothing"),
    ordering_elsewhere("cuda.thread_fence", "orders what one thread does, and waits for nobody"),
    nothing("cuda.trap_when_assert_failed", "ends the kernel, or does nothing"),
    nothing("cuda.printf", "prints values"),
    nothing(
        "cuda.iket.mark cuda.iket.range_end cuda.iket.range_push cuda.iket.range_pop",
        "marks for a profiler",
    ),
    # These keep what they measure where their operands point.
    each(
        "cuda.timer_init cuda.timer_start cuda.timer_end cuda.timer_finalize"
        " cuda.iket.official_event",
        Effect(handed_on=True, follows=True, answer=Answer.VARIES),
    ),
)

ROWS: Rows = merged(_VALUES, _BARRIERS, _MEMORY, _MATRICES, _COPIES, _WORDS)
