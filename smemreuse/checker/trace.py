"""The byte trace: executes one thread block's shared-memory accesses under a plan.

All threads of a statement run at once (NumPy). Divergent arms run as agents, in turns, blocked by
mbarriers as on the hardware. Conditions on the block index are settled one block at a time, for one
block of each kind; conditions on data go both ways and are joined. See `machine` for what is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from smemreuse.checker.machine import (
    RECENT,
    Barrier,
    Bytes,
    Event,
    Layout,
    Memory,
    Order,
    Pending,
    Queue,
    Recent,
    Seen,
    describe,
    full_warps,
    warps_of,
)
from smemreuse.checker.relevance import Relevance
from smemreuse.model.evaluate import Threads, Value, evaluate
from smemreuse.model.expr import Call, Const, Expr, Load, Pointer, Var, children, walk
from smemreuse.model.intrinsics import LEAVING_OPS, Engine, MemoryAccess, evaluated_call
from smemreuse.model.kernel import (
    THREAD_EXTENT,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    Store,
    While,
)
from smemreuse.model.sequence import Access
from smemreuse.model.verdict import Violation
from smemreuse.report.labels import label

MAX_VECTOR = 1 << 17
"""Threads times iterations that are evaluated at once."""


class Uncovered(Exception):
    """The trace cannot go on; the plan stays unproved."""


@dataclass(frozen=True)
class Finding:
    """A violation, and whether it surely happens or only may."""

    violation: Violation
    certain: bool


@dataclass
class State:
    """Everything that a branch may leave in one of two ways."""

    memory: Memory
    order: Order
    barriers: dict[tuple[Buffer | Var, int], Barrier]
    queues: dict[tuple[Engine, int], Queue]
    pending: list[Pending]
    counters: dict[tuple[Buffer | Var, int], np.ndarray]
    descriptors: dict[Buffer | Var, dict[Buffer, Bytes]]

    def copy(self) -> State:
        return State(
            self.memory.copy(),
            self.order.copy(),
            {key: barrier.copy() for key, barrier in self.barriers.items()},
            {key: queue.copy() for key, queue in self.queues.items()},
            list(self.pending),
            {key: values.copy() for key, values in self.counters.items()},
            {key: dict(value) for key, value in self.descriptors.items()},
        )

    def join(self, other: State) -> State:
        """What holds whichever of the two states the machine is in."""
        joined = self.copy()
        joined.memory = self.memory.joined(other.memory)
        joined.order.weakest(other.order)
        for key, values in other.counters.items():
            mine = joined.counters.get(key)
            if mine is None or not np.array_equal(mine, values):
                joined.counters[key] = np.full_like(values, UNKNOWN)
        for place in self.queues.keys() | other.queues.keys():
            empty = Queue()
            mine_q, theirs_q = self.queues.get(place, empty), other.queues.get(place, empty)
            joined.queues[place] = mine_q.joined(theirs_q)
        for name in self.barriers.keys() | other.barriers.keys():
            mine_b, theirs = self.barriers.get(name), other.barriers.get(name)
            if mine_b is None or theirs is None or not mine_b.agrees_with(theirs):
                raise Uncovered("a branch on data decides how often an mbarrier is used")
        had = {id(pending) for pending in joined.pending}
        joined.pending += [pending for pending in other.pending if id(pending) not in had]
        for descriptor, where in other.descriptors.items():
            joined.descriptors.setdefault(descriptor, {}).update(where)
        return joined


AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
UNKNOWN = np.iinfo(np.int64).min
_BLOCKED = object()
Steps = Iterator[object]


@dataclass
class Agent:
    """Threads that run the same statements at the moment."""

    threads: Threads
    loops: tuple[tuple[str, int], ...] = ()


class Trace:
    """One execution, for the block whose index is `block` where a condition asks for it."""

    def __init__(
        self,
        relevance: Relevance,
        layout: Layout,
        *,
        assume_barriers: bool,
        budget: int,
        axes: Mapping[str, int],
        block: Mapping[Var, int],
    ):
        self.findings: dict[tuple[int, frozenset[str]], Finding] = {}
        self.decisions: list[tuple[Expr, Threads, Value]] = []
        self.steps = 0
        self._relevance = relevance
        self._layout = layout
        self._axes = axes
        self._thread_count = thread_count = math.prod(axes.values())
        self._assume_barriers = assume_barriers
        self._budget = budget
        self._block = block
        self._events: list[Event] = []
        self._loads = 0
        self._forked = False
        self._some_threads = False
        self._varying: set[Var | Buffer] = set()
        self._cache: dict[tuple[object, ...], tuple[Bytes, np.ndarray]] = {}
        warps = -(-thread_count // 32)
        self._all_warps = np.arange(warps)
        memory = Memory(layout, warps)
        self.state = State(memory, Order(warps), {}, {}, [], {}, {})

    def run(self, body: Block) -> None:
        """Executes a kernel. Raises `Uncovered` for what it cannot follow."""
        threads = Threads(np.arange(self._thread_count), {}, self._counter)
        self._drive(self._run(body, Agent(threads)))

    def _drive(self, steps: Steps) -> None:
        """Runs steps that have nobody left to wait for."""
        before = -1
        for _ in steps:
            if self.steps == before:
                raise Uncovered("an mbarrier is waited for that nobody completes")
            before = self.steps

    def _tick(self) -> None:
        self.steps += 1
        if self.steps > self._budget:
            raise Uncovered(f"more than {self._budget:,} steps")

    # Statements ---------------------------------------------------------------------------------

    def _run(self, block: Block, agent: Agent) -> Steps:
        if agent.threads.count == 0:
            return
        skip = 0
        for index, stmt in enumerate(block):
            if index < skip:
                continue
            if isinstance(stmt, Bind):
                self._bind(stmt, agent)
            if isinstance(stmt, If) and self._relevance.waits(stmt):
                group = self._specialized(block[index:], agent.threads)
                if len(group) > 1:
                    skip = index + 1 + block[index:].index(group[-1][0])
                    yield from self._branch_apart(group, agent)
                    continue
            if self._relevance(stmt) or isinstance(stmt, Attr):
                yield from self._statement(stmt, agent)

    def _bind(self, stmt: Bind, agent: Agent) -> None:
        value = evaluate(stmt.value, agent.threads)
        if value is None and self._varies(stmt.value, agent.threads):
            self._varying.add(stmt.var)
        agent.threads = agent.threads.bind(stmt.var, value)

    def _specialized(self, block: Block, threads: Threads) -> list[tuple[If, np.ndarray]]:
        """The branches at the head of a block that different threads take, each with who does.

        `if tx < 128: ...` and `if 128 <= tx: ...`, one after the other, run at the same time: the
        threads that skip the first do not wait for it.
        """
        group = []
        for stmt in block:
            if isinstance(stmt, If) and self._relevance(stmt):
                condition = self._decide(stmt.condition, threads)
                if not isinstance(condition, np.ndarray):
                    break
                group.append((stmt, np.not_equal(condition, 0)))
            elif self._relevance(stmt) or isinstance(stmt, (Bind, Attr)):
                break
        return group

    def _branch_apart(self, group: list[tuple[If, np.ndarray]], agent: Agent) -> Steps:
        """Runs several branches, each thread those that it takes, threads that agree together."""
        taken = np.stack([mask for _, mask in group])
        arms = []
        for choice in np.unique(taken, axis=1).T:
            mine = (taken == choice[:, None]).all(axis=0)
            blocks = [
                stmt.then if then else stmt.orelse
                for (stmt, _), then in zip(group, choice, strict=True)
            ]
            arms.append(self._run_all(blocks, Agent(agent.threads.where(mine), agent.loops)))
        yield from self._meet(arms, agent.threads)

    def _run_all(self, blocks: list[Block], agent: Agent) -> Steps:
        threads = agent.threads
        for block in blocks:
            agent.threads = threads
            yield from self._run(block, agent)

    def _statement(self, stmt: Stmt, agent: Agent) -> Steps:
        if isinstance(stmt, Attr):
            yield from self._attr(stmt, agent)
        elif isinstance(stmt, For):
            yield from self._for(stmt, agent)
        elif isinstance(stmt, If):
            yield from self._if(stmt, agent)
        elif isinstance(stmt, While):
            yield from self._while(stmt, agent)
        elif isinstance(stmt, Assert):
            yield from self._run(stmt.body, agent)
        else:
            yield from self._leaf(stmt, agent)

    def _attr(self, stmt: Attr, agent: Agent) -> Steps:
        if stmt.key == THREAD_EXTENT and stmt.var is not None:
            agent.threads = agent.threads.bind(stmt.var, self._axis(stmt, agent))
        yield from self._run(stmt.body, agent)

    def _axis(self, stmt: Attr, agent: Agent) -> Value:
        tag = stmt.node.value if isinstance(stmt.node, Const) else ""
        if tag not in self._axes:
            return 0 if stmt.value == Const(1) else None
        stride = 1
        for axis in AXES:  # threads are numbered with x running fastest
            if axis == tag:
                break
            stride *= self._axes.get(axis, 1)
        return agent.threads.ids // stride % self._axes[str(tag)]

    def _for(self, stmt: For, agent: Agent) -> Steps:
        threads, loops = agent.threads, agent.loops
        begin, extent, step = (
            self._decide(expr, threads) for expr in (stmt.begin, stmt.extent, stmt.step)
        )
        if not (isinstance(begin, int) and isinstance(extent, int) and isinstance(step, int)):
            yield from self._repeat(stmt, stmt.extent, agent, threads.bind(stmt.var, None))
        elif extent > 0 and step > 0:
            count = -(-extent // step)
            if self._at_once(stmt, count, threads):
                values = begin + step * np.arange(count)
                agent.threads = threads.repeated(stmt.var, values)
                yield from self._run(stmt.body, agent)
            else:
                for index in self._relevance.iterations(stmt, count):
                    value = begin + step * index
                    agent.threads = threads.bind(stmt.var, value)
                    agent.loops = (*loops, (stmt.var.name, value))
                    yield from self._run(stmt.body, agent)
        agent.threads, agent.loops = threads, loops

    def _at_once(self, stmt: For, count: int, threads: Threads) -> bool:
        """Whether a loop's iterations may run as one: nothing in them is ordered or related."""
        if threads.count * count > MAX_VECTOR or self._relevance.synchronizes(stmt.body):
            return False
        kinds = self._relevance.kinds(stmt.body)
        buffers = [buffer for buffer, _ in kinds]
        related = any(two in self._layout.partners[one] for one in buffers for two in buffers)
        return len(set(buffers)) == len(buffers) and not related

    def _if(self, stmt: If, agent: Agent) -> Steps:
        threads = agent.threads
        condition = self._decide(stmt.condition, threads)
        if condition is None:
            yield from self._either(stmt, agent)
            return
        if isinstance(condition, int):
            yield from self._run(stmt.then if condition else stmt.orelse, agent)
            agent.threads = threads
            return
        mask = np.not_equal(condition, 0)
        arms = [
            Agent(threads.where(chosen), agent.loops)
            for chosen, block in ((mask, stmt.then), (~mask, stmt.orelse))
            if self._relevance.block(block)
        ]
        blocks = [block for block in (stmt.then, stmt.orelse) if self._relevance.block(block)]
        yield from self._meet(
            [self._run(block, arm) for block, arm in zip(blocks, arms, strict=True)], threads
        )

    def _meet(self, arms: list[Steps], threads: Threads) -> Steps:
        """Runs arms in turns; an arm that waits for an mbarrier lets the others go on.

        All threads may meet at a barrier before they part, and where they have met again.
        """
        self._assume_barrier(threads)
        while arms:
            before = self.steps
            for arm in list(arms):
                if next(arm, arms) is arms:
                    arms.remove(arm)
                    self.steps += 1
            if self.steps == before:
                yield _BLOCKED
        self._assume_barrier(threads)

    def _assume_barrier(self, threads: Threads) -> None:
        """A later pass inserts a barrier between statements that share bytes (rule 6).

        It can where all threads come by that are known to be here, not among an unknown few.
        """
        if self._assume_barriers and not self._some_threads:
            self.state.order.barrier(full_warps(threads.ids, self._thread_count))

    def _either(self, stmt: If, agent: Agent) -> Steps:
        """A condition on data: both outcomes, from the same state, then what is sure in both."""
        threads, before = agent.threads, self.state.copy()
        apart = self._varies(stmt.condition, threads)
        self._forked = True
        with self._partly(apart):
            self._drive(self._run(stmt.then, agent))
            agent.threads = threads
            after_then, self.state = self.state, before
            self._drive(self._run(stmt.orelse, agent))
            agent.threads = threads
        if apart:
            self._report_arms(stmt)
            for key in after_then.counters.keys() | self.state.counters.keys():
                self._varying.add(key[0])
        self.state = after_then.join(self.state)
        return
        yield

    @contextmanager
    def _partly(self, apart: bool) -> Iterator[None]:
        """Inside, it is not known which threads act, so that no write is sure to happen."""
        before, self._some_threads = self._some_threads, self._some_threads or apart
        try:
            yield
        finally:
            self._some_threads = before

    def _report_arms(self, stmt: If) -> None:
        """Rule 4: threads may be in both arms, so that what each touches is not ordered."""
        arms = [
            {buffer for buffer, _ in self._relevance.kinds(block)}
            for block in (stmt.then, stmt.orelse)
        ]
        for one in arms[0]:
            for two in arms[1] & set(self._layout.partners[one]):
                names = f"{self._layout.names[one]} and {self._layout.names[two]}"
                text = (
                    f"threads may be in both arms of {Event(stmt, ())}, where {names} share bytes"
                )
                self._report(4, one, two, text, False)

    def _while(self, stmt: While, agent: Agent) -> Steps:
        threads = agent.threads
        while True:
            condition = self._decide(stmt.condition, threads)
            if not isinstance(condition, int):
                break
            if not condition:
                return
            self._tick()
            yield from self._run(stmt.body, agent)
            agent.threads = threads
        yield from self._repeat(stmt, stmt.condition, agent, threads)

    def _repeat(
        self, stmt: For | While, condition: Expr | None, agent: Agent, threads: Threads
    ) -> Steps:
        """A loop of unknown length: any number of rounds, until another changes nothing."""
        self._forked = True
        apart = condition is not None and self._varies(condition, threads)
        for round_number in range(4):
            before = self.state.copy()
            agent.threads = threads
            with self._partly(apart):
                self._drive(self._run(stmt.body, agent))
            merged = before.join(self.state)
            settled = round_number > 1 and merged.memory.same(before.memory)
            self.state = merged
            if settled:
                return
        raise Uncovered(f"`{label(stmt)}` did not settle")
        yield

    def _varies(self, expr: Expr, threads: Threads) -> bool:
        """Whether an unknown value may differ from thread to thread.

        Variables without a value are block indices, symbols and loop variables, the same for all,
        unless a `Bind` made them. What memory holds is the same for all who read one element of it,
        if it is a local that was set alike for all, or a buffer that the kernel does not write.
        """
        if isinstance(expr, Var):
            value = threads.values.get(expr)
            return isinstance(value, np.ndarray) or expr in self._varying
        if isinstance(expr, Load):
            storage = expr.buffer.storage
            changing = self._relevance.written | self._relevance.escaped
            if storage in self._varying or storage in changing:
                return True
        elif isinstance(expr, Call) and expr.op in ("tl_shuffle_elect", "get_lane_idx"):
            return True
        return any(self._varies(child, threads) for child in children(expr))

    # Values -------------------------------------------------------------------------------------

    def _decide(self, expr: Expr, threads: Threads) -> Value:
        """The value that control flow depends on, if need be for this trace's block alone."""
        value = evaluate(expr, threads)
        if value is None and self._block:
            here = Threads(threads.ids, {**threads.values, **self._block}, threads.load)
            value = evaluate(expr, here)
            if value is not None:
                self.decisions.append((expr, _frozen(expr, threads), value))
        if isinstance(value, np.ndarray) and (value == value[0]).all():
            return int(value[0])
        return value

    def _counter(self, load: Load, threads: Threads) -> Value:
        """A local scalar, if its value is known for all the threads that ask."""
        index = evaluate(load.indices[0], threads) if len(load.indices) == 1 else None
        if not isinstance(index, int) or load.buffer.storage in self._relevance.escaped:
            return None
        values = self.state.counters.get((load.buffer.storage, index))
        if values is None:
            return None
        mine = values[threads.ids]
        if (mine == UNKNOWN).any():
            return None
        return int(mine[0]) if (mine == mine[0]).all() else mine

    def _set_counter(self, stmt: Store, threads: Threads) -> None:
        index = evaluate(stmt.indices[0], threads) if len(stmt.indices) == 1 else None
        value = evaluate(stmt.value, threads) if stmt.predicate is None else None
        storage = stmt.buffer.storage
        if not isinstance(index, int):
            for key in [key for key in self.state.counters if key[0] is storage]:
                self.state.counters[key][threads.ids] = UNKNOWN
            return
        values = self.state.counters.setdefault(
            (storage, index), np.full(self._thread_count, UNKNOWN, dtype=np.int64)
        )
        values[threads.ids] = UNKNOWN if value is None else value
        if value is None and (
            self._varies(stmt.value, threads) or threads.count < self._thread_count
        ):
            self._varying.add(storage)

    # Leaves -------------------------------------------------------------------------------------

    def _leaf(self, stmt: Stmt, agent: Agent) -> Steps:
        self._tick()
        threads = agent.threads
        if threads.count == 0:
            return
        self._assume_barrier(threads)
        if isinstance(stmt, Store) and stmt.buffer.scope.startswith("local"):
            self._set_counter(stmt, threads)
        accesses = self._relevance.accesses.get(stmt, ())
        event = self._event(stmt, agent) if accesses else -1
        for access in accesses:
            self._access(access, stmt, threads, event)
        call = evaluated_call(stmt)
        if call is not None:
            yield from self._intrinsic(call, stmt, agent)

    def _event(self, stmt: Stmt, agent: Agent) -> int:
        self._events.append(Event(stmt, agent.loops))
        return len(self._events) - 1

    def _access(self, access: MemoryAccess, stmt: Stmt, threads: Threads, event: int) -> None:
        located = self._where(access, stmt, threads)
        exact = located is not None
        if located is None:
            where = np.arange(self._layout.sizes[access.buffer])
            by_thread = np.full(len(where), -1)
        else:
            where, by_thread = located
        certain = access.certain and exact and not self._some_threads
        if access.engine is Engine.WGMMA and access.descriptor is not None:
            self.state.descriptors.setdefault(access.descriptor, {})[access.buffer] = where
            return
        for kind in _kinds(access.access):
            is_write = kind is Access.WRITE
            # A read of everything, where only the place is unknown, surely reads something.
            self._perform(
                access.buffer,
                where,
                by_thread,
                is_write,
                certain and (is_write or exact),
                threads,
                event,
                access.engine,
                access,
            )

    def _perform(
        self,
        buffer: Buffer,
        where: Bytes,
        by_thread: np.ndarray,
        is_write: bool,
        certain: bool,
        threads: Threads,
        event: int,
        engine: Engine,
        access: MemoryAccess | None = None,
    ) -> None:
        memory = self.state.memory
        warps = warps_of(threads.ids)
        for partner in self._layout.partners[buffer]:
            self._require_order(buffer, partner, where, by_thread, is_write, certain, warps, event)
        if is_write:
            memory.write(buffer, where, event, certain)
        else:
            lost = memory.lost(buffer, where)
            if len(lost):
                self._report_lost(buffer, lost, certain, event)
        if engine is Engine.TMA_LOAD and access is not None:
            self._load_issued(buffer, where, access, threads)
        elif engine is not Engine.THREAD:
            waiting = set(map(int, warps))
            pending = Pending(buffer, where, is_write, certain, waiting, threads.ids, event)
            self._issued(pending, engine)
        else:
            self._note(buffer, where, by_thread, is_write, warps, event)

    def _note(
        self,
        buffer: Buffer,
        where: Bytes,
        by_thread: np.ndarray,
        is_write: bool,
        warps: np.ndarray,
        event: int,
    ) -> None:
        """Remembers an access for those of other buffers that come after it."""
        epochs = self.state.order.epochs[warps]
        for partner in self._layout.partners[buffer]:
            begin, end = self._layout.common(buffer, partner)
            inside = (where >= begin) & (where < end)
            if inside.any():
                recent = Recent(is_write, where[inside], by_thread[inside], warps, epochs, event)
                self.state.memory.seen[buffer, partner].note(recent)

    # Order --------------------------------------------------------------------------------------

    def _require_order(
        self,
        buffer: Buffer,
        partner: Buffer,
        where: Bytes,
        by_thread: np.ndarray,
        is_write: bool,
        certain: bool,
        warps: np.ndarray,
        event: int,
    ) -> None:
        """Rules 4 to 6: earlier accesses of `partner` to these bytes must have happened before."""
        layout, memory, order = self._layout, self.state.memory, self.state.order
        begin, end = layout.common(buffer, partner)
        inside = (where >= begin) & (where < end)
        if not inside.any():
            return
        seen = memory.seen[partner, buffer]
        latest = np.maximum(seen.writes, seen.reads) if is_write else seen.writes
        unordered = (latest[None, :] >= order.clock[warps]) & (latest[None, :] > 0)
        if unordered.any():
            other = self._racing(seen, buffer, partner, where, by_thread, is_write, warps)
            if other is not None:
                self._report_race(6, buffer, partner, event, other, certain)
        in_flight = memory.loads.get((partner, buffer), 0)
        if any(in_flight & ~order.known[warp] for warp in warps):
            self._report_race(5, buffer, partner, event, None, certain)
        theirs = where[inside] + layout.offsets[buffer] - layout.offsets[partner]
        for pending in self.state.pending:
            if pending.buffer is partner and (is_write or pending.is_write):
                if np.isin(pending.where, theirs).any():
                    sure = certain and pending.certain
                    self._report_race(5, buffer, partner, event, pending.event, sure)

    def _racing(
        self,
        seen: Seen,
        buffer: Buffer,
        partner: Buffer,
        where: Bytes,
        by_thread: np.ndarray,
        is_write: bool,
        warps: np.ndarray,
    ) -> int | None:
        """An unordered access to the same byte by another thread; None if there is none."""
        order, layout = self.state.order, self._layout
        shift = layout.offsets[buffer] - layout.offsets[partner]
        mine = where + shift
        order_of_bytes = np.argsort(mine, kind="stable")
        mine, mine_threads = mine[order_of_bytes], by_thread[order_of_bytes]
        oldest = None
        for recent in seen.recent:
            if not (is_write or recent.is_write):
                continue
            late = recent.epochs[None, :] >= order.clock[warps][:, recent.warps]
            oldest = recent.event if oldest is None else oldest
            if not late.any():
                continue
            if _different_threads(recent.where, recent.threads, mine, mine_threads):
                return recent.event
        if len(seen.recent) >= RECENT:
            # Something older may be unordered too; it is no longer known byte by byte.
            first = min(int(recent.epochs.min()) for recent in seen.recent)
            clock = order.clock[warps]
            latest = np.maximum(seen.writes, seen.reads) if is_write else seen.writes
            if ((latest[None, :] >= clock) & (latest[None, :] < first) & (latest > 0)).any():
                return oldest
        return None

    # Asynchronous engines -----------------------------------------------------------------------

    def _issued(self, pending: Pending, engine: Engine) -> None:
        self.state.pending.append(pending)
        for warp in pending.waiting:
            self._queue(engine, warp).uncommitted.append(pending)

    def _queue(self, engine: Engine, warp: int) -> Queue:
        return self.state.queues.setdefault((engine, warp), Queue())

    def _commit(self, engine: Engine, threads: Threads) -> None:
        """Closes a group, for each thread its own: part of a warp is ahead of the rest then."""
        full = set(map(int, full_warps(threads.ids, self._thread_count)))
        for warp in map(int, warps_of(threads.ids)):
            queue = self._queue(engine, warp)
            queue.counted = queue.counted and warp in full and not self._some_threads
            queue.commit()

    def _wait_groups(self, engine: Engine, threads: Threads, keep: Value) -> None:
        """The oldest groups are done; from here on they are accesses of the warps that waited."""
        if not isinstance(keep, int) or self._some_threads:
            return
        for warp in map(int, warps_of(threads.ids)):
            for pending in self._queue(engine, warp).retire(keep):
                issued = pending.threads[pending.threads // 32 == warp]
                if not np.isin(issued, threads.ids).all():
                    continue  # other threads wait than those that issued it
                pending.waiting.discard(warp)
                nobody = np.full(len(pending.where), -1)
                one = np.array([warp])
                self._note(
                    pending.buffer, pending.where, nobody, pending.is_write, one, pending.event
                )
        self.state.pending = [pending for pending in self.state.pending if pending.waiting]

    def _load_issued(
        self, buffer: Buffer, where: Bytes, access: MemoryAccess, threads: Threads
    ) -> None:
        """A TMA load counts as complete for those who have waited for its mbarrier's phase."""
        bit = 1 << self._loads
        self._loads += 1
        for partner in self._layout.partners[buffer]:
            if len(self._layout.in_other(buffer, partner, where)):
                pair = (buffer, partner)
                self.state.memory.loads[pair] = self.state.memory.loads.get(pair, 0) | bit
        barrier = self._barrier(access.barrier, threads)
        if barrier is not None:
            barrier.loads |= bit

    def _barrier(self, load: Expr | None, threads: Threads) -> Barrier | None:
        if not isinstance(load, Load):
            return None
        slot = evaluate(load.indices[0], threads) if load.indices else 0
        if isinstance(slot, np.ndarray) and len(slot) and (slot == slot[0]).all():
            slot = int(slot[0])
        if not isinstance(slot, int):
            return None
        return self.state.barriers.setdefault((load.buffer.storage, slot), Barrier())

    # Intrinsics ---------------------------------------------------------------------------------

    def _intrinsic(self, call: Call, stmt: Stmt, agent: Agent) -> Steps:
        threads = agent.threads
        if call.op == "tvm_storage_sync":
            yield from self._storage_sync(call, threads)
        elif call.op == "sync_warp":
            for warp in full_warps(threads.ids, self._thread_count):
                self.state.order.barrier(np.array([warp]))
        elif call.op == "mbarrier_wait_parity":
            yield from self._wait_parity(call, threads)
        elif call.op.startswith(("ptx_arrive_barrier", "mbarrier_expect_tx", "ptx_init_barrier")):
            self._mbarrier(call, threads)
        elif call.op == "ptx_commit_group":
            self._commit(Engine.CP_ASYNC, threads)
        elif call.op == "ptx_wait_group":
            self._wait_groups(Engine.CP_ASYNC, threads, evaluate(call.args[0], threads))
        elif call.op == "tma_store_arrive":
            self._commit(Engine.TMA_STORE, threads)
        elif call.op == "tma_store_wait":
            keep = evaluate(call.args[0], threads) if call.args else 0
            self._wait_groups(Engine.TMA_STORE, threads, keep)
        elif call.op in ("ptx_wgmma_ss", "ptx_wgmma_rs"):
            self._wgmma(call, stmt, agent)
        elif call.op == "warpgroup_commit_batch":
            self._commit(Engine.WGMMA, threads)
        elif call.op in ("warpgroup_wait", "wait_wgmma"):
            self._wait_groups(Engine.WGMMA, threads, evaluate(call.args[0], threads))
        elif call.op in ("tma_load", "tma_load_im2col"):
            self._load_bytes(call, stmt, threads)
        elif call.op in LEAVING_OPS or call.op == "named_barrier_arrive":
            raise Uncovered(f"`{call.op}` is not followed")

    def _storage_sync(self, call: Call, threads: Threads) -> Steps:
        """`tvm_storage_sync(scope[, barrier id, threads])`; a partial one orders those who meet."""
        if call.args[0] == Const("warp"):
            for warp in full_warps(threads.ids, self._thread_count):
                self.state.order.barrier(np.array([warp]))
            return
        if len(call.args) >= 3 and evaluate(call.args[2], threads) != threads.count:
            raise Uncovered("a named barrier is shared by several arms")
        self.state.order.barrier(full_warps(threads.ids, self._thread_count))
        return
        yield

    def _wait_parity(self, call: Call, threads: Threads) -> Steps:
        parity = evaluate(call.args[1], threads)
        barrier = self._barrier(call.args[0], threads)
        if barrier is None or not isinstance(parity, int):
            raise Uncovered("an mbarrier's slot or parity is not known")
        while barrier.phase % 2 == parity % 2:
            barrier = self._barrier(call.args[0], threads)
            assert barrier is not None
            if barrier.phase % 2 != parity % 2:
                break
            yield _BLOCKED
        if barrier.completed is not None:
            full = full_warps(threads.ids, self._thread_count)
            self.state.order.acquire(full, *barrier.completed)

    def _mbarrier(self, call: Call, threads: Threads) -> None:
        barrier = self._barrier(call.args[0], threads)
        if barrier is None:
            raise Uncovered("an mbarrier's slot is not known")
        if call.op == "ptx_init_barrier_thread_count":
            count = evaluate(call.args[1], threads)
            if not isinstance(count, int):
                raise Uncovered("an mbarrier's arrival count is not known")
            barrier.expected = count
            return
        if call.op in ("mbarrier_expect_tx", "ptx_arrive_barrier_expect_tx"):
            due = evaluate(call.args[1], threads)
            if not isinstance(due, int):
                raise Uncovered("the bytes that an mbarrier expects are not known")
            barrier.bytes_due += due * threads.count
        if call.op != "mbarrier_expect_tx":
            barrier.arrived += threads.count
            self._arrive(barrier, threads)
        barrier.settle(len(self._all_warps))

    def _arrive(self, barrier: Barrier, threads: Threads) -> None:
        """Threads hand over what they know; their own accesses only if their whole warp arrives."""
        full = full_warps(threads.ids, self._thread_count)
        order = self.state.order
        if len(full):
            handed, known = order.release(full)
        else:
            warps = warps_of(threads.ids)
            handed, known = order.clock[warps].min(axis=0), 0
            for warp in warps:
                known |= order.known[warp]
        if barrier.handed is not None:
            handed = np.maximum(barrier.handed, handed)
        barrier.handed, barrier.known = handed, barrier.known | known

    def _load_bytes(self, call: Call, stmt: Stmt, threads: Threads) -> None:
        """The bytes of a TMA load come off what its mbarrier still expects."""
        barrier = next((self._barrier(arg, threads) for arg in call.args if _is_barrier(arg)), None)
        if barrier is None:
            raise Uncovered("a TMA load reports to no known mbarrier")
        size = self._relevance.load_bytes.get(stmt)
        if size is None:
            raise Uncovered("the size of a TMA load is not known")
        barrier.bytes_due -= size * threads.count
        barrier.settle(len(self._all_warps))

    def _wgmma(self, call: Call, stmt: Stmt, agent: Agent) -> None:
        """The read behind a descriptor happens now, and lasts until `warpgroup_wait` (rule 5)."""
        event = -1
        for node in walk(call):
            if isinstance(node, (Pointer, Load)):
                for buffer, where in self.state.descriptors.get(node.buffer.storage, {}).items():
                    if event < 0:
                        event = self._event(stmt, agent)
                    if self._reads_already(buffer, where, agent.threads):
                        continue
                    nobody = np.full(len(where), -1)
                    self._perform(
                        buffer, where, nobody, False, False, agent.threads, event, Engine.WGMMA
                    )

    def _reads_already(self, buffer: Buffer, where: Bytes, threads: Threads) -> bool:
        """Whether the batch being issued has this read in flight already."""
        batch = self._queue(Engine.WGMMA, int(threads.ids[0]) // 32).uncommitted
        return any(pending.buffer is buffer and pending.where is where for pending in batch)

    # Footprints ---------------------------------------------------------------------------------

    def _where(
        self, access: MemoryAccess, stmt: Stmt, threads: Threads
    ) -> tuple[Bytes, np.ndarray] | None:
        """The bytes accessed, and by which thread each (-1: by several); None if not known."""
        footprint = access.footprint
        if footprint.start is None:
            return None
        start = evaluate(footprint.start, threads)
        if start is None:
            return None
        starts = np.broadcast_to(np.asarray(start, dtype=np.int64), (threads.count,))
        runs = np.arange(footprint.count)[:, None] * footprint.stride + np.arange(footprint.size)
        size = self._layout.sizes[access.buffer]
        key = (access, starts.tobytes(), threads.ids.tobytes())
        if key in self._cache:
            return self._cache[key]
        each = (starts[:, None] + runs.ravel()[None, :]).ravel()
        ids = np.repeat(threads.ids, runs.size)
        if len(each) == 0:
            return each, ids
        if each.min() < 0 or each.max() >= size:
            inside = (each >= 0) & (each < size)
            each, ids = each[inside], ids[inside]
        self._cache[key] = _by_byte(each, ids)
        return self._cache[key]

    # Reports ------------------------------------------------------------------------------------

    def _report_lost(self, buffer: Buffer, lost: Bytes, certain: bool, event: int) -> None:
        shadow = self.state.memory.shadows[buffer]
        sure = lost[shadow.certainly_lost[lost]]
        certain = certain and len(sure) > 0
        byte = int(sure[0] if certain else lost[0])
        reader, writer, culprit = (
            describe(self._events, int(number))
            for number in (event, shadow.writer[byte], shadow.culprit[byte])
        )
        name = self._layout.names[buffer]
        verb = "overwrote" if certain else "may have overwritten"
        witness = f"{reader} reads byte {byte} of {name}, written by {writer}; {culprit} {verb} it"
        self._report(2, buffer, self._owner_at(buffer, byte), witness, certain)

    def _owner_at(self, buffer: Buffer, byte: int) -> Buffer:
        at = self._layout.offsets[buffer] + byte
        for partner in self._layout.partners[buffer]:
            begin = self._layout.offsets[partner]
            if begin <= at < begin + self._layout.sizes[partner]:
                return partner
        return buffer

    def _report_race(
        self,
        rule: int,
        buffer: Buffer,
        partner: Buffer,
        event: int,
        other: int | None,
        certain: bool,
    ) -> None:
        names, events = self._layout.names, self._events
        against = describe(events, other) if other is not None else "a TMA load"
        why = "is not waited for before" if rule == 5 else "is not ordered before"
        self._report(
            rule,
            buffer,
            partner,
            f"{against} on {names[partner]} {why} {describe(events, event)} on {names[buffer]}, "
            "which shares its bytes",
            certain,
        )

    def _report(self, rule: int, one: Buffer, two: Buffer, witness: str, certain: bool) -> None:
        names = (self._layout.names[one], self._layout.names[two])
        key = (rule, frozenset(names))
        certain = certain and not self._forked  # data may never take that way
        known = self.findings.get(key)
        if known is None or (certain and not known.certain):
            self.findings[key] = Finding(Violation(rule, names, witness), certain)


def _frozen(expr: Expr, threads: Threads) -> Threads:
    """The threads with what `expr` loads as it is now, for when it is asked again later."""
    loaded = {
        id(node): threads.load(node, threads) for node in walk(expr) if isinstance(node, Load)
    }

    def load(node: Load, asking: Threads) -> Value:
        value = loaded.get(id(node))
        if isinstance(value, np.ndarray):
            return np.repeat(value, asking.count // len(value))
        return value

    return Threads(threads.ids, threads.values, load)


def _kinds(access: Access) -> tuple[Access, ...]:
    return (Access.READ, Access.WRITE) if access is Access.READ_WRITE else (access,)


def _is_barrier(expr: Expr) -> bool:
    return isinstance(expr, Load) and "barrier" in expr.buffer.scope


def _by_byte(each: Bytes, ids: np.ndarray) -> tuple[Bytes, np.ndarray]:
    """Each byte once, with the only thread that accesses it, or -1 for several."""
    order = np.lexsort((ids, each))
    each, ids = each[order], ids[order]
    first = np.ones(len(each), dtype=bool)
    first[1:] = each[1:] != each[:-1]
    starts = np.flatnonzero(first)
    lowest = np.minimum.reduceat(ids, starts)
    highest = np.maximum.reduceat(ids, starts)
    return each[starts], np.where(lowest == highest, lowest, -1)


def _different_threads(
    one: Bytes, one_threads: np.ndarray, two: Bytes, two_threads: np.ndarray
) -> bool:
    """Whether some byte of both is accessed by other threads in the one than in the other."""
    common, left, right = np.intersect1d(one, two, assume_unique=True, return_indices=True)
    if not len(common):
        return False
    a, b = one_threads[left], two_threads[right]
    return bool(((a != b) | (a < 0)).any())
