"""TileLang's device library: reductions, scans, atomics, values, barriers of threads.

Sources: the headers in `tl_templates/cuda`. What wraps a single instruction for copies, mbarriers
or tensor cores is in `tilelang_instructions`.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.semantics.effects import (
    Answer,
    Butterfly,
    Effect,
    ElementsIn,
    Fixed,
    Group,
    Meeting,
    Operand,
    Together,
)
from smemreuse.semantics.rows.forms import (
    EXCHANGED,
    ONE_ELEMENT,
    SHUFFLED,
    accessing,
    address_values,
    each,
    merged,
    nothing,
    reads,
    updates,
    values,
    varying,
    vector_atomic,
    writes,
)
from smemreuse.semantics.rows.function_names import FunctionName, FunctionRows, parse_name

_WARP = 32


def _all_reduce(name: FunctionName, parameters: int) -> Effect | None:
    """`tl::AllReduce<Op, threads, scale, offset, Barrier>::run(value, workspace)`.

    Threads more than a warp apart exchange values through the workspace: barrier, write, barrier,
    read, once for each halving of the distance. So a thread reads only what the same call wrote.
    Its last read follows its last barrier. Those less than a warp apart shuffle, all lanes of a
    warp together.
    """
    threads, scale = name.number(1), name.number(2)
    if threads is None or scale is None or scale < 1:
        return None
    halvings = (threads // scale).bit_length() - 1
    distances = [threads >> halving for halving in range(1, halvings + 1)]
    through_memory = [distance for distance in distances if distance >= _WARP]
    in_place = (0,) if name.path.endswith("_batch") else ()
    barriers = _barriers_of_all_reduce(name, threads)
    if through_memory and (parameters < 2 or barriers is None):
        return None
    shuffles = len(distances) > len(through_memory)
    return accessing(
        *((writes(1, certain=False),) if through_memory else ()),
        written=in_place,
        answer=Answer.VARIES,
        within=(barriers or ()) * len(through_memory),
        meets_first=bool(through_memory),
        converges=shuffles,
        together=Together.WARP if shuffles else None,
        butterfly=_butterfly(name, tuple(through_memory)) if through_memory else None,
        exchanges=halvings,
    )


def _butterfly(name: FunctionName, distances: tuple[int, ...]) -> Butterfly | None:
    """What the threads of a reduction write, and whose values they read; None if it is not said
    where that begins."""
    first, copies, stride = (
        name.number(at) if len(name.arguments) > at else usual
        for at, usual in ((3, 0), (5, 1), (6, 0))
    )
    if first is None or copies is None or stride is None:
        return None
    if name.path.endswith("_batch"):
        return Butterfly(1, first, distances, copies, stride)
    return Butterfly(1, first, distances)


def _barriers_of_all_reduce(name: FunctionName, threads: int) -> tuple[Meeting, ...] | None:
    """The two barriers of one exchange: named ones 1 and 2 of as many threads as `NamedBarrier<n>`
    says, or twice that of the block. None for a policy that is not known.

    Once the number stood in the policy's place, and the function's name said which it was.
    """
    policy = parse_name(name.arguments[4]) if len(name.arguments) > 4 else None
    if name.path.endswith("run_hopper"):
        return _numbered(name.number(4) if len(name.arguments) > 4 else threads)
    if policy is None:
        is_number = len(name.arguments) <= 4 or name.number(4) is not None
        return (_OF_THE_BLOCK, _OF_THE_BLOCK) if is_number else None
    if policy.path.endswith("NamedBarrier"):
        return _numbered(policy.number(0))
    return (_OF_THE_BLOCK, _OF_THE_BLOCK) if policy.path.endswith("SyncThreadsBarrier") else None


_OF_THE_BLOCK = Meeting(Group.BLOCK)


def _numbered(threads: int | None) -> tuple[Meeting, ...] | None:
    if threads is None:
        return None
    return tuple(Meeting(Group.NAMED, threads=threads, number=number) for number in (1, 2))


def _named_barrier(name: FunctionName, parameters: int) -> Effect | None:
    """`tl::NamedBarrier<threads>::sync<number>()`, number 1 if none is said."""
    threads, number = name.number(0), name.number(1) if len(name.arguments) > 1 else 1
    if threads is None or number is None:
        return None
    return Effect(meeting=Meeting(Group.NAMED, threads=threads, number=number))


def _sync_thread_partial(name: FunctionName, parameters: int) -> Effect | None:
    """`tl::__sync_thread_partial(number, threads)`, both template arguments once.

    Without them it is `bar.sync 0, 0`, which no hardware has.
    """
    if name.arguments:
        number, threads = name.number(0), name.number(1)
        if threads is None or number is None:
            return None
        return Effect(meeting=Meeting(Group.NAMED, threads=threads, number=number))
    return Effect(meeting=Meeting(Group.NAMED, identity=0, count=1)) if parameters == 2 else None


_BARRIERS: FunctionRows = {
    "tl::NamedBarrier::sync": _named_barrier,
    "tl::SyncThreadsBarrier::sync": Effect(meeting=Meeting(Group.BLOCK)),
    "tl::__sync_thread_partial": _sync_thread_partial,
    "tl::__named_barrier_arrive": Effect(meeting=Meeting(Group.NAMED, 1, identity=0, waits=False)),
    "tl::cluster_sync": Effect(meeting=Meeting(Group.CLUSTER)),
    "tl::cluster_arrive": Effect(meeting=Meeting(Group.CLUSTER, waits=False)),
    "tl::cluster_wait": Effect(meeting=Meeting(Group.CLUSTER, arrives=False)),
    "tl::cluster_arrive_relaxed": Effect(
        meeting=Meeting(Group.CLUSTER, arrives=False, waits=False)
    ),
}

# `(source, target, elements)`: which thread does which is not said. No more than lanes shuffle.
_SCAN_1D = accessing(
    reads(0, ElementsIn(2), certain=False),
    writes(1, ElementsIn(2), certain=False),
    arity=frozenset({3}),
    converges=True,
)
# `(source, target, rows, columns, strides...)`
_SCAN_2D = accessing(reads(0, certain=False), writes(1, certain=False), converges=True)

_COLLECTIVES: FunctionRows = merged(
    dict.fromkeys(
        ("tl::AllReduce::run", "tl::AllReduce::run_batch", "tl::AllReduce::run_hopper"), _all_reduce
    ),
    each("tl::CumSum1D::run tl::CumMax1D::run tl::InclusiveScan1D::run", _SCAN_1D),
    each(
        "tl::CumSum2D::run tl::CumMax2D::run tl::InclusiveScan2D::run tl::InclusiveScanLine",
        _SCAN_2D,
    ),
    each(
        "tl::Any tl::All",
        accessing(reads(0, ElementsIn(1), certain=False), answer=Answer.VARIES),
    ),
    each(
        """
        tl::warp_reduce tl::warp_reduce_sum tl::warp_reduce_max tl::warp_reduce_min
        tl::warp_reduce_bitand tl::warp_reduce_bitor
        """,
        replace(EXCHANGED, together=Together.WARP),
    ),
    each("tl::shfl_sync tl::shfl_xor_sync tl::shfl_down_sync tl::shfl_up_sync", SHUFFLED),
)


def _atomic(operand: Operand) -> Effect:
    """The last operand but one may be a pointer to what is added."""
    return accessing(operand, handed_on=True, answer=Answer.VARIES, atomic=True)


_ATOMICS: FunctionRows = merged(
    each(
        """
        AtomicAdd AtomicAddRet AtomicMax AtomicMaxRet AtomicMin AtomicMinRet AtomicOr
        """,
        _atomic(updates(0, ONE_ELEMENT)),
    ),
    each("AtomicAddx2 AtomicAddx2Ret", _atomic(vector_atomic(2))),
    each("AtomicAddx4 AtomicAddx4Ret", _atomic(vector_atomic(4))),
    {
        "AtomicLoad": accessing(reads(0, ONE_ELEMENT), answer=Answer.VARIES, atomic=True),
        "AtomicStore": accessing(writes(0, ONE_ELEMENT), atomic=True),
    },
)

_REDUCERS = [
    *["SumOp", "MaxOp", "MaxOpNan", "MinOp", "MinOpNan", "BitAndOp", "BitOrOp", "BitXorOp"],
    *(f"{op}Op_{kind}" for op in ("Sum", "Max", "Min") for kind in ("bf16x2", "fp16x2", "f32x2")),
    *(f"{op}OpNan_{kind}" for op in ("Max", "Min") for kind in ("bf16x2", "fp16x2")),
    *("ScanSumOp", "ScanMaxOp"),
]

_OF_HALVES = (
    "abs2 add2 sub2 mul2 fma2 max2 min2 max2_nan min2_nan clamp clamp2 fast_rcp fast_max fast_min"
)

_VALUES: FunctionRows = merged(
    values(f"tl::{name}::operator" for name in _REDUCERS),
    values(["tl::ScanSumOp::identity", "tl::ScanMaxOp::identity"]),
    values(f"tl::{name}" for name in _OF_HALVES.split()),
    values(
        """
        tl::max tl::min tl::pow_of_int tl::pack_half2 tl::pack_float16x4
        tl::pack_bfloat16x4 tl::get_floor_log2 tl::ceil_div tl::RoundTiesAwayFromZero
        __habs __hadd_rn __hdiv __hfma __hmul_rn __hsub_rn __pack_half2 __pack_nv_bfloat162
        hatan hceil hcos hcosh herf hexp hexp10 hexp2 hfloor hfmod hlog hlog10 hlog2 hnearbyint
        hpow hrcp hrint hrsqrt hsin hsinh hsqrt htan htanh htrunc
        make_int make_int2 make_int4 make_longlong4 make_uint make_uint2 make_uint4
        make_ulonglong4 pack_b8x4 fast_rcp tl_pack_int4x2 tl_pack_uint4x2 cuda_cast
        cutlass::fast_cos cutlass::fast_exp cutlass::fast_log cutlass::fast_sin
        cutlass::fast_sqrt cutlass::fast_tanh
        tl::rasterization2DRow tl::rasterization2DColumn
        tl::rasterization2DRowWithCluster tl::rasterization2DColumnWithCluster
        tl::block_rank_in_cluster tl::block_id_in_cluster tl::cluster_id_in_grid
        tl::cluster_grid_dims tl::cluster_shape
        """
    ),
    address_values(
        "smem_ptr_to_uint cast_smem_ptr_to_int tl::make_vec tl::broadcast tl::from_uint1"
        " tl::to_uint1"
    ),
    varying("tl::get_lane_idx tl::get_warp_idx tl::get_warp_idx_sync tl::get_warp_group_idx"),
    each("tl::tl_shuffle_elect", EXCHANGED),
)

_MEMORY: FunctionRows = merged(
    each(
        "tl_int4_packed_load tl_uint4_packed_load tl_fp4_packed_load",
        accessing(reads(0, certain=False), answer=Answer.VARIES),
    ),
    # Half a byte: the other half is read and written back.
    each(
        "tl_int4_packed_store tl_uint4_packed_store tl_fp4_packed_store",
        accessing(updates(0, certain=False)),
    ),
    {
        "DP4A": accessing(
            reads(0, Fixed(4)), reads(1, Fixed(4)), updates(2, Fixed(4)), writes_locals=(2,)
        )
    },
)

_WORDS = merged(
    nothing(
        "debug_print_var debug_print_buffer_value debug_print_msg", "prints values, not contents"
    ),
    nothing("device_assert device_assert_with_msg", "ends the kernel, or does nothing"),
    nothing("tl::warpgroup_reg_alloc tl::warpgroup_reg_dealloc", "how many registers there are"),
)

ROWS: FunctionRows = merged(_BARRIERS, _COLLECTIVES, _ATOMICS, _VALUES, _MEMORY, _WORDS)

INSIDE = {
    "tl::detail::": "called by other functions of the library alone",
    "tl_atomic_detail::": "called by the atomics alone",
    "tl::AllReduce::butterfly_reduce_": "called by `run` and `run_batch` alone",
    "PrintTraits::": "called by the functions that print",
    "fastertransformer::": "fallbacks for types that older hardware lacks",
    "__tl_cvt_": "conversions of values in registers, which only code generation writes",
    "tl::__tl_cvt_": "conversions of values in registers, which only code generation writes",
    **dict.fromkeys(
        ("make_fp4_e2_", "make_fp8_e4_", "make_fp8_e5_", "make_fp8_e8_"),
        "makes a vector of values, where code generation writes it",
    ),
    "__CUDA_ALIGN__::operator": "an operator of a type of the library's",
    "tl::AllReduce::butterfly_reduce": "a part of `tl::AllReduce::run`",
    "tl::make_fp4_vec": "makes a vector of values, where code generation writes it",
    "fp4_e2_t::": "a type of values",
    "fp4_e2_2_t::": "a type of values",
    "std::": "the standard library",
    "operator": "an operator of a type of values",
    "Type": "a constructor of a type of values, defined by a macro",
    "ToHalf2": "called by the atomics alone",
    "ToBfloat162": "called by the atomics alone",
    "ToFloat2": "called by the atomics alone",
    "ToFloat4": "called by the atomics alone",
}
