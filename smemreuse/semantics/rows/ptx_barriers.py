"""PTX barriers, fences and mbarriers.

Apache TVM has its mbarriers in plain shared memory: what is done to one is an access to its 8
bytes too.
"""

from __future__ import annotations

from smemreuse.semantics.effects import (
    Answer,
    Effect,
    Fixed,
    Group,
    Mbarrier,
    Meeting,
    Rows,
    Signal,
)
from smemreuse.semantics.rows.forms import accessing, updates, writes
from smemreuse.semantics.rows.ptx_forms import Instruction, instruction

MBARRIER = Fixed(8)

_ONE_THREAD = "orders what one thread does, and waits for nobody"


def _bar(found: Instruction) -> Effect | None:
    """`bar.sync a[, b]`, `bar.arrive a, b`, `bar.red d, a[, b], c`, `bar.warp.sync mask`.

    `barrier` is the same. `a` is the barrier's number, `b` how many threads it takes.
    """
    if found.has("cluster"):
        return _cluster(found)
    if found.has("warp"):
        return Effect(meeting=Meeting(Group.WARP, mask=0)) if found.count == 1 else None
    reduces = found.has("red")
    first = 1 if reduces else 0
    counted = found.count - first - (1 if reduces else 0) == 2
    if found.count < first + 1 or not (reduces or found.has("sync", "arrive")):
        return None
    return Effect(
        meeting=Meeting(
            Group.NAMED,
            count=first + 1 if counted else None,
            identity=first,
            waits=not found.has("arrive"),
        ),
        writes_locals=(0,) if reduces else (),
        answer=Answer.VARIES if reduces else Answer.SAME,
    )


def _cluster(found: Instruction) -> Effect | None:
    """`barrier.cluster`: an arrival with `.relaxed` does not order earlier accesses."""
    if found.has("wait"):
        return Effect(meeting=Meeting(Group.CLUSTER, arrives=False))
    if not found.has("arrive"):
        return None
    return Effect(meeting=Meeting(Group.CLUSTER, arrives=not found.has("relaxed"), waits=False))


def _fence(found: Instruction) -> Effect | None:
    """Between the proxies in shared memory, or one that no other thread waits at."""
    if found.has("proxy") and found.has("async"):
        is_shared = found.begins("shared::") or not found.has("global")
        return Effect(fence=True) if is_shared else Effect(words="a fence of global memory")
    if found.has("mbarrier_init"):
        return Effect(fences_mbarriers=True)
    return Effect(words=_ONE_THREAD)


def _mbarrier(found: Instruction) -> Effect | None:
    """What is done to an mbarrier, by its first word."""
    if found.has("init"):
        return accessing(
            writes(0, MBARRIER, certain=False), mbarrier=Mbarrier(Signal.INITIALIZE, 0, count=1)
        )
    if found.has("arrive_drop"):  # the phases after this one expect one arrival less
        return _touched(found, *range(min(found.count, 2)))
    if found.has("arrive"):
        return _arrival(found)
    if found.has("expect_tx"):
        return _signalled(found, Mbarrier(Signal.EXPECT, 0, count=1))
    if found.has("test_wait", "try_wait"):
        return _asked(found)
    if found.has("inval"):
        return _signalled(found, Mbarrier(Signal.INVALIDATE, 0))
    if found.has("complete_tx"):
        return _touched(found, 0)
    if found.has("check_layout"):
        return _touched(found, 1)
    if found.has("pending_count"):
        return Effect(writes_locals=(0,), words="computes a value")
    return None


def _is_remote(found: Instruction) -> bool:
    return found.begins("multicast") or found.has("shared::cluster")


def _arrival(found: Instruction) -> Effect | None:
    """`arrive [state, ]address[, count]`, or with bytes that are announced.

    A state is never asked of an mbarrier in another block, and with two operands it may be either
    of them that is left out. A relaxed arrival hands over nothing.
    """
    expects = found.has("expect_tx")
    if _is_remote(found) or found.count == 1:
        at = 0
    elif expects or found.has("noComplete"):
        at = found.count - 2
    elif found.count == 2:
        return _touched(found, 0, 1)
    else:
        at = 1
    if at not in (0, 1) or found.count < at + 1 + expects:
        return None
    signal = Signal.ARRIVE_AND_EXPECT if expects else Signal.ARRIVE
    count = at + 1 if found.count > at + 1 else None
    return _signalled(found, Mbarrier(signal, at, count, hands_over=not found.has("relaxed")))


def _signalled(found: Instruction, mbarrier: Mbarrier) -> Effect:
    """The effect of a signal to an mbarrier, which is also an access to its 8 bytes."""
    at = mbarrier.at if isinstance(mbarrier.at, int) else 0
    return accessing(
        updates(at, MBARRIER, certain=False),
        mbarrier=mbarrier,
        writes_locals=tuple(range(at)),
        remote=_is_remote(found),
    )


def _touched(found: Instruction, *places: int) -> Effect:
    """The effect of an instruction that changes an mbarrier at one of `places` but orders nothing.

    The operands before these are destinations.
    """
    return accessing(
        *(updates(at, MBARRIER, certain=False) for at in places),
        writes_locals=tuple(range(max(places))),
        answer=Answer.VARIES,
        remote=_is_remote(found),
    )


def _asked(found: Instruction) -> Effect | None:
    """`try_wait done[, reports...], address, phase[, hint]` tests whether a phase is complete.

    The result orders nothing here: code that branches on it counts as not having waited.
    """
    if found.count < 3:
        return None
    # With more operands it is open which of them is the mbarrier; a relaxed answer orders nothing,
    # and an instruction under a predicate may leave an old one.
    plain = found.count == 3 and found.has("parity") and not found.has("relaxed")
    plain = plain and not found.predicated
    return accessing(
        *(updates(at, MBARRIER, certain=False) for at in range(1, found.count - 1)),
        writes_locals=tuple(range(found.count - 2)),
        mbarrier=Mbarrier(Signal.ASK, 1, count=2) if plain else None,
        answer=Answer.VARIES,
    )


ROWS: Rows = {
    "ptx.bar": instruction(_bar),
    "ptx.barrier": instruction(_bar),
    "ptx.fence": instruction(_fence),
    "ptx.mbarrier": instruction(_mbarrier),
}
