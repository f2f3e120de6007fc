"""PTX instructions on registers: what they write are the locals in front of their operands.

An address among the operands may go into such a local.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.semantics.effects import Answer, Effect, Engine, Rows, Together
from smemreuse.semantics.rows.forms import (
    A_VALUE,
    EXCHANGED,
    IN_REGISTERS,
    accessing,
    each,
    merged,
    nothing,
    ordering_elsewhere,
    prefixed,
    updates,
)
from smemreuse.semantics.rows.ptx_forms import Finder, Instruction, instruction

_COMPUTED = Effect(words=A_VALUE)
_IN_REGISTERS = Effect(answer=Answer.VARIES, words=IN_REGISTERS)


def _writing(written: int, row: Effect = _COMPUTED) -> Effect:
    """The first so many operands are written."""
    return replace(row, writes_locals=tuple(range(written)), address=True)


def _all_but(read: int, row: Effect = _COMPUTED) -> Finder:
    """All operands are written but the last `read`."""

    def find(found: Instruction) -> Effect | None:
        return _writing(found.count - read, row) if found.count > read else None

    return find


_ONE = each(
    prefixed(
        "ptx.",
        """
        abs add and_ bfe bfi bfind bmsk brev clmad clz cnot copysign cos createpolicy cvt cvt_pack
        cvta div dp2a dp4a ex2 fma fns getctarank isspacep lg2 mad mad24 max min mul mul24 neg not_
        or_ popc prmt rcp rem rsqrt sad selp set shf shl shr sin slct sqrt sub szext tanh testp xor
        """,
    ),
    _writing(1),
)

_WARP = each(
    prefixed("ptx.", "movmatrix redux_sync vote_sync"),
    _writing(1, EXCHANGED),
)


def _setp(found: Instruction) -> Effect | None:
    """`setp p[|q], a, b[, c]`: the third source comes with `and`, `or` or `xor`."""
    read = 3 if found.has("and", "or", "xor") else 2
    return _writing(found.count - read) if found.count > read else None


def _lop3(found: Instruction) -> Effect | None:
    """`lop3 d, a, b, c, table`, and with a predicate `lop3 d|p, a, b, c, table, q`."""
    read = 5 if found.has("or", "and") else 4
    return _writing(found.count - read) if found.count > read else None


def _mma(found: Instruction) -> Effect | None:
    """Four groups of registers, whose lengths hang on shape and types: any may be the first."""
    return _writing(found.count, replace(_IN_REGISTERS, together=Together.WARP))


_BY_FORM: Rows = {
    "ptx.activemask": _writing(1, _IN_REGISTERS),
    "ptx.setp": instruction(_setp),
    "ptx.lop3": instruction(_lop3),
    "ptx.mma": instruction(_mma),
    # Packing has one destination, unpacking one source.
    "ptx.mov": instruction(_all_but(1)),
    "ptx.spcompress": instruction(_all_but(1)),
    "ptx.spdecompress": instruction(_all_but(1)),
    "ptx.shfl_sync": instruction(_all_but(4, EXCHANGED)),
    "ptx.match": instruction(_all_but(2, EXCHANGED)),
    "ptx.elect_sync": instruction(_all_but(1, EXCHANGED)),
    # The same place in another block of the cluster: who may be there from now on is not known.
    "ptx.mapa": accessing(
        updates(1, certain=False),
        engine=Engine.REMOTE,
        writes_locals=(0,),
        address=True,
        remote=True,
    ),
}

_WORDS = merged(
    nothing("ptx.setmaxnreg", "how many registers a warp may have"),
    ordering_elsewhere("ptx.griddepcontrol", "order between kernels"),
    nothing("ptx.prefetch ptx.prefetchu", "brings data nearer, and changes none"),
    nothing("ptx.applypriority ptx.discard", "advice on lines of the L2 cache"),
)

ROWS: Rows = merged(_ONE, _WARP, _BY_FORM, _WORDS)
