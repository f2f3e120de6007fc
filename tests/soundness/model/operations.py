"""What operations do, by name: from the PTX ISA and the device functions that wrap it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from tests.soundness.model.barriers import Wait, over
from tests.soundness.model.copies import COPIES, region_of
from tests.soundness.model.expressions import Expressions, Fn, whole
from tests.soundness.model.flights import Kind
from tests.soundness.model.machine import Machine
from tests.soundness.model.memory import for_each
from tests.soundness.model.modes import IllDefined, NotModelled
from tests.soundness.model.program import Action, Blocked, Ids, by_warp
from tests.soundness.model.reductions import SCAN, SHUFFLE

Maker: TypeAlias = "Callable[[Call, Expressions], Action]"


def operation(call: Call, expressions: Expressions) -> Action:
    """The action of a call; raises `NotModelled` for one that is not known here."""
    name, operands = call.op, call.args
    if name in ("call_extern", "call_pure_extern"):
        assert isinstance(operands[0], Const)
        found = [one for one in operands if isinstance(one, Const) and str(one.value) in OPERATIONS]
        if not found:
            raise NotModelled(f"the function {operands}")
        name = str(found[0].value)
        operands = operands[operands.index(found[0]) + 1 :]
    if name not in OPERATIONS:
        raise NotModelled(f"`{name}`")
    return OPERATIONS[name](Call(name, operands), expressions)


def _nothing(call: Call, expressions: Expressions) -> Action:
    return lambda m, ids: None


# Barriers of threads ----------------------------------------------------------------------------


def _storage_sync(call: Call, expressions: Expressions) -> Action:
    """`tvm_storage_sync(scope[, barrier[, threads]])`"""
    scope, *operands = call.args
    if scope == Const("warp"):
        return _nothing(call, expressions)
    if scope == Const("cluster"):
        return _cluster(arrives=True, waits=True)(call, expressions)
    number, count = [*map(expressions.value, operands), None, None][:2]
    return _meet(number, count, waits=True)


def _named_arrive(call: Call, expressions: Expressions) -> Action:
    number, count = map(expressions.value, call.args)
    return _meet(number, count, waits=False)


def _meet(number: Fn | None, count: Fn | None, *, waits: bool) -> Action:
    def action(m: Machine, ids: Ids) -> Blocked:
        threads = m.program.shape.threads
        waited: list[tuple[Wait, Ids]] = []
        blocks = ids // threads
        for block in set(blocks.tolist()):
            mine = ids[blocks == block]
            which = 0 if number is None else m.number(number, mine)
            meeting = m.meeting(which, mine)
            needed = None if count is None else m.number(count, mine)
            for warp in by_warp(mine):
                meeting.arrive(warp, needed, m.release(warp))
                waited += meeting.waits(warp)
        return m.passing(waited) if waits else None

    return action


def _sync_warp(call: Call, expressions: Expressions) -> Action:
    mask = expressions.value(call.args[0]) if call.args else None

    def action(m: Machine, ids: Ids) -> Blocked:
        if m.mode.assumed:
            return None
        named = 0xFFFFFFFF if mask is None else m.number(mask, ids)
        awaited = m.warp_meeting(ids, named).arrive(ids, m.alive, m.release(ids))
        return m.passing([(lambda: over(awaited), ids)])

    return action


def _cluster(*, arrives: bool, waits: bool, relaxed: bool = False) -> Maker:
    """A thread waits for the round that it arrived in; it does both in turns. An arrival that is
    `relaxed` hands on nothing."""

    def make(call: Call, expressions: Expressions) -> Action:
        def action(m: Machine, ids: Ids) -> Blocked:
            meeting, rounds = m.meeting(-1, ids), m.cluster_rounds
            if (rounds[ids] >= 0).any() if arrives else (rounds[ids] < 0).any():
                raise IllDefined("the halves of a cluster's barrier, but not in turns")
            if arrives:
                rounds[ids] = len(meeting.rounds) - 1
                for warp in by_warp(ids):
                    meeting.arrive(warp, None, None if relaxed else m.release(warp))
            if not waits:
                return None
            awaited = meeting.rounds[int(rounds[ids].max())]
            rounds[ids] = -1
            return m.passing([(lambda: over(awaited), ids)])

        return action

    return make


def _grid(call: Call, expressions: Expressions) -> Action:
    """Two barriers of the block, between which one thread waits for the other blocks."""
    of_block = _meet(None, None, waits=True)
    of_grid = _meet(lambda m, ids: whole(-2), None, waits=True)

    def action(m: Machine, ids: Ids) -> Blocked:
        meet = of_grid if m.mode.literal else of_block
        waited = [meet(m, ids)]

        def passed() -> bool:
            last = waited[-1]
            if last is None or not last():
                return False
            if len(waited) < 2:
                waited.append(meet(m, ids))
                return passed()
            return True

        return passed

    return action


# Mbarriers --------------------------------------------------------------------------------------

Signal: TypeAlias = "Callable[[Machine, tuple[int, int], Ids, int], None]"
"""Done to an mbarrier by threads, with a number that the call hands over."""


def barrier_address(operand: Expr, expressions: Expressions) -> Fn:
    """An mbarrier is named by an element, by its address or by its buffer."""
    if isinstance(operand, Load):
        return expressions.address(operand.buffer, operand.indices)
    return expressions.value(operand)


def _signal(
    signal: Signal, at: int = 0, count: int | None = None, rank: int | None = None
) -> Maker:
    def make(call: Call, expressions: Expressions) -> Action:
        barrier = barrier_address(call.args[at], expressions)
        given = None if count is None else expressions.value(call.args[count])
        other = None
        if rank is not None and rank < len(call.args):
            other = expressions.value(call.args[rank])

        def action(m: Machine, ids: Ids) -> None:
            where = m.seen.control(barrier(m, ids))[:, 0]
            number = 0 if given is None else m.number(given, ids)
            blocks = None if other is None else np.full(len(ids), m.number(other, ids))
            for key, threads in m.mbarriers(where, ids, blocks):
                signal(m, key, threads, number)

        return action

    return make


def _initialize(m: Machine, key: tuple[int, int], ids: Ids, count: int) -> None:
    m.initialize(key, ids, count)


def _arrive(m: Machine, key: tuple[int, int], ids: Ids, count: int) -> None:
    m.mbarrier(key, ids).arrive(len(ids), 0, m.release(ids))


def _arrive_relaxed(m: Machine, key: tuple[int, int], ids: Ids, count: int) -> None:
    """Hands on nothing of what was accessed before it."""
    m.mbarrier(key, ids).arrive(len(ids))


def _arrive_and_expect(m: Machine, key: tuple[int, int], ids: Ids, count: int) -> None:
    m.mbarrier(key, ids).arrive(len(ids), count, m.release(ids))


def _expect(m: Machine, key: tuple[int, int], ids: Ids, count: int) -> None:
    m.mbarrier(key, ids).expect(len(ids) * count)


def _wait_parity(call: Call, expressions: Expressions) -> Action:
    barrier, parity = barrier_address(call.args[0], expressions), expressions.value(call.args[1])

    def action(m: Machine, ids: Ids) -> Blocked:
        where = m.seen.control(barrier(m, ids))[:, 0]
        wanted = for_each(m.seen.control(parity(m, ids))[:, 0], len(ids)).tolist()
        block = (ids // m.program.shape.threads).tolist()
        keys = zip(block, for_each(where, len(ids)).tolist(), strict=True)
        asked: dict[tuple[tuple[int, int], int], list[int]] = {}
        for key, number, one in zip(keys, wanted, ids, strict=True):
            asked.setdefault((key, number), []).append(one)
        barriers = [
            (m.mbarrier(key, np.array(who)), number, np.array(who))
            for (key, number), who in asked.items()
        ]
        passes = m.passing([(partial(one.over, number), who) for one, number, who in barriers])

        def passed() -> bool:
            if not passes():
                return False
            for one, _, who in barriers:
                m.phases[who] = m.phases[who] * np.uint64(31) + np.uint64(one.phase + 1)
            return True

        return passed

    return action


def _noinc(*, holds: bool) -> Maker:
    """An arrival when all copies of the thread so far have landed."""

    def make(call: Call, expressions: Expressions) -> Action:
        barrier = barrier_address(call.args[0], expressions)

        def action(m: Machine, ids: Ids) -> None:
            where = for_each(m.seen.control(barrier(m, ids))[:, 0], len(ids))
            for key, threads in m.mbarriers(where, ids):
                for _ in range(len(threads) if holds else 0):
                    m.mbarrier(key, threads).hold()

            def land(rows: np.ndarray) -> None:
                for key, threads in m.mbarriers(where[rows], ids[rows]):
                    with m.reported_by(key):
                        m.flights.finish(Kind.CP_ASYNC, threads)
                    clock = None if m.order is None else m.order.landed(key)
                    m.mbarrier(key, threads).arrive(len(threads), 0, clock)

            m.flights.start(Kind.ARRIVAL, ids, m.steps, land)

        return action

    return make


def _matrix_arrive(call: Call, expressions: Expressions) -> Action:
    """One thread of the warp arrives."""
    arrive = _signal(_arrive)(call, expressions)
    return lambda m, ids: arrive(m, ids[ids % 32 == 0]) if (ids % 32 == 0).any() else None


def _ptx_mbarrier(call: Call, expressions: Expressions) -> Action:
    words = [str(one.value) for one in call.args if isinstance(one, Const)]
    operands = tuple(one for one in call.args if not isinstance(one, Const))
    if "arrive" not in words or len(operands) != 1:
        raise NotModelled("another form of `mbarrier`")
    signal = _arrive_relaxed if "relaxed" in words else _arrive
    return _signal(signal)(Call(call.op, operands), expressions)


# Warps that work together -------------------------------------------------------------------------


def _shuffle_xor(call: Call, expressions: Expressions) -> Action:
    result, operand, distance = call.args
    assert isinstance(result, Var)
    assert isinstance(distance, Const)
    value, apart = expressions.value(operand), int(distance.value)

    def exchange(m: Machine, ids: Ids) -> None:
        held = np.broadcast_to(value(m, ids), (m.layout.count, len(ids), 1))
        partner = np.minimum(np.searchsorted(ids, ids ^ apart), len(ids) - 1)
        m.bind(result, ids, held[:, partner])

    return lambda m, ids: m.together(ids, lambda warp: exchange(m, warp))


def _scan_line(call: Call, expressions: Expressions) -> Action:
    """Segments of a lane each, one after the other; what came of one is carried to the next."""
    source, target = (region_of(one, expressions) for one in call.args[:2])
    count, operator, reverse = (one.value for one in call.args[2:] if isinstance(one, Const))
    step = np.add if operator == "add" else np.maximum
    segments = list(range(0, int(count), 32))

    def scan(m: Machine, ids: Ids) -> None:
        carry: np.ndarray | None = None
        for first in reversed(segments) if reverse else segments:
            who = ids[first + m.program.shape.rows[ids] % 32 < int(count)]
            shift = (first + m.program.shape.rows[who] % 32)[:, None] * source.element
            read = m.memory.read(m.bytes_at(source.address(m, who)[0] + shift, 4, who), who)
            values = read.view("<i4")[:, :: -1 if reverse else 1]
            found = step.accumulate(values, axis=1)
            found = found if carry is None else step(found, carry)
            carry = found[:, -1:]
            found = np.ascontiguousarray(found[:, :: -1 if reverse else 1], dtype="<i4")
            m.memory.write(
                m.bytes_at(target.address(m, who)[0] + shift, 4, who), found.view(np.uint8), who
            )

    return lambda m, ids: m.together(ids, lambda warp: scan(m, warp))


# Functions that nobody else knows, which do what their names say ----------------------------------


def _bump(call: Call, expressions: Expressions) -> Action:
    """Adds one to a local scalar."""
    address = call.args[0]
    assert isinstance(address, Call)
    load = address.args[0]
    assert isinstance(load, Load)
    storage = load.buffer

    def action(m: Machine, ids: Ids) -> None:
        m.cells(storage)[:, ids, 0] += 1

    return action


def _all_of(change: bool) -> Maker:
    """`use(pointer)` reads all of a buffer; `mix(pointer)` changes what is there in place."""

    def make(call: Call, expressions: Expressions) -> Action:
        (pointer,) = call.args
        data = pointer.args[1] if isinstance(pointer, Call) else pointer
        assert isinstance(data, Pointer)
        address, size = expressions.value(data), data.buffer.size or 0
        number = expressions.statement()

        def action(m: Machine, ids: Ids) -> None:
            one = ids[:1]
            at = m.bytes_at(address(m, one)[0], size, one)
            found = m.memory.read(at, one)
            if change:
                m.memory.write(at, found[:, :, ::-1] ^ 0x5A, one)
            else:
                every = np.broadcast_to(found.astype(np.int64), (len(found), len(ids), size))
                m.seen.values(ids, every, number)

        return action

    return make


OPERATIONS: dict[str, Maker] = {
    **COPIES,
    "tvm_storage_sync": _storage_sync,
    "sync_warp": _sync_warp,
    "sync_grid": _grid,
    "named_barrier_arrive": _named_arrive,
    "cluster_sync": _cluster(arrives=True, waits=True),
    "cluster_arrive": _cluster(arrives=True, waits=False),
    "cluster_arrive_relaxed": _cluster(arrives=True, waits=False, relaxed=True),
    "cluster_wait": _cluster(arrives=False, waits=True),
    "ptx_init_barrier_thread_count": _signal(_initialize, count=1),
    "ptx_arrive_barrier": _signal(_arrive),
    "ptx_arrive_cluster_barrier": _signal(_arrive, rank=1),
    "ptx_arrive_barrier_expect_tx": _signal(_arrive_and_expect, count=1, rank=2),
    "mbarrier_expect_tx": _signal(_expect, count=1),
    "mbarrier_wait_parity": _wait_parity,
    "ptx_cp_async_barrier_noinc": _noinc(holds=False),
    "ptx_cp_async_barrier": _noinc(holds=True),
    "tcgen05_mma_arrive": _matrix_arrive,
    "ptx.mbarrier": _ptx_mbarrier,
    "ptx_fence_barrier_init": _nothing,
    "warpgroup_arrive": _nothing,
    "warpgroup_fence_operand": _nothing,
    SHUFFLE: _shuffle_xor,
    SCAN: _scan_line,
    "arrive_on": _signal(_arrive),
    "arrive_somehow": _signal(_arrive),
    "bump": _bump,
    "mix": _all_of(change=True),
    "use": _all_of(change=False),
}
