"""PTX loads, stores, reductions and atomics."""

from __future__ import annotations

from smemreuse.semantics.effects import (
    BytesIn,
    Effect,
    Engine,
    Extent,
    Fixed,
    Operand,
    Rows,
    Size,
)
from smemreuse.semantics.rows.forms import accessing, reads, updates, writes
from smemreuse.semantics.rows.ptx_forms import Instruction, instruction

_TENSOR_MAP = Fixed(128)


def _size(found: Instruction) -> Size:
    size = found.bytes
    return Extent.WHOLE if size is None or found.sunk else Fixed(size)


def _certain(found: Instruction) -> bool:
    return found.bytes is not None and not found.sunk


def _access(
    found: Instruction, operand: Operand, written: int = 0, *, atomic: bool = False
) -> Effect | None:
    """The access through `operand` of an instruction whose first `written` operands are
    destinations.
    """
    if found.count <= written:
        return None
    remote = found.has("shared::cluster")
    return accessing(
        operand,
        engine=Engine.REMOTE if remote else Engine.THREAD,
        writes_locals=tuple(range(written)),
        remote=remote,
        atomic=atomic,
    )


def _load(found: Instruction) -> Effect | None:
    """`ld {d...}, [address][, policy]`"""
    written = found.lanes - found.sunk
    certain = _certain(found)
    return _access(found, reads(written, _size(found), certain=certain), written)


def _store(found: Instruction) -> Effect | None:
    """`st [address], {values...}[, policy]`"""
    return _access(found, writes(0, _size(found), certain=_certain(found)))


def _atomic(found: Instruction) -> Effect | None:
    """`atom {d...}, [address], {values...}[, policy]`, or without a destination."""
    values = 2 if found.has("cas") else found.lanes
    policy = found.has("L2::cache_hint")
    written = found.count - values - 1 - policy
    if written not in (0, found.lanes - found.sunk):
        return None
    operand = updates(written, _size(found), certain=_certain(found))
    return _access(found, operand, written, atomic=True)


def _reduction(found: Instruction) -> Effect | None:
    """`red [address], {values...}[, policy]`"""
    return _access(found, updates(0, _size(found), certain=_certain(found)), atomic=True)


def _asynchronous(found: Instruction) -> Effect | None:
    """`st.async [address], {values...}, [mbarrier]`, in another block; or in global memory."""
    if found.count < 2:
        return None
    remote = found.begins("mbarrier::")
    return accessing(
        updates(0, certain=False),
        handed_on=True,
        engine=Engine.REMOTE if remote else Engine.UNKNOWN_ASYNC,
        remote=remote,
    )


def _multimem_load(found: Instruction) -> Effect | None:
    """`multimem.ld_reduce {d...}, [address]`, of all GPUs' global memory."""
    written = found.count - 1
    return _access(found, reads(written, certain=False), written)


def _copied_tensor_map(found: Instruction) -> Effect | None:
    """`tensormap.cp_fenceproxy [target], [source], 128`"""
    if found.count < 2:
        return None
    return accessing(reads(1, _TENSOR_MAP, certain=False), writes(0, _TENSOR_MAP, certain=False))


ROWS: Rows = {
    "ptx.ld": instruction(_load),
    "ptx.ldu": instruction(_load),
    "ptx.st": instruction(_store),
    "ptx.atom": instruction(_atomic),
    "ptx.red": instruction(_reduction),
    "ptx.st_async": instruction(_asynchronous),
    "ptx.red_async": instruction(_asynchronous),
    # `st.bulk [address], bytes, 0`
    "ptx.st_bulk": instruction(lambda found: accessing(writes(0, BytesIn(1)))),
    "ptx.multimem_ld_reduce": instruction(_multimem_load),
    "ptx.multimem_st": instruction(_store),
    "ptx.multimem_red": instruction(_reduction),
    "ptx.multimem_st_async": instruction(_asynchronous),
    "ptx.multimem_red_async": instruction(_asynchronous),
    "ptx.tensormap_replace": instruction(
        lambda found: accessing(updates(0, _TENSOR_MAP, certain=False))
    ),
    "ptx.tensormap_cp_fenceproxy": instruction(_copied_tensor_map),
}
