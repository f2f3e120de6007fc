"""Operators and mathematical functions: values of their operands and of nothing else.

Names are those of TIR's nodes as both readers give them (`add`, `floormod`, `ramp`), and those of
the intrinsics that TileLang and Apache TVM lower to CUDA's mathematical functions.
"""

from __future__ import annotations

from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Effect, Rows
from smemreuse.semantics.foreign import may_hold_address
from smemreuse.semantics.rows.forms import A_VALUE, address_values, each, merged, text_at, values

# One conversion makes two narrow elements.
_NARROW = Effect(words=A_VALUE, instructions=0.5)
_WIDE = Effect(address=True, words=A_VALUE, instructions=0.5)


def _cast(call: Call) -> Effect:
    """`cast(type, value)`: an address lasts as a handle or in an integer of 32 or 64 bits."""
    return _WIDE if may_hold_address(text_at(call, 0) or "") else _NARROW


_OPERATORS: Rows = merged(
    address_values("add sub mul mod floordiv floormod ceildiv truncmod min max"),
    # A division of floats is a reciprocal and a multiplication, in fast mathematics.
    each("div truncdiv", Effect(address=True, words=A_VALUE, special=1)),
    address_values("bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right"),
    address_values("select if_then_else"),
    each(
        "let tuple shuffle broadcast ramp likely assume_value tvm_thread_invariant",
        Effect(address=True, words=A_VALUE, instructions=0),
    ),
    values("eq ne lt le gt ge and or not"),
    {"cast": _cast},
    # `T.int64(x)`, where x is no literal.
    values("bool int8 int16 uint8 uint16 float16 float32 float64 bfloat16"),
    address_values("int32 int64 uint32 uint64"),
)

_FUNCTIONS = values(
    """
    abs fabs ceil floor round trunc nearbyint round_ties_away_from_zero pow_of_int
    fma fmul ldexp copysign nextafter clamp
    isnan isinf isfinite isnullptr clz ctpop popcount dp4a
    q_multiply_shift q_multiply_shift_per_axis
    infinity max_value min_value
    """
)

# One operation of the special function units each, of the many instructions that some take.
_SPECIAL = each(
    """
    exp exp2 exp10 log log2 log10 log1p pow power sqrt rsqrt sigmoid fmod hypot erf
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh
    __exp __exp10 __log __log2 __log10 __sin __cos __tan fast_rcp
    ieee_frcp ieee_fsqrt ieee_frsqrt ieee_fdiv
    """,
    Effect(words=A_VALUE, special=1),
)

_CUDA = values(
    """
    __ffs __fns ieee_add ieee_sub ieee_mul ieee_fmaf
    max_nan min_nan add2 sub2 mul2 fma2 max2 min2 max2_nan min2_nan abs2
    pack_b16 pack_b8x4
    """
)

_VECTORS = values("vectorhigh vectorlow vectorcombine vscale get_active_lane_mask")

# What the readers make of Python literals, of the fields of buffers and of objects that are
# only named: nothing is computed when the kernel runs.
_NAMED = address_values(
    """
    dict lambda subscript shape strides axis_separators comm_reducer target type_annotation
    unknown_size unknown_offset large_uint_imm undef
    """
)

ROWS: Rows = merged(_OPERATORS, _FUNCTIONS, _SPECIAL, _CUDA, _VECTORS, _NAMED)
