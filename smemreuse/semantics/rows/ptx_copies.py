"""PTX copies: cp.async, bulk copies, TMA, copies between GPUs, and what waits for them."""

from __future__ import annotations

import re
from dataclasses import replace

from smemreuse.semantics.effects import (
    BytesIn,
    Effect,
    Engine,
    Fixed,
    Mbarrier,
    Operand,
    Proxy,
    Rows,
    Signal,
    Wait,
)
from smemreuse.semantics.rows.copies import WAIT_ALL
from smemreuse.semantics.rows.forms import SHARED, accessing, reads, updates, writes
from smemreuse.semantics.rows.ptx_barriers import MBARRIER
from smemreuse.semantics.rows.ptx_forms import Instruction, instruction

_BULK_GROUP = "bulk_group"


def _cp(found: Instruction) -> Effect | None:
    """All that begins with `cp`, by the words after it."""
    if not found.has("async"):
        return None
    if found.has("bulk"):
        return _bulk(found)
    if found.has("commit_group"):
        return Effect(commits=Engine.CP_ASYNC)
    if found.has("wait_group"):
        return Effect(waits=Wait(Engine.CP_ASYNC, keep=0)) if found.count == 1 else None
    if found.has("wait_all"):
        return WAIT_ALL
    if found.has("mbarrier"):
        return _report(found)
    return _cp_async(found)


def _report(found: Instruction) -> Effect:
    """`cp.async.mbarrier.arrive[.noinc] [address]`"""
    signal = Signal.ARRIVE_WITH_COPIES if found.has("noinc") else Signal.HOLD_FOR_COPIES
    return accessing(updates(0, MBARRIER, certain=False), mbarrier=Mbarrier(signal, 0))


def _cp_async(found: Instruction) -> Effect | None:
    """`cp.async [target], [source], bytes[, bytes of source or predicate][, policy]`

    With fewer bytes of the source the rest is zeros: not taken for a full overwrite here, as in
    TileLang.
    """
    plain = 3 + found.has("L2::cache_hint")
    if not found.has("ca", "cg") or found.count not in (plain, plain + 1):
        return None
    certain = found.count == plain
    return accessing(
        reads(1, BytesIn(2), certain=certain),
        writes(0, BytesIn(2), certain=certain),
        engine=Engine.CP_ASYNC,
    )


# Bulk copies ------------------------------------------------------------------------------------


def _bulk(found: Instruction) -> Effect | None:
    """The effect of a `cp.async.bulk` instruction, by what its words say it does."""
    if found.has("commit_group"):
        return Effect(commits=Engine.TMA_STORE)
    if found.has("wait_group"):
        return Effect(waits=Wait(Engine.TMA_STORE, keep=0)) if found.count == 1 else None
    if found.has("prefetch"):
        return Effect(words="brings data nearer, and changes none")
    if found.has("tensor"):
        return _tensor_store(found) if found.has(_BULK_GROUP) else _tensor_load(found)
    if found.has(_BULK_GROUP):
        return _store(found)
    return _load(found)


def _is_remote(found: Instruction) -> bool:
    """Whether an instruction reaches another block: its memory, or the other mbarrier of a CTA
    pair.

    Addresses in another block's memory come from `mapa`, which has a row of its own.
    """
    return found.begins("multicast") or found.has("cta_group::2")


def _loading(found: Instruction, target: Operand, mbarrier: int | None) -> Effect:
    """A load that reports to an mbarrier; which operand that is may not be known."""
    signalled = () if mbarrier is None else (updates(mbarrier, MBARRIER, certain=False),)
    return accessing(
        target,
        *signalled,
        handed_on=mbarrier is None,
        engine=Engine.TMA_LOAD if mbarrier is not None else Engine.UNKNOWN_ASYNC,
        proxy=Proxy.ASYNC,
        mbarrier=None if mbarrier is None else Mbarrier(Signal.COMPLETE_WITH_BYTES, mbarrier),
        remote=_is_remote(found),
    )


def _load(found: Instruction) -> Effect | None:
    """`cp.async.bulk [target], [source], bytes[, ignored x2], [mbarrier][, mask][, policy]`

    From global memory; or from this block's to another's, added up with `reduce`.
    """
    if found.count < 4:
        return None
    mbarrier = 5 if found.has("ignore_oob") else 3
    if found.has("shared::cta") and found.has("shared::cluster"):
        target = updates(0, certain=False, size=BytesIn(2))
        effect = _loading(found, target, mbarrier)
        return replace(
            effect,
            operands=(*effect.operands, reads(1, BytesIn(2), swizzled=True)),
            engine=Engine.REMOTE,
            remote=True,
        )
    certain = not found.has("ignore_oob")
    return _loading(found, writes(0, BytesIn(2), certain=certain, swizzled=True), mbarrier)


def _store(found: Instruction) -> Effect | None:
    """`cp.async.bulk [target], [source], bytes[, policy][, mask]`, to global memory."""
    if found.count < 3:
        return None
    return accessing(
        writes(0, BytesIn(2), certain=False),
        reads(1, BytesIn(2), swizzled=True),
        engine=Engine.TMA_STORE,
        proxy=Proxy.ASYNC,
    )


def _coordinates(found: Instruction) -> int | None:
    """How many coordinates a tile has; None where operands of other kinds stand before them."""
    if found.begins("override::"):
        return None
    if found.begins("tile::"):
        return 5  # gather4 and scatter4 name four rows and a column
    return next((int(word[0]) for word in found.words if re.fullmatch(r"[1-5]d", word)), None)


def _tensor_load(found: Instruction) -> Effect | None:
    """`cp.async.bulk.tensor [target], [map, coordinates], [mbarrier]...`: all of a box."""
    if not found.begins("mbarrier::complete_tx"):
        return None
    coordinates = _coordinates(found)
    target = writes(0, certain=False, swizzled=True)
    return _loading(found, target, None if coordinates is None else 2 + coordinates)


def _tensor_store(found: Instruction) -> Effect | None:
    """`cp.async.bulk.tensor [map, coordinates], [source]...`"""
    coordinates = _coordinates(found)
    source = SHARED if coordinates is None else 1 + coordinates
    return accessing(
        reads(source, certain=False, swizzled=True),
        handed_on=coordinates is None,
        engine=Engine.TMA_STORE,
        proxy=Proxy.ASYNC,
    )


# Others -----------------------------------------------------------------------------------------


def _launch_control(found: Instruction) -> Effect | None:
    """`try_cancel [answer], [mbarrier]` writes 16 bytes; `query_cancel d..., answer` reads none."""
    if found.has("query_cancel"):
        return Effect(writes_locals=tuple(range(found.count - 1)), words="computes a value")
    if not found.has("try_cancel") or found.count != 2:
        return None
    return _loading(found, writes(0, Fixed(16)), 1)


def _fabric(found: Instruction) -> Effect | None:
    """Copies between GPUs to and from shared memory, for which no wait is counted on."""
    if found.has("submit", "wait"):
        return Effect(words="order between GPUs, which is not counted on within a block")
    return Effect(handed_on=True, follows=True, engine=Engine.UNKNOWN_ASYNC, proxy=Proxy.ASYNC)


ROWS: Rows = {
    "ptx.cp": instruction(_cp),
    "ptx.multimem_cp": instruction(_cp),
    "ptx.clusterlaunchcontrol": instruction(_launch_control),
    "ptx.fabric": instruction(_fabric),
}
