"""Walks a kernel as its blocks do, and counts what each statement takes.

The machine behind the numbers: an SM has four schedulers that issue one warp's instruction a cycle
each; a warpgroup's wgmma runs on all four tensor cores; shared memory serves 128 bytes a cycle
(CUDA guide). Latencies: Luo et al., "Dissecting the NVIDIA Hopper Architecture through
Microbenchmarking and Multiple Level Analysis" (arXiv:2501.12084).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from smemreuse.advisor.globals import GlobalAccess, global_accesses
from smemreuse.advisor.grid import Grid
from smemreuse.advisor.instructions import Arithmetic, arithmetic, multiplication
from smemreuse.advisor.points import Points
from smemreuse.advisor.work import SCHEDULERS, Reading, Resource, Ring, Transfer, Work
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Var
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Bind,
    Block,
    Buffer,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    nested_blocks,
    nodes_of,
    walk_statements,
)
from smemreuse.ir.launch import AXES, launches, tag_of, thread_axes
from smemreuse.semantics.accesses import Footprint, MemoryAccess
from smemreuse.semantics.effects import Effect, Engine, Group, Signal
from smemreuse.semantics.evaluate import Threads, Value, evaluate
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
    """A serial loop that is being walked: what has been loaded in it, and read, so far."""

    filled: dict[Buffer, np.ndarray] = field(default_factory=dict)
    arrival: dict[Buffer, np.ndarray] = field(default_factory=dict)
    read: set[Buffer] = field(default_factory=set)


class Walk:
    """One walk: over some blocks of a grid, started in this order.

    `fresh` tells what part of a statement's global bytes no other block of the wave reads too, as
    an earlier walk over a wave found; without it `seen` gathers what that needs.
    """

    def __init__(
        self,
        kernel: Kernel,
        card: Card,
        grid: Grid,
        started: np.ndarray,
        fresh: Mapping[Expr | Stmt, float] | None = None,
    ) -> None:
        self._facts: KernelFacts = facts_of(kernel)
        self._card, self._fresh = card, fresh
        self._used = self._facts.ask(_used_variables)
        axes = thread_axes(kernel.body)
        self._row = axes.get(AXES[0], 1)
        count = int(np.prod([*axes.values()]))
        self._ids = np.arange(count)
        self._threads = _thread_values(kernel.body, axes, self._ids)
        self.work = Work.empty(len(started), -(-count // WARP))
        self.seen: dict[Expr | Stmt, float] = {}
        self._loops: list[OpenLoop] = []
        self._repeated = 1.0
        blocks = np.arange(len(started))
        self._block(kernel.body, Points(grid.indices(started), blocks, np.ones(len(started))))

    # Statements ---------------------------------------------------------------------------------

    def _block(self, block: Block, points: Points) -> None:
        for stmt in block:
            if not points.count or not len(self._ids):
                return
            points = self._statement(stmt, points)

    def _statement(self, stmt: Stmt, points: Points) -> Points:
        if isinstance(stmt, For):
            self._costs(stmt, points)
            self._for(stmt, points)
        elif isinstance(stmt, If):
            self._costs(stmt, points)
            self._if(stmt, points)
        elif isinstance(stmt, While):
            self.work.assumed["a loop that data end goes round once"] = None
            self._block(stmt.body, points)
        elif isinstance(stmt, Bind):
            self._costs(stmt, points)
            return points.bind(stmt.var, points.evaluate(stmt.value, self._one_thread()))
        else:
            if isinstance(stmt, (Store, Evaluate)):
                self._costs(stmt, points)
            for inner in nested_blocks(stmt):
                self._block(inner, points)
        return points

    def _for(self, loop: For, points: Points) -> None:
        extent, begin, step = (
            points.evaluate(one, self._one_thread()) for one in (loop.extent, loop.begin, loop.step)
        )
        if extent is None or begin is None or step is None:
            self.work.assumed["a loop whose rounds data decide goes round once"] = None
            extent, begin, step = 1, 0, 1
        steps = np.maximum(np.abs(np.asarray(step)), 1)
        trips = np.broadcast_to(-(-np.asarray(extent) // steps), (points.count,))
        if loop.kind != "serial":
            most = float(trips.max(initial=1))
            inside = points.rounds(loop.var, begin, step, trips, single=True)
            repeated, self._repeated = self._repeated, self._repeated * max(most, 1.0)
            self._block(loop.body, inside)
            self._repeated = repeated
            return
        inside = points.rounds(loop.var, begin, step, trips, single=self._fresh is None)
        chain, demand = self.work.chain.copy(), {**self.work.demand}
        self._loops.append(OpenLoop())
        self._block(loop.body, inside)
        rounds = points.summed(trips.astype(float), self.work.blocks)
        tensor = self.work.demand[Resource.TENSOR] - demand[Resource.TENSOR]
        self._close(self._loops.pop(), rounds, self.work.chain - chain, tensor)
        if not self._loops:
            self.work.loop_chain += self.work.chain - chain
            for one, before in demand.items():
                self.work.loop_demand[one] += self.work.demand[one] - before

    def _close(
        self, loop: OpenLoop, rounds: np.ndarray, spent: np.ndarray, tensor: np.ndarray
    ) -> None:
        """Loads and what waits for them, behind a loop in which warps `spent` so many cycles, and
        all of them together kept the tensor cores busy for so many."""
        own = np.maximum(spent.max(axis=1), tensor)
        loaded = sum(loop.filled.values()) / np.maximum(rounds, 1) / self._port()
        for buffer in loop.read:
            self.work.readings.setdefault(buffer, []).append(Reading(rounds, own))
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
            for outer in self._loops[-1:]:
                outer.read.discard(buffer)

    def _if(self, stmt: If, points: Points) -> None:
        """Loads in a branch of their own do not go out together with those of the next round."""
        repeated, self._repeated = self._repeated, 1.0
        self._branches(stmt, points)
        self._repeated = repeated

    def _branches(self, stmt: If, points: Points) -> None:
        known = points.evaluate(stmt.condition)
        if known is not None:
            holds = np.broadcast_to(np.asarray(known) != 0, (points.count,))
            self._block(stmt.then, points.where(holds))
            self._block(stmt.orelse, points.where(~holds))
            return
        part = self._taking(stmt.condition, points)
        if part is None:
            self.work.assumed["conditions on data hold"] = None
            self._block(stmt.then, points)
            return
        share, taking = part
        ids = self._ids
        for block, threads, weight in (
            (stmt.then, taking, share),
            (stmt.orelse, ~taking, 1.0 - share if share < 1.0 else 1.0),
        ):
            if block and threads.any():
                self._ids = ids[threads]
                self._block(block, points.scaled(weight))
        self._ids = ids

    def _taking(self, condition: Expr, points: Points) -> tuple[float, np.ndarray] | None:
        """Which threads a condition holds for in any of a few points, and in what part of these."""
        masks = []
        for at in {0, points.count // 2, points.count - 1}:
            mask = evaluate(condition, self._at(points, at))
            if mask is None:
                return None
            masks.append(np.broadcast_to(np.asarray(mask) != 0, (len(self._ids),)))
        ever = np.any(masks, axis=0)
        return float(np.mean([mask[ever].mean() if ever.any() else 0 for mask in masks])), ever

    def _at(self, points: Points, at: int) -> Threads:
        """The active threads at one point."""
        values: dict[Var, Value] = {
            var: int(value[at]) if isinstance(value, np.ndarray) else value
            for var, value in points.values.items()
        }
        values |= {var: value[self._ids] for var, value in self._threads.items()}
        return Threads(self._ids, values, row=self._row)

    def _one_thread(self) -> dict[Var, Value]:
        """What the thread axes are in the first active thread."""
        return {var: int(value[self._ids[0]]) for var, value in self._threads.items()}

    # Costs --------------------------------------------------------------------------------------

    def _costs(self, stmt: Stmt, points: Points) -> None:
        self._compute(arithmetic(stmt, self._used.__contains__), points)
        accesses = self._facts.accesses.get(stmt, ())
        for access in accesses:
            if access.buffer.scope in SHARED_SCOPES:
                self._shared(access, points)
        for one in global_accesses(stmt, accesses):
            self._global(one, points)
        if isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
            self._operation(stmt.value, effect_of(stmt.value), points)

    def _compute(self, cost: Arithmetic, points: Points) -> None:
        per_special = WARP * SCHEDULERS / self._card.special
        issued = cost.issued + 2 * cost.exchanged
        self._spend(points, issued + cost.special * per_special + cost.exchanged * EXCHANGE)
        self._take(Resource.ISSUE, points, self._warps() * issued / SCHEDULERS)
        self._take(
            Resource.SPECIAL, points, self._warps() * cost.special * per_special / SCHEDULERS
        )

    def _shared(self, access: MemoryAccess, points: Points) -> None:
        """An access of all active threads, or of an engine, to shared memory."""
        if self._loops and access.access is not Access.WRITE:
            self._loops[-1].read.add(access.buffer)
        if access.descriptor is not None:
            return  # read by the multiplication
        size = access.footprint.size * access.footprint.count
        if access.footprint.start is None:
            return
        if access.engine is Engine.THREAD:
            degree = self._conflicts(access.footprint, points)
            cycles = max(WARP * size / self._card.shared, 1.0) * degree
            self._take(Resource.SHARED, points, self._warps() * cycles)
            self._take(Resource.ISSUE, points, self._warps() / SCHEDULERS)
            latency = SHARED_LATENCY / self._repeated if access.access is Access.READ else 0
            self._spend(points, cycles + latency)
            return
        total = size if access.engine is not Engine.CP_ASYNC else size * len(self._ids)
        self._take(Resource.SHARED, points, total / self._card.shared)

    def _conflicts(self, footprint: Footprint, points: Points) -> float:
        """How many times as long a warp's access takes for hitting banks more than once.

        Threads of an access of 8 or 16 bytes are served in halves or quarters of a warp (CUDA
        guide, "Shared Memory"); of those, each bank gives one word of 4 bytes a cycle.
        """
        size = max(footprint.size * footprint.count, 1)
        assert footprint.start is not None
        here = self._at(points, points.count // 2)
        lanes = min(WARP, len(self._ids))
        start = evaluate(footprint.start, here)
        if not isinstance(start, np.ndarray) or size > 16:
            return 1.0
        served = max(1, WARP // max(1, size // 4))
        words = np.unique(start[: min(served, lanes)] // 4)
        if size > 4:
            words = np.unique((words[:, None] + np.arange(size // 4)).ravel())
        return float(np.bincount(words % 32).max())

    def _global(self, access: GlobalAccess, points: Points) -> None:
        total = access.bytes * (len(self._ids) if access.by_thread else 1)
        node = access.node
        if self._fresh is None:
            self.seen[node] = _distinct(access.places, points, self._one_thread())
            return
        fresh = self._fresh.get(node, 1.0)
        taken = points.summed(total, self.work.blocks)
        self.work.transfers.append(Transfer(access.name, access.written, taken, fresh))
        self._take(Resource.PORT, points, total / self._card.port)
        if access.by_thread:
            self._take(Resource.ISSUE, points, self._warps() / SCHEDULERS)
        if access.written:
            return
        latency = self._latency(fresh) + (TMA_LATENCY if access.by_engine else 0)
        if access.into is None:
            self._spend(points, latency / self._repeated + 1)
        elif self._loops:
            loop = self._loops[-1]
            before = loop.filled.get(access.into, np.zeros(self.work.blocks))
            loop.filled[access.into] = before + taken
            loop.arrival[access.into] = np.full(self.work.blocks, latency)
        else:
            self._spend(points, latency / self._repeated + total / self._port())

    def _operation(self, call: Call, effect: Effect, points: Points) -> None:
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
            self._take(Resource.ISSUE, points, self._warps() / SCHEDULERS)

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
        groups = max(1, len(self._ids) // group)
        cycles = product.flops / rate
        self._take(Resource.TENSOR, points, groups * cycles)
        read = groups * described_bytes(call) / self._card.shared
        self._take(Resource.SHARED, points, read)
        alone = cycles if group > WARP else cycles * SCHEDULERS
        self._spend(points, max(alone, read / groups))
        flops = self.work.flops
        done = float(points.weight.sum()) * groups * product.flops
        flops[product.dtype] = flops.get(product.dtype, 0.0) + done

    # Sums ---------------------------------------------------------------------------------------

    def _warps(self) -> int:
        return len(np.unique(self._ids // WARP))

    def _take(self, resource: Resource, points: Points, cycles: float) -> None:
        taken = self.work.demand[resource]
        self.work.demand[resource] = taken + points.summed(cycles, self.work.blocks)

    def _spend(self, points: Points, cycles: float) -> None:
        if cycles:
            warps = np.unique(self._ids // WARP)
            self.work.chain[:, warps] += points.summed(cycles, self.work.blocks)[:, None]

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


def _thread_values(body: Block, axes: Mapping[str, int], ids: np.ndarray) -> dict[Var, np.ndarray]:
    """What the variables of the thread axes hold in each thread."""
    wide, high = axes.get(AXES[0], 1), axes.get(AXES[1], 1)
    by_tag = {AXES[0]: ids % wide, AXES[1]: ids // wide % high, AXES[2]: ids // (wide * high)}
    return {
        launch.var: by_tag[tag_of(launch)]
        for launch in launches(body)
        if launch.var is not None and tag_of(launch) in by_tag
    }


def _distinct(places: tuple[Expr, ...], points: Points, threads: Mapping[Var, Value]) -> float:
    """What part of the points goes to a place of its own; 1 where nobody knows the places."""
    found = [points.evaluate(place, threads) for place in places]
    known = [np.broadcast_to(np.asarray(one), (points.count,)) for one in found if one is not None]
    if not known:
        return 1.0 if places else 1.0 / max(points.count, 1)
    return len(np.unique(np.stack(known), axis=1).T) / points.count
