"""Provisional."""

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const
from smemreuse.semantics.effects import *  # noqa
from smemreuse.semantics.effects import Row

R, W, RW = Access.READ, Access.WRITE, Access.READ_WRITE
PURE_ADDR = Effect(address=True)
TABLE = {}
for n in [
    "add",
    "sub",
    "mul",
    "div",
    "mod",
    "floordiv",
    "floormod",
    "ceildiv",
    "min",
    "max",
    "cast",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "shift_left",
    "shift_right",
    "if_then_else",
    "select",
    "let",
    "likely",
    "tuple",
    "tvm_access_ptr",
    "address_of",
    "handle_add_byte_offset",
    "reinterpret",
    "shuffle",
    "ramp",
    "broadcast",
    "bitwise_not",
    "type_annotation",
]:
    TABLE[n] = PURE_ADDR
for n in [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "and",
    "or",
    "not",
    "exp",
    "exp2",
    "exp10",
    "log",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "tanh",
    "sigmoid",
    "abs",
    "fabs",
    "floor",
    "ceil",
    "round",
    "trunc",
    "pow",
    "fma",
    "isnan",
    "isinf",
    "sin",
    "cos",
    "erf",
    "popcount",
    "clz",
    "infinity",
    "pack_b16",
    "truncmod",
    "tvm_thread_invariant",
    "assume_value",
    "block_rank_in_cluster",
    "cluster_block_rank",
    "tvm_tuple",
    "prefetch_tma_descriptor",
    "warpgroup_fence_operand",
    "set_max_nreg",
    "no_set_max_nreg",
    "call_packed",
    "tvm_stack_alloca",
    "max_value",
    "min_value",
    "reduce",
    "comm_reducer",
]:
    TABLE[n] = Effect()
for n in [
    "tvm_warp_shuffle",
    "tvm_warp_shuffle_down",
    "tvm_warp_shuffle_up",
    "tvm_warp_activemask",
    "tl_shuffle_elect",
    "get_lane_idx",
    "get_warp_idx",
    "get_warp_idx_sync",
    "warp_reduce_max",
    "warp_reduce_sum",
    "shfl_xor_sync",
    "shfl_down_sync",
]:
    TABLE[n] = Effect(answer=Answer.VARIES)


def cp(call: Call):
    return Effect(
        operands=(Operand(0, W, ElementsIn(2), certain=len(call.args) == 3),),
        arity=frozenset({3, 4}),
        engine=Engine.CP_ASYNC,
    )


TABLE["ptx_cp_async"] = cp
TABLE["ptx_commit_group"] = Effect(commits=Engine.CP_ASYNC)
TABLE["ptx_wait_group"] = Effect(waits=Wait(Engine.CP_ASYNC, 0))
TABLE["ptx_ldmatrix"] = Effect(
    operands=(Operand(2, R, Fixed(16)),), arity=frozenset(range(4, 9)), handed_on=True
)
TABLE["ptx_stmatrix"] = Effect(
    operands=(Operand(2, W, Fixed(16), certain=OnlyIf(1, 4)),),
    arity=frozenset(range(4, 12)),
    handed_on=True,
)
for n in ("tma_load", "tma_load_im2col"):
    TABLE[n] = Effect(
        operands=(Operand(Place.SHARED, W, Extent.CLAIMED, swizzled=True),),
        engine=Engine.TMA_LOAD,
        proxy=Proxy.ASYNC,
        mbarrier=Mbarrier(Signal.COMPLETE_WITH_BYTES, Place.BARRIER),
    )
TABLE["tma_store"] = Effect(
    operands=(Operand(Place.SHARED, R, Extent.CLAIMED, swizzled=True),), engine=Engine.TMA_STORE
)
TABLE["tma_store_arrive"] = Effect(commits=Engine.TMA_STORE)
TABLE["tma_store_wait"] = Effect(waits=Wait(Engine.TMA_STORE, 0))
TABLE["initialize_wgmma_descriptor"] = Effect(
    operands=(Operand(1, R, swizzled=True),), engine=Engine.WGMMA, describes=Descriptor(0, 1)
)
TABLE["initialize_tcgen05_descriptor"] = Effect(
    operands=(Operand(1, R, swizzled=True),), engine=Engine.TCGEN05, describes=Descriptor(0, 1)
)
TABLE["increase_descriptor_offset"] = Effect()
for n in ("ptx_wgmma_ss", "ptx_wgmma_rs", "ptx_wgmma_sp_ss", "ptx_wgmma_sp_rs"):
    TABLE[n] = Effect(reads_described=True, engine=Engine.WGMMA, handed_on=True)
TABLE["warpgroup_arrive"] = Effect()
TABLE["warpgroup_commit_batch"] = Effect(commits=Engine.WGMMA)
TABLE["warpgroup_wait"] = Effect(waits=Wait(Engine.WGMMA, 0))
TABLE["wait_wgmma"] = Effect(waits=Wait(Engine.WGMMA, 0))
TABLE["tvm_storage_sync"] = Effect(meeting=Meeting(Group.NAMED, count=2, identity=1, by_scope=0))
TABLE["sync_warp"] = Effect(meeting=Meeting(Group.WARP, mask=0))
TABLE["named_barrier_arrive"] = Effect(meeting=Meeting(Group.NAMED, waits=False))
TABLE["ptx_init_barrier_thread_count"] = Effect(mbarrier=Mbarrier(Signal.INITIALIZE, 0, 1))
TABLE["ptx_arrive_barrier"] = Effect(mbarrier=Mbarrier(Signal.ARRIVE, 0))
TABLE["ptx_arrive_barrier_expect_tx"] = Effect(mbarrier=Mbarrier(Signal.ARRIVE_AND_EXPECT, 0, 1))
TABLE["mbarrier_expect_tx"] = Effect(mbarrier=Mbarrier(Signal.EXPECT, 0, 1))
TABLE["mbarrier_wait_parity"] = Effect(mbarrier=Mbarrier(Signal.WAIT, 0, 1))
for n in ("ptx_cp_async_barrier_noinc", "ptx_cp_async_barrier"):
    TABLE[n] = Effect(mbarrier=Mbarrier(Signal.ARRIVE_WITH_COPIES, 0))
TABLE["ptx_fence_barrier_init"] = Effect()
TABLE["fence_proxy_async"] = Effect(fence=True)
for n in ("thread_return", "ret", "return"):
    TABLE[n] = Effect(leaves=Leaving.RETURN)
for n in ("break_loop", "loop_break"):
    TABLE[n] = Effect(leaves=Leaving.BREAK)
TABLE["continue_loop"] = Effect(leaves=Leaving.CONTINUE)
TABLE["ptx_st_bulk_shared"] = Effect(operands=(Operand(0, W, BytesIn(1)),))
for n in [
    "ptx_mma",
    "ptx_mma_sp",
    "tvm_load_matrix_sync",
    "tvm_mma_sync",
    "tvm_store_matrix_sync",
    "tvm_fill_fragment",
    "atomic_add_elem_op",
    "atomic_addx2_elem_op",
    "atomic_addx4_elem_op",
    "ptx.ldmatrix",
    "ptx.ld",
    "ptx.stmatrix",
    "ptx.mma",
    "cuda.printf",
]:
    TABLE[n] = Effect(handed_on=True, answer=Answer.VARIES)


def function_row(call):
    return None
