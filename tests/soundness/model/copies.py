"""Copies and matrix operations: what happens later than it is issued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import Buffer, element_bits
from tests.soundness.model.expressions import BUFFER, Expressions, Fn
from tests.soundness.model.flights import Kind
from tests.soundness.model.machine import Machine
from tests.soundness.model.memory import flat
from tests.soundness.model.modes import NotModelled
from tests.soundness.model.program import Action, Ids

DESCRIPTOR = 1 << 60
"""Set in a number that stands for the matrix at an address."""


@dataclass(frozen=True)
class Region:
    """Bytes behind a pointer."""

    address: Fn
    bytes: int
    element: int

    def at(self, m: Machine, ids: Ids, base: np.ndarray | None = None) -> np.ndarray:
        where = m.seen.control(self.address(m, ids))
        return m.bytes_at(where, self.bytes, ids, base=base)


def region_of(pointer: Expr, expressions: Expressions, elements: int | None = None) -> Region:
    """What an access pointer claims, or so many elements; all of a buffer without either."""
    if isinstance(pointer, Call) and pointer.op == "tvm_access_ptr":
        annotation, claimed = pointer.args[0], pointer.args[3]
        assert isinstance(annotation, Call)
        assert isinstance(annotation.args[0], Const)
        assert isinstance(claimed, Const)
        bits = element_bits(str(annotation.args[0].value))
        count = int(claimed.value) if elements is None else elements
        return Region(expressions.value(pointer), -(-count * bits // 8), bits // 8)
    if isinstance(pointer, Pointer):
        return Region(expressions.value(pointer), pointer.buffer.size or 0, 1)
    raise NotModelled("a pointer in another form")


def _is_shared(expr: Expr) -> bool:
    data = expr.args[1] if isinstance(expr, Call) and expr.op == "tvm_access_ptr" else expr
    return isinstance(data, Pointer) and data.buffer.scope.startswith("shared")


def _is_descriptor(expr: Expr) -> bool:
    """TileLang names the local that holds it."""
    return isinstance(expr, Pointer) and expr.buffer.scope.startswith("local.descriptor")


def _is_barrier(expr: Expr) -> bool:
    return isinstance(expr, Load) and "barrier" in expr.buffer.scope


# cp.async ---------------------------------------------------------------------------------------


def _cp_async(call: Call, expressions: Expressions) -> Action:
    """`ptx_cp_async(target, source, elements[, predicate])`; predicated off, it
    copies zeros (TileLang's `cp_async_gs_conditional`, by a size of the source of 0)."""
    target, source, count = call.args[:3]
    assert isinstance(count, Const)
    region = region_of(target, expressions, int(count.value))
    assert isinstance(source, Call)
    first = expressions.value(source.args[2])
    predicate = expressions.value(call.args[3]) if len(call.args) > 3 else None
    units = np.arange(int(count.value))

    def action(m: Machine, ids: Ids) -> None:
        at = region.at(m, ids)
        begin = np.broadcast_to(m.seen.control(first(m, ids))[:, :1], (len(ids), 1))
        elements = m.inputs[(begin + units) % len(m.inputs)]
        data = (elements[:, :, None] >> (8 * np.arange(region.element))) & 0xFF
        copied = data.reshape(len(ids), -1).astype(np.uint8)
        if predicate is not None:
            copied[~m.truth(predicate, ids)] = 0
        found = np.broadcast_to(copied, at.shape)
        m.memory.issue(at, ids, found)

        def land(rows: np.ndarray) -> None:
            m.memory.land(at[:, rows], found[:, rows], ids[rows])

        m.flights.start(Kind.CP_ASYNC, ids, m.steps, land)

    return action


def _commit(kind: Kind) -> Callable[[Call, Expressions], Action]:
    return lambda call, expressions: lambda m, ids: m.flights.commit(kind, ids)


def _wait(kind: Kind) -> Callable[[Call, Expressions], Action]:
    def make(call: Call, expressions: Expressions) -> Action:
        keep = expressions.value(call.args[0])
        return lambda m, ids: m.flights.wait(kind, ids, m.number(keep, ids))

    return make


# TMA --------------------------------------------------------------------------------------------


def _tma_load(*, multicast: bool) -> Callable[[Call, Expressions], Action]:
    """`tma_load(map, mbarrier, target, coordinates...)`; with `multicast` a mask of blocks comes
    first of these, and each block's mbarrier in the same place gets the bytes."""

    def make(call: Call, expressions: Expressions) -> Action:
        places = [place for place, one in enumerate(call.args) if _is_shared(one)]
        (barrier,) = (one for one in call.args if _is_barrier(one))
        if len(places) != 1:
            raise NotModelled("a TMA load without one target")
        region = region_of(call.args[places[0]], expressions)
        assert isinstance(barrier, Load)
        reported = expressions.address(barrier.buffer, barrier.indices)
        others = [expressions.value(one) for one in call.args[places[0] + 1 :]]
        mask = others.pop(0) if multicast else None

        def action(m: Machine, ids: Ids) -> None:
            seed = _coordinate(m, ids, others)
            where = np.broadcast_to(m.seen.control(reported(m, ids))[:, 0], (len(ids),))
            named = 0 if mask is None else m.number(mask, ids)
            own = ids // m.program.shape.threads
            for block in range(m.program.shape.blocks):
                if mask is None and block > 0:
                    break
                if mask is not None and not named >> block & 1:
                    continue
                target = own if mask is None else np.full(len(ids), block)
                _load_into(m, ids, region, target, where, seed)

        return action

    return make


def _coordinate(m: Machine, ids: Ids, operands: list[Fn]) -> np.ndarray:
    """One number for each thread of where in global memory a tile lies."""
    found = np.zeros(len(ids), dtype=np.int64)
    for operand in operands:
        found = found * 7 + np.broadcast_to(m.seen.control(operand(m, ids))[:, 0], (len(ids),))
    return found


def _load_into(
    m: Machine, ids: Ids, region: Region, blocks: np.ndarray, barrier: np.ndarray, seed: np.ndarray
) -> None:
    at = region.at(m, ids, m.layout.arena * blocks)
    words = (seed[:, None] * 331 + np.arange(region.bytes)) % len(m.inputs)
    data = np.broadcast_to((m.inputs[words] >> 3).astype(np.uint8), at.shape)
    m.memory.begins(at, ids, data)

    def land(rows: np.ndarray) -> None:
        for key, threads in m.mbarriers(barrier[rows], ids[rows], blocks[rows]):
            mine = rows[np.isin(ids[rows], threads)]
            with m.reported_by(key):
                m.memory.write_async(at[:, mine], data[:, mine], threads)
            clock = None if m.order is None else m.order.landed(key)
            m.mbarrier(key, threads).take(len(threads) * region.bytes, clock)

    m.flights.start(Kind.TMA_LOAD, ids, m.steps, land)


def _tma_store(call: Call, expressions: Expressions) -> Action:
    """What is read is seen, whenever that is."""
    (source,) = (one for one in call.args if _is_shared(one))
    return _reading([region_of(source, expressions)], Kind.TMA_STORE, expressions)


def _reading(regions: list[Region], kind: Kind, expressions: Expressions) -> Action:
    number = expressions.statement()

    def action(m: Machine, ids: Ids) -> None:
        who = number + 7919 * (ids + 977 * m.occurrences[ids])
        m.occurrences[ids] += 1
        for region in regions:
            m.read_later(region.at(m, ids), who, kind, ids)

    return action


def _fence(call: Call, expressions: Expressions) -> Action:
    return lambda m, ids: m.memory.fence()


# Matrices ---------------------------------------------------------------------------------------


def _describe(call: Call, expressions: Expressions) -> Action:
    """`initialize_wgmma_descriptor(descriptor, buffer, ...)`"""
    local, pointer = call.args[:2]
    assert isinstance(local, Load)
    storage = local.buffer.storage
    assert isinstance(storage, Buffer)
    index, address = expressions.value(local.indices[0]), expressions.value(pointer)

    def action(m: Machine, ids: Ids) -> None:
        where = m.seen.control(index(m, ids))
        m.cells(storage)[:, ids[:, None], where] = address(m, ids) + DESCRIPTOR

    return action


def _wgmma(call: Call, expressions: Expressions) -> Action:
    """Each warp reads all of what its descriptors stand for, and the sum gets there later."""
    values = [
        expressions.value(Load(one.buffer, (Const(0),)) if isinstance(one, Pointer) else one)
        for one in call.args
        if (isinstance(one, (Var, Load)) and not _is_shared(one)) or _is_descriptor(one)
    ]
    number = expressions.statement()
    pointers = (one for one in call.args if isinstance(one, Pointer) and not _is_descriptor(one))
    target = next(pointers, None)
    result = target.buffer.storage if isinstance(target, Pointer) else None

    def multiply(m: Machine, ids: Ids) -> None:
        who = number + 7919 * (ids[:1] + 977 * m.occurrences[ids[:1]])
        m.occurrences[ids] += 1
        for value in values:
            handed = m.seen.control(value(m, ids))
            for one in np.unique(handed[handed >= DESCRIPTOR]).tolist():
                address = (one - DESCRIPTOR) // BUFFER * BUFFER
                size = int(m.layout.sizes[address // BUFFER - 1])
                at = m.bytes_at(np.array([[address]]), size, ids[:1])
                _multiply(m, ids, at, who, result)

    return lambda m, ids: m.together(ids, lambda warp: multiply(m, warp))


def _multiply(
    m: Machine, ids: Ids, at: np.ndarray, who: np.ndarray, result: Buffer | Var | None
) -> None:
    m.memory.begins(at, ids)
    read: list[np.ndarray] = []

    def land(rows: np.ndarray) -> None:
        # Threads that have parted may wait apart; the first wait needs it all.
        if read:
            return
        read.append(m.memory.read_async(at, ids[rows]))
        m.seen.sometime(who, read[0])
        if isinstance(result, Buffer):
            summed = (flat(read[0]) & np.uint64(0xFFFFFF)).astype(np.int64)
            m.cells(result)[:, ids, 0] += summed

    m.flights.start(Kind.WGMMA, ids, m.steps, land)


def _ldmatrix(call: Call, expressions: Expressions) -> Action:
    """`ptx_ldmatrix(transposed, matrices, source, target)`: 16 bytes of each thread's row."""
    source, target = call.args[2:4]
    pointer = target.args[1] if isinstance(target, Call) else target
    address = expressions.value(source)
    if not isinstance(pointer, Pointer) or not isinstance(pointer.buffer.storage, Buffer):
        raise NotModelled("ldmatrix into something else")
    storage = pointer.buffer.storage

    def action(m: Machine, ids: Ids) -> None:
        found = m.memory.read(m.bytes_at(m.seen.control(address(m, ids)), 16, ids), ids)
        summed = (flat(found) & np.uint64(0xFFFFFF)).astype(np.int64)
        m.cells(storage)[:, ids, 0] = summed

    return action


# Other blocks -----------------------------------------------------------------------------------


def _cluster_store(call: Call, expressions: Expressions) -> Action:
    """`ptx_cluster_store(buffer, value, block, index)`"""
    pointer = call.args[0]
    assert isinstance(pointer, Pointer)
    value, block = (expressions.value(one) for one in call.args[1:3])
    address = expressions.address(pointer.buffer, (call.args[3],))
    size = element_bits(pointer.buffer.dtype) // 8

    def action(m: Machine, ids: Ids) -> None:
        where = m.seen.control(address(m, ids))
        base = m.layout.arena * np.broadcast_to(m.seen.control(block(m, ids))[:, 0], (len(ids),))
        at = m.bytes_at(where, size, ids, base=base)
        stored = np.broadcast_to(value(m, ids), (len(at), len(ids), 1))
        m.memory.write(at, ((stored >> (8 * np.arange(size))) & 0xFF).astype(np.uint8), ids)

    return action


def _overwrite(call: Call, expressions: Expressions) -> Action:
    """A function that is handed an element by reference, and writes from there to the end."""
    load = call.args[0]
    assert isinstance(load, Load)
    address = expressions.address(load.buffer, load.indices)
    size = load.buffer.size or 0

    def action(m: Machine, ids: Ids) -> None:
        at = m.bytes_at(m.seen.control(address(m, ids)), size, ids)
        m.memory.write(at, np.full(at.shape, 0x77, dtype=np.uint8), ids)

    return action


COPIES: dict[str, Callable[[Call, Expressions], Action]] = {
    "ptx_cp_async": _cp_async,
    "ptx_commit_group": _commit(Kind.CP_ASYNC),
    "ptx_wait_group": _wait(Kind.CP_ASYNC),
    "tma_load": _tma_load(multicast=False),
    "tma_load_multicast": _tma_load(multicast=True),
    "tma_store": _tma_store,
    "tma_store_arrive": _commit(Kind.TMA_STORE),
    "tma_store_wait": _wait(Kind.TMA_STORE),
    "fence_proxy_async": _fence,
    "initialize_wgmma_descriptor": _describe,
    "ptx_wgmma_ss": _wgmma,
    "multiply": _wgmma,
    "multiply_somehow": _wgmma,
    "warpgroup_commit_batch": _commit(Kind.WGMMA),
    "warpgroup_wait": _wait(Kind.WGMMA),
    "wait_wgmma": _wait(Kind.WGMMA),
    "ptx_ldmatrix": _ldmatrix,
    "ptx_cluster_store": _cluster_store,
    "__scale_in_place": _overwrite,
}
