"""CUDA's own device functions, as the programming guide and the header files have them."""

from __future__ import annotations

from smemreuse.semantics.effects import (
    Answer,
    BytesIn,
    Effect,
    Engine,
    Fixed,
    Group,
    Meeting,
    Wait,
)
from smemreuse.semantics.rows.forms import (
    IN_REGISTERS,
    ONE_ELEMENT,
    ONE_LOADED,
    SHUFFLED,
    accessing,
    address_values,
    each,
    merged,
    nothing,
    ordering_elsewhere,
    reads,
    updates,
    values,
    varying,
    writes,
)
from smemreuse.semantics.rows.function_names import FunctionName, FunctionRows

_BARRIERS: FunctionRows = merged(
    each(
        "__syncthreads __syncthreads_and __syncthreads_or __syncthreads_count",
        Effect(meeting=Meeting(Group.BLOCK)),
    ),
    {"__syncwarp": Effect(meeting=Meeting(Group.WARP, mask=0))},
)

_WARP: FunctionRows = merged(
    varying("__activemask", IN_REGISTERS),
    each(
        """
        __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __any_sync __all_sync
        __ballot_sync __match_any_sync __reduce_add_sync __reduce_min_sync
        __reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync
        """,
        SHUFFLED,
    ),
    {
        # The third parameter is where the predicate goes.
        "__match_all_sync": accessing(
            writes(2, Fixed(4)),
            writes_locals=(2,),
            answer=Answer.VARIES,
            converges=True,
            lanes=0,
        )
    },
)

# What it finds does not matter to an exchange whose result nobody uses.
_EXCHANGE = accessing(updates(0, ONE_ELEMENT, certain=False), answer=Answer.VARIES, atomic=True)
_ATOMIC = accessing(updates(0, ONE_ELEMENT), answer=Answer.VARIES, atomic=True)
_SCOPES = ("", "_block", "_system")

_MEMORY: FunctionRows = merged(
    each(
        (
            f"atomic{op}{scope}"
            for op in ["Add", "Sub", "Min", "Max", "Inc", "Dec", "CAS", "And", "Or", "Xor"]
            for scope in _SCOPES
        ),
        _ATOMIC,
    ),
    each((f"atomicExch{scope}" for scope in _SCOPES), _EXCHANGE),
    each(
        "__ldg __ldca __ldcg __ldcs __ldlu __ldcv",
        accessing(reads(0, ONE_LOADED), answer=Answer.VARIES),
    ),
    each("__stwb __stcg __stcs __stwt", accessing(writes(0, ONE_LOADED))),
    {
        "memcpy": accessing(reads(1, BytesIn(2)), writes(0, BytesIn(2)), address=True),
        "memset": accessing(writes(0, BytesIn(2)), address=True),
    },
)


def _pipeline_copy(name: FunctionName, parameters: int) -> Effect | None:
    """`__pipeline_memcpy_async(target, source, bytes[, bytes of zeros])`"""
    if parameters not in (3, 4):
        return None
    return accessing(reads(1, BytesIn(2)), writes(0, BytesIn(2)), engine=Engine.CP_ASYNC)


_PIPELINE: FunctionRows = {
    "__pipeline_memcpy_async": _pipeline_copy,
    "__pipeline_commit": Effect(commits=Engine.CP_ASYNC),
    "__pipeline_wait_prior": Effect(waits=Wait(Engine.CP_ASYNC, keep=0)),
}

_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv
    erfcx erfinv exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod hypot ilogb j0 j1
    ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround nearbyint
    nextafter norm3d norm4d normcdf pow rcbrt remainder rhypot rint round rsqrt scalbln scalbn
    sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1
"""
_FAST = """
    __cosf __exp10f __expf __exp2f __fadd_rn __fadd_rz __fdividef __fdiv_rn __fmaf_rn __fmul_rn
    __fmul_rz __frcp_rn __frsqrt_rn __fsqrt_rn __fsub_rn __log10f __log2f __logf __powf
    __saturatef __sinf __tanf __tanhf
"""
_INTEGERS = """
    abs labs llabs umin umax ullmin ullmax llmin llmax isnan isinf isfinite signbit
    __brev __brevll __byte_perm __clz __clzll __dp2a_hi __dp2a_lo __dp4a __ffs __ffsll __fns
    __funnelshift_l __funnelshift_r __hadd __mul24 __mul64hi __mulhi __popc __popcll __rhadd
    __sad __umul24 __umul64hi __umulhi __usad __vabs2 __vabs4 __vadd2 __vadd4 __vsub2 __vsub4
"""
_HALVES = """
    __hadd2 __hsub __hsub2 __hmul __hmul2 __hfma2 __hdiv2 __h2div __hneg __hneg2 __habs2 __hmax
    __hmin __hmax2 __hmin2 __hmax_nan __hmin_nan __hmax2_nan __hmin2_nan __heq __hne __hlt __hle
    __hgt __hge __hisnan __hisinf h2exp h2exp2 h2log h2log2 h2sqrt h2rsqrt h2rcp h2sin h2cos
    __low2half __high2half __low2float __high2float __halves2half2 __half2half2 __lows2half2
    __highs2half2 __lowhigh2highlow __halves2bfloat162 __bfloat162bfloat162
"""
_CONVERSIONS = """
    __half2float __half22float2 __float2half __float2half_rn __float2half2_rn __floats2half2_rn
    __float22half2_rn __bfloat162float __bfloat1622float2 __float2bfloat16 __float2bfloat16_rn
    __float2bfloat162_rn __floats2bfloat162_rn __float22bfloat162_rn __float2int_rn
    __float2int_rz __float2int_rd __float2int_ru __float2uint_rn __float2uint_rz __int2float_rn
    __uint2float_rn __half2int_rn __half2short_rn __int2half_rn __short2half_rn
    __double2float_rn __double2int_rn __double2int_rz __float_as_int __int_as_float
    __float_as_uint __uint_as_float __double_as_longlong __longlong_as_double __half_as_short
    __half_as_ushort __short_as_half __ushort_as_half __bfloat16_as_ushort __ushort_as_bfloat16
"""
_VECTORS = [
    *(
        f"make_{kind}{lanes}"
        for kind in ("char", "uchar", "short", "ushort", "long", "ulong", "float", "double", "half")
        for lanes in (1, 2, 3, 4)
    ),
    *(f"make_{kind}{lanes}" for kind in ("longlong", "ulonglong") for lanes in (1, 2, 3)),
    *("make_int1", "make_int3", "make_uint1", "make_uint3", "make_bfloat162", "make_dim3"),
]

_VALUES: FunctionRows = merged(
    values(
        sorted(
            {
                *(name + suffix for name in _MATH.split() for suffix in ("", "f")),
                *_FAST.split(),
                *_HALVES.split(),
                *_CONVERSIONS.split(),
                *_VECTORS,
            }
        )
    ),
    # Addresses in shared memory are integers of 32 bits.
    address_values(["min", "max", *_INTEGERS.split()]),
    varying("clock clock64"),
    address_values(
        "__cvta_generic_to_shared __cvta_shared_to_generic __cvta_generic_to_global"
        " __cvta_global_to_generic __cvta_generic_to_local __cvta_local_to_generic"
    ),
    values("__isShared __isGlobal __isLocal __isConstant"),
)

_WORDS = merged(
    nothing("printf", "prints values"),
    nothing("assert __assert_fail __trap __brkpt", "ends the kernel, or does nothing"),
    nothing("__nanosleep __prof_trigger", "takes time, and orders nothing"),
    ordering_elsewhere(
        "__threadfence __threadfence_block __threadfence_system",
        "orders what one thread does, and waits for nobody",
    ),
    ordering_elsewhere(
        "cudaTriggerProgrammaticLaunchCompletion cudaGridDependencySynchronize",
        "order between kernels",
    ),
)

ROWS: FunctionRows = merged(_BARRIERS, _WARP, _MEMORY, _PIPELINE, _VALUES, _WORDS)
