"""What each statement of a kernel takes of an SM, and of its memory system.

An SM has four schedulers that issue one warp's instruction a cycle each; a warpgroup's wgmma runs
on all four tensor cores; shared memory serves 128 bytes a cycle (CUDA guide). Latencies: Luo et
al., "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level
Analysis" (arXiv:2501.12084).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.advisor.globals import GlobalAccess, global_accesses
from smemreuse.advisor.instructions import Arithmetic, arithmetic, multiplication
from smemreuse.advisor.points import BlockThreads, Points
from smemreuse.advisor.work import SCHEDULERS, BlockWork, Resource, Ring, StageReading, Transfer
from smemreuse.facts import KernelFacts
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Var
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Evaluate, Stmt, nodes_of, walk_statements
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.effects import Effect, Engine, Group, Signal
from smemreuse.semantics.evaluate import Value, evaluate
from smemreuse.semantics.matrix_operands import described_bytes
from smemreuse.semantics.table import effect_of
from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card

BARRIER = 30
"""Cycles of a barrier of a block, of an mbarrier that is tried, and of a shared load: about so many
on every generation since Volta."""
SHARED_LATENCY = 30
EXCHANGE = 25
WGMMA_LATENCY = 60
"""Cycles beyond its own until a group of wgmma is complete and its registers can be read."""
TMA_LATENCY = 300
"""Cycles that a tensor load takes beyond a thread's own load."""


@dataclass
class OpenLoop:
    """A serial loop during the walk: the buffers loaded and read in it so far."""

    filled: dict[Buffer, np.ndarray] = field(default_factory=dict)
    arrival: dict[Buffer, np.ndarray] = field(default_factory=dict)
    read: set[Buffer] = field(default_factory=set)


class Costs:
    """Counts in `work` the cost of each statement that a walk meets.

    The walk sets `active`, the threads that execute a statement, `loops`, those around it, and
    `repeated`, how many copies of it an unrolled loop issues. For `fresh` and `seen` see `Walk`.
    """

    def __init__(
        self,
        facts: KernelFacts,
        card: Card,
        active: BlockThreads,
        work: BlockWork,
        fresh: Mapping[Expr | Stmt, float] | None,
    ) -> None:
        self.active, self.work = active, work
        self.seen: dict[Expr | Stmt, float] = {}
        self.loops: list[OpenLoop] = []
        self.repeated = 1.0
        self._facts, self._card, self._fresh = facts, card, fresh
        self._used = facts.ask(_used_variables)

    def statement(self, stmt: Stmt, points: Points) -> None:
        """Adds what one statement costs at all points: arithmetic, shared and global accesses,
        operations.
        """
        self._compute(arithmetic(stmt, self._used.__contains__), points)
        accesses = self._facts.accesses.get(stmt, ())
        for access in accesses:
            if access.buffer.scope in SHARED_SCOPES:
                self._shared(access, points)
        for one in global_accesses(stmt, accesses):
            self._global(one, points)
        if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
            self._operation(stmt.value, effect_of(stmt.value), points)

    def close(
        self, loop: OpenLoop, rounds: np.ndarray, spent: np.ndarray, tensor: np.ndarray
    ) -> None:
        """Adds what a finished loop costs: its loads, and the readers that wait for them.

        In `rounds` of the loop each warp `spent` so many cycles, and all together kept the tensor
        cores busy for `tensor` cycles.
        """
        own = np.maximum(spent.max(axis=1), tensor)
        loaded = sum(loop.filled.values()) / np.maximum(rounds, 1) / self._port()
        for buffer in loop.read:
            self.work.readings.setdefault(buffer, []).append(StageReading(rounds, own))
        for buffer, total in loop.filled.items():
            each = total / np.maximum(rounds, 1)
            largest = float(each.max(initial=0.0))
            stages = max(1, round((buffer.size or 0) / largest)) if largest else 1
            arrival = loop.arrival[buffer] + loaded
            if buffer not in loop.read:
                self.work.rings.append(Ring(buffer, rounds, stages, arrival))
            elif stages == 1:  # loaded, waited for and read, one after the other
                self.work.chain += (rounds * arrival)[:, None] * (spent > 0)
            else:  # the threads that load ahead also read: the stage that they read is not refilled
                needed = rounds * arrival / (stages - 1)
                self.work.chain += np.maximum(needed - own, 0)[:, None] * (spent > 0)
            for outer in self.loops[-1:]:
                outer.read.discard(buffer)

    def _compute(self, cost: Arithmetic, points: Points) -> None:
        """Adds the instruction and special-function slots of arithmetic, and the exchanges of
        warps.
        """
        per_special = WARP * SCHEDULERS / self._card.special
        issued = cost.issued + 2 * cost.exchanged
        self._spend(points, issued + cost.special * per_special + cost.exchanged * EXCHANGE)
        warps = len(self.active.warps)
        self._take(Resource.ISSUE, points, warps * issued / SCHEDULERS)
        self._take(Resource.SPECIAL, points, warps * cost.special * per_special / SCHEDULERS)

    def _shared(self, access: MemoryAccess, points: Points) -> None:
        """An access of all active threads, or of an engine, to shared memory."""
        if self.loops and access.access is not Access.WRITE:
            self.loops[-1].read.add(access.buffer)
        if access.descriptor is not None:
            return  # read by the multiplication
        size = access.footprint.size * access.footprint.count
        if access.footprint.start is None:
            return
        if access.engine is Engine.THREAD:
            degree = self._conflicts(access.footprint, points)
            cycles = max(WARP * size / self._card.shared, 1.0) * degree
            self._take(Resource.SHARED, points, len(self.active.warps) * cycles)
            self._take(Resource.ISSUE, points, len(self.active.warps) / SCHEDULERS)
            latency = SHARED_LATENCY / self.repeated if access.access is Access.READ else 0
            self._spend(points, cycles + latency)
            return
        total = size if access.engine is not Engine.CP_ASYNC else size * self.active.count
        self._take(Resource.SHARED, points, total / self._card.shared)

    def _conflicts(self, footprint: Footprint, points: Points) -> float:
        """The factor by which bank conflicts slow down a warp's access.

        Accesses of 8 or 16 bytes are served for halves or quarters of a warp (CUDA guide, "Shared
        Memory"). In each of these, a bank delivers one word of 4 bytes per cycle.
        """
        size = max(footprint.size * footprint.count, 1)
        assert footprint.start is not None
        here = self.active.at(points, points.count // 2)
        lanes = min(WARP, self.active.count)
        start = evaluate(footprint.start, here)
        if not isinstance(start, np.ndarray) or size > 16:
            return 1.0
        served = max(1, WARP // max(1, size // 4))
        words = np.unique(start[: min(served, lanes)] // 4)
        if size > 4:
            words = np.unique((words[:, None] + np.arange(size // 4)).ravel())
        return float(np.bincount(words % 32).max())

    def _global(self, access: GlobalAccess, points: Points) -> None:
        """Adds one global access: bytes of transfer, issue slots, and the latency that it exposes.

        In the first walk (without `fresh`) it only records which part of the bytes differs between
        blocks.
        """
        total = access.bytes * (self.active.count if access.by_thread else 1)
        node = access.node
        if self._fresh is None:
            self.seen[node] = _distinct(access.places, points, self.active.first())
            return
        fresh = self._fresh.get(node, 1.0)
        taken = points.summed(total, self.work.blocks)
        self.work.transfers.append(Transfer(access.name, access.written, taken, fresh))
        self._take(Resource.PORT, points, total / self._card.port)
        if access.by_thread:
            self._take(Resource.ISSUE, points, len(self.active.warps) / SCHEDULERS)
        if access.written:
            return
        latency = self._latency(fresh) + (TMA_LATENCY if access.by_engine else 0)
        if access.into is None:
            self._spend(points, latency / self.repeated + 1)
        elif self.loops:
            loop = self.loops[-1]
            before = loop.filled.get(access.into, np.zeros(self.work.blocks))
            loop.filled[access.into] = before + taken
            loop.arrival[access.into] = np.full(self.work.blocks, latency)
        else:
            self._spend(points, latency / self.repeated + total / self._port())

    def _operation(self, call: Call, effect: Effect, points: Points) -> None:
        """Adds what an operation costs beside its accesses: matrix products, waits and barriers."""
        if effect.product is not None:
            self._multiply(call, effect, points)
        if effect.waits is not None and effect.waits.engine is Engine.WGMMA:
            self._spend(points, WGMMA_LATENCY)
        if effect.waits is not None and effect.waits.engine is Engine.TMA_STORE:
            self._spend(points, TMA_LATENCY + self._card.l2_latency)
        if effect.signals is Signal.WAIT or (
            effect.meeting is not None and effect.meeting.group is not Group.NOBODY
        ):
            self._spend(points, BARRIER)
        if effect.signals is not None or effect.meeting is not None:
            self._take(Resource.ISSUE, points, len(self.active.warps) / SCHEDULERS)

    def _multiply(self, call: Call, effect: Effect, points: Points) -> None:
        """On the tensor cores of the SM: one of a warpgroup keeps all of them busy, one of a warp
        a quarter of them."""
        assert effect.product is not None
        product = multiplication(call, effect.product)
        if product is None:
            self.work.assumed["a multiplication that does not say its shape takes no time"] = None
            return
        group = 4 * WARP if effect.engine is Engine.WGMMA else WARP
        rate = self._card.rate(product.dtype)
        if group == WARP:
            rate *= self._card.mma
        groups = max(1, self.active.count // group)
        cycles = product.flops / rate
        self._take(Resource.TENSOR, points, groups * cycles)
        read = groups * described_bytes(call) / self._card.shared
        self._take(Resource.SHARED, points, read)
        alone = cycles if group > WARP else cycles * SCHEDULERS
        self._spend(points, max(alone, read / groups))
        flops = self.work.flops
        done = float(points.weight.sum()) * groups * product.flops
        flops[product.dtype] = flops.get(product.dtype, 0.0) + done

    def _take(self, resource: Resource, points: Points, cycles: float) -> None:
        taken = self.work.demand[resource]
        self.work.demand[resource] = taken + points.summed(cycles, self.work.blocks)

    def _spend(self, points: Points, cycles: float) -> None:
        if cycles:
            taken = points.summed(cycles, self.work.blocks)
            self.work.chain[:, self.active.warps] += taken[:, None]

    def _port(self) -> float:
        """Bytes that an SM gets from L2 in a cycle while all others get theirs."""
        card = self._card
        return min(card.port, card.l2 / (card.sms * card.clock))

    def _latency(self, fresh: float) -> float:
        """Cycles from a load to its data: what other blocks of the wave read too is in L2."""
        card = self._card
        return card.l2_latency + fresh * (card.dram_latency - card.l2_latency)


def _used_variables(facts: KernelFacts) -> frozenset[Var]:
    """The variables that an expression of a kernel names."""
    return frozenset(
        node
        for stmt in walk_statements(facts.kernel.body)
        for node in nodes_of(stmt)
        if isinstance(node, Var)
    )


def _distinct(places: tuple[Expr, ...], points: Points, threads: Mapping[Var, Value]) -> float:
    """The fraction of the points that access a place of their own; 1 where the places are not
    known.
    """
    found = [points.evaluate(place, threads) for place in places]
    known = [np.broadcast_to(np.asarray(one), (points.count,)) for one in found if one is not None]
    if not known:
        return 1.0 if places else 1.0 / max(points.count, 1)
    return len(np.unique(np.stack(known), axis=1).T) / points.count
