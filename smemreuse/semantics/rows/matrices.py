"""Tensor cores: ldmatrix, stmatrix, mma, wmma fragments and wgmma."""

from __future__ import annotations

from smemreuse.ir.expr import Call, Const, Pointer, constant
from smemreuse.semantics.effects import (
    Answer,
    Descriptor,
    Effect,
    Engine,
    Extent,
    Fixed,
    MatricesAt,
    Product,
    Proxy,
    Rows,
    Size,
    Strided,
    Together,
    Wait,
)
from smemreuse.semantics.elements import addressed_element, is_typed, pointee_bits
from smemreuse.semantics.rows.forms import accessing, merged, nothing, reads, writes

# A lane names a row of 16 bytes, of a matrix of 8 rows.
_NUMBER = MatricesAt(1)


def _ldmatrix(call: Call) -> Effect | None:
    """The row of `ptx_ldmatrix(transposed, matrices, source, target)`, or of TIR's form of 8
    operands.

    The latter has the result's type first and offsets beside the pointers. It transposes int8
    element by element, so its bytes are not certain.
    """
    if len(call.args) == 4:
        return accessing(
            reads(2, Fixed(16), matrices=_NUMBER), written=(3,), together=Together.WARP
        )
    if len(call.args) == 8:
        return accessing(reads(6, certain=False), written=(4,), together=Together.WARP)
    return None


def _mma(
    a: int, b: int, c: int, *more: int, arity: frozenset[int], product: Product | None = None
) -> Effect:
    """A multiplication in registers, `more` of which are read as well."""
    return accessing(
        read=(a, b, *more),
        written=(c,),
        arity=arity,
        matrices=(a, b),
        product=product,
        together=Together.WARP,
    )


def _wgmma(c: int, *read: int, matrices: tuple[int, int], arity: int, product: Product) -> Effect:
    """The row of a wgmma: it writes the accumulator at position `c` and reads through descriptors.

    `read` are positions of register operands, `matrices` those of both matrices. One more operand
    than `arity` is a known form.
    """
    return accessing(
        read=read,
        written=(c,),
        arity=frozenset({arity, arity + 1}),
        engine=Engine.WGMMA,
        proxy=Proxy.ASYNC,
        reads_described=True,
        matrices=matrices,
        product=product,
        together=Together.WARPGROUP,
    )


_MMA: Rows = {
    "ptx_ldmatrix": _ldmatrix,
    # `ptx_stmatrix(transposed, matrices, target, values...[, shape])`
    "ptx_stmatrix": accessing(
        writes(2, Fixed(16), matrices=_NUMBER),
        arity=frozenset(range(4, 13)),
        together=Together.WARP,
    ),
    "ptx_mma": _mma(7, 9, 11, arity=frozenset({14, 15}), product=Product(1, 4)),
    "ptx_mma_sp": _mma(7, 9, 11, 13, arity=frozenset({17}), product=Product(1, 4, kept=2)),
    "ptx_mma_sm70": _mma(6, 8, 10, arity=frozenset({12, 13}), product=Product(0, 3)),
    "ptx_mma_block_scale": _mma(9, 11, 13, arity=frozenset({21}), product=Product(1, 4)),
}

_DIMENSIONS = {"wmma.matrix_a": (0, 2), "wmma.matrix_b": (2, 1), "wmma.accumulator": (0, 1)}
"""Rows and columns of a fragment by its scope: which of m, n and k they are."""


def _tile(call: Call) -> tuple[Size, bool]:
    """The bytes that a warp accesses by a wmma load or store, and whether it surely accesses them
    all.

    The operands are `(fragment, m, n, k, index, pointer, stride, layout)`. Which lane accesses what
    is unspecified. The stride counts elements of the pointer's type. For an unknown layout or
    fragment the bytes reach from the first to the last possible one.
    """
    fragment, *rest = call.args
    sides, pointer, stride = [*map(constant, rest[:3])], rest[4], constant(rest[5])
    bits = pointee_bits(pointer) if is_typed(pointer) or addressed_element(pointer) else 0
    if stride is None or stride < 0 or None in sides or not bits or bits % 8:
        return Extent.WHOLE, False
    scope = fragment.buffer.scope if isinstance(fragment, Pointer) else ""
    tile = [sides[at] or 0 for at in _DIMENSIONS.get(scope, ())]
    if rest[6] == Const("col_major"):
        tile.reverse()
    elif rest[6] != Const("row_major"):
        tile = []
    if tile:
        return Strided(tile[1] * bits // 8, stride * bits // 8, tile[0]), True
    most = max(side or 0 for side in sides)
    return Fixed(((most - 1) * stride + most) * bits // 8), False


def _load_matrix(call: Call) -> Effect | None:
    if len(call.args) != 8:
        return None
    size, certain = _tile(call)
    tile = reads(5, size, certain=certain, by_warp=True)
    return accessing(tile, written=(0,), together=Together.WARP)


def _store_matrix(call: Call) -> Effect | None:
    if len(call.args) != 8:
        return None
    size, certain = _tile(call)
    return accessing(
        writes(5, size, certain=certain, by_warp=True), read=(0,), together=Together.WARP
    )


_WMMA: Rows = {
    "tvm_load_matrix_sync": _load_matrix,
    "tvm_store_matrix_sync": _store_matrix,
    "tvm_fill_fragment": accessing(written=(0,), arity=frozenset({6})),
    "tvm_mma_sync": _mma(2, 4, 0, 6, arity=frozenset({8})),
    "tvm_bmma_sync": _mma(2, 4, 0, 6, arity=frozenset({8})),
    # `(type, m, n, target, source, offset, stride)`
    "mma_store": accessing(writes(3, certain=False), read=(4,), arity=frozenset({7})),
    # `(type, elements, target, offset)`
    "mma_fill": accessing(written=(2,), arity=frozenset({4})),
}

_WGMMA: Rows = merged(
    {
        # `(descriptor, buffer, layout, offsets...)`: the last mention of the buffer. The descriptor
        # is moved on to a stage afterwards, so the wgmma may read any of it.
        "initialize_wgmma_descriptor": accessing(
            reads(1, swizzled=True),
            engine=Engine.WGMMA,
            proxy=Proxy.ASYNC,
            describes=Descriptor(local=0, buffer=1),
            writes_locals=(0,),
        ),
        "increase_descriptor_offset": Effect(writes_locals=(0,), answer=Answer.VARIES),
        "ptx_wgmma_ss": _wgmma(10, matrices=(6, 8), arity=15, product=Product(0, 3)),
        "ptx_wgmma_rs": _wgmma(9, 5, matrices=(5, 7), arity=14, product=Product(0, 2)),
        "ptx_wgmma_sp_ss": _wgmma(13, 8, matrices=(6, 11), arity=18, product=Product(0, 3, kept=2)),
        "ptx_wgmma_sp_rs": _wgmma(
            12, 5, 7, matrices=(5, 10), arity=17, product=Product(0, 2, kept=2)
        ),
        "warpgroup_commit_batch": Effect(commits=Engine.WGMMA, together=Together.WARPGROUP),
        "warpgroup_wait": Effect(waits=Wait(Engine.WGMMA, keep=0), together=Together.WARPGROUP),
        "wait_wgmma": Effect(waits=Wait(Engine.WGMMA, keep=0), together=Together.WARPGROUP),
    },
    {
        "warpgroup_arrive": Effect(
            words="`wgmma.fence` orders registers", together=Together.WARPGROUP
        )
    },
    nothing("warpgroup_fence_operand", "keeps the compiler from moving registers, and is no code"),
)

ROWS: Rows = merged(_MMA, _WMMA, _WGMMA)
