"""PTX instructions of the tensor cores that reach shared memory: ldmatrix to tcgen05."""

from __future__ import annotations

import re
from typing import Any

from smemreuse.semantics.effects import (
    Answer,
    Effect,
    Engine,
    Fixed,
    Mbarrier,
    Proxy,
    Rows,
    Signal,
    Together,
    Wait,
)
from smemreuse.semantics.rows.forms import accessing, reads, updates, writes
from smemreuse.semantics.rows.ptx_barriers import MBARRIER
from smemreuse.semantics.rows.ptx_forms import Instruction, instruction

_ROW = Fixed(16)
_REGISTERS_ALONE = "orders registers, or accesses to tensor memory"


def _rows(found: Instruction) -> dict[str, Any]:
    """How lanes name rows: eight for each matrix of eight."""
    number = next((one for one in (1, 2, 4) if found.has(f"x{one}")), None)
    return {"matrices": number, "certain": number is not None and found.has("m8n8")}


def _ldmatrix(found: Instruction) -> Effect | None:
    """`ldmatrix {r...}, [row]`"""
    written = found.count - 1
    if written < 1:
        return None
    return accessing(
        reads(written, _ROW, **_rows(found)),
        writes_locals=tuple(range(written)),
        together=Together.WARP,
    )


def _stmatrix(found: Instruction) -> Effect | None:
    """`stmatrix [row], {r...}`"""
    return accessing(writes(0, _ROW, **_rows(found)), together=Together.WARP)


def _wgmma(found: Instruction) -> Effect | None:
    if found.has("fence"):
        return Effect(words=_REGISTERS_ALONE, together=Together.WARPGROUP)
    if found.has("commit_group"):
        return Effect(commits=Engine.WGMMA, together=Together.WARPGROUP)
    if found.has("wait_group"):
        waits = Wait(Engine.WGMMA, keep=0)
        return Effect(waits=waits, together=Together.WARPGROUP) if found.count == 1 else None
    return _mma_async(found)


def _mma_async(found: Instruction) -> Effect | None:
    """`wgmma.mma_async {d...}, a, b, ...`: n / 2 registers of 32 bits, or n / 4 of two halves."""
    shapes = [match for word in found.words if (match := re.fullmatch(r"m64n(\d+)k\d+", word))]
    if not found.has("mma_async") or not shapes:
        return None
    wide = found.has("f32", "s32")
    written = int(shapes[0][1]) // (2 if wide else 4)
    if found.count < written + 3:
        return None
    return accessing(
        engine=Engine.WGMMA,
        proxy=Proxy.ASYNC,
        reads_described=True,
        writes_locals=tuple(range(written)),
        together=Together.WARPGROUP,
    )


def _tcgen05(found: Instruction) -> Effect | None:
    """By its first word: `alloc`, `commit`, `cp`, `mma`, `ld`, `st` and what orders them."""
    action = found.words[0] if found.words else ""
    remote = found.has("cta_group::2") or found.begins("multicast")
    if action == "alloc":
        # The address in tensor memory is written to a word of shared memory.
        return accessing(writes(0, Fixed(4), certain=False), together=Together.WARP)
    if action == "commit":
        return accessing(
            updates(0, MBARRIER, certain=False),
            mbarrier=Mbarrier(Signal.ARRIVE_WITH_MATRICES, 0),
            remote=remote,
        )
    if action in ("cp", "mma"):
        return accessing(
            engine=Engine.TCGEN05, proxy=Proxy.ASYNC, reads_described=True, remote=remote
        )
    if action == "ld":
        # `{r...}, [address][, half]`
        written = found.count - (2 if found.has("16x32bx2") else 1)
        return Effect(
            writes_locals=tuple(range(written)), answer=Answer.VARIES, together=Together.WARP
        )
    if action == "st":
        return Effect(words="registers are stored to tensor memory", together=Together.WARP)
    if action in ("dealloc", "relinquish_alloc_permit"):
        return Effect(words="gives tensor memory back", together=Together.WARP)
    if action.startswith(("wait::", "fence::")):
        return Effect(words=_REGISTERS_ALONE)
    return None


ROWS: Rows = {
    "ptx.ldmatrix": instruction(_ldmatrix),
    "ptx.stmatrix": instruction(_stmatrix),
    "ptx.wgmma": instruction(_wgmma),
    "ptx.tcgen05": instruction(_tcgen05),
}
