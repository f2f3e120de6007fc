"""The state of one execution: what threads have of their own, and what they share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Buffer, element_bits
from tests.soundness.model.barriers import Mbarrier, Meeting, Wait, WarpMeeting, over
from tests.soundness.model.expressions import BUFFER, Element, Fn
from tests.soundness.model.flights import Flights, Kind
from tests.soundness.model.memory import Layout, Memory, Seen, for_each
from tests.soundness.model.modes import IllDefined, Mode, NotModelled
from tests.soundness.model.order import Clock, Order
from tests.soundness.model.program import Ids, Program, by_warp
from tests.soundness.model.record import Record


@dataclass(eq=False)
class State:
    """What threads share beside shared memory."""

    meetings: dict[tuple[int, int], Meeting] = field(default_factory=dict)
    warps: dict[tuple[int, int, bool], WarpMeeting] = field(default_factory=dict)
    mbarriers: dict[tuple[int, int], Mbarrier] = field(default_factory=dict)


class Machine:
    """State of a program's execution in a mode, under all rows of a layout."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        inputs: np.ndarray,
        mode: Mode,
        record: Record | None = None,
    ) -> None:
        threads = program.shape.all_threads
        self.program = program
        self.layout = layout
        self.mode = mode
        self.record = record
        self.inputs = inputs
        self.random = Random(mode.seed)
        self.seen = Seen(np.zeros(layout.count, dtype=bool), np.zeros(threads, dtype=np.uint64))
        self.order = Order(threads, layout.width, everywhere=mode.assumed) if mode.races else None
        self.memory = Memory(
            layout, self.seen, self.order, fences=mode.fences, assumed=mode.assumed
        )
        self.flights = Flights(threads, mode, self.random)
        self.variables: dict[Var, np.ndarray] = {}
        self.state = State()
        self.alive = np.ones(threads, dtype=bool)
        self.occurrences = np.zeros(threads, dtype=np.int64)
        self.cluster_rounds = np.full(threads, -1, dtype=np.int64)
        self.phases = np.zeros(threads, dtype=np.uint64)
        """One number for each thread of how many phases were over where its waits were."""
        self._cells: dict[Buffer, np.ndarray] = {}
        self.steps = 0

    # State of threads ---------------------------------------------------------------------------

    def cells(self, buffer: Buffer) -> np.ndarray:
        """Rows, threads, elements of a thread's own buffer."""
        if buffer not in self._cells:
            size = (buffer.size or 0) * 8 // element_bits(buffer.dtype)
            shape = (self.layout.count, len(self.alive), size)
            self._cells[buffer] = np.zeros(shape, dtype=np.int64)
        return self._cells[buffer]

    def bind(self, var: Var, ids: Ids, value: np.ndarray) -> None:
        held = self.variables.get(var)
        if held is None or held.shape[0] < value.shape[0] or held.shape[2] < value.shape[2]:
            rows, lanes = value.shape[0], value.shape[2]
            known = np.zeros((rows, len(self.alive), lanes), dtype=np.int64)
            if held is not None:
                known[:] = held
            self.variables[var] = held = known
        held[:, ids] = value

    def truth(self, condition: Fn, ids: Ids) -> np.ndarray:
        """For which threads it holds."""
        value = self.seen.control(condition(self, ids))
        found = for_each(value[:, 0] != 0, len(ids))
        if self.record is not None:
            self.record.ways[condition].append((ids, found))
        return found

    def number(self, operand: Fn, ids: Ids) -> int:
        """A number that is the same for all threads."""
        found = self.seen.control(operand(self, ids))
        first = int(found[0, 0])
        if found.size > 1 and (found != first).any():
            raise NotModelled("threads that ask for different things")
        return first

    def in_parts(self, ids: Ids) -> list[Ids]:
        """The threads of one statement: all at once, or one half after the other."""
        if not self.mode.assumed:
            return [ids if self.steps % 3 else ids[::-1]]
        if self.mode.halves is None:
            return [ids]
        upper = (ids >> self.steps % 6) & 1 == self.mode.halves
        return [part for part in (ids[upper], ids[~upper]) if len(part)]

    # Shared memory ------------------------------------------------------------------------------

    def _at(self, element: Element, ids: Ids) -> np.ndarray:
        known = self.layout.known.get(element)
        if known is not None:
            return known[:, ids]
        if element.is_static:
            every = np.arange(len(self.alive))
            offsets = np.broadcast_to(
                element.offset(self, every)[0],
                (len(every), element.offset(self, every).shape[2]),
            )
            fits = (offsets >= 0) & (offsets + element.size <= self.layout.sizes[element.number])
            if fits.all():
                assert element.number is not None
                at = self.layout.addresses(element.number, offsets, element.size, self.layout.base)
                self.layout.known[element] = at
                return at[:, ids]
        offsets = self.seen.control(element.offset(self, ids))
        return self.bytes_at(offsets, element.size, ids, element.number)

    def bytes_at(
        self,
        addresses: np.ndarray,
        size: int,
        ids: Ids,
        number: int | None = None,
        base: np.ndarray | None = None,
    ) -> np.ndarray:
        """Rows, threads, bytes: of `size` bytes at addresses (threads or 1, lanes), or at offsets
        in the buffer of a number."""
        offsets = for_each(addresses, len(ids))
        which: int | np.ndarray | None = number
        if which is None:
            which, offsets = offsets // BUFFER - 1, offsets % BUFFER
            if (which < 0).any() or (which >= len(self.layout.sizes)).any():
                raise NotModelled("a pointer that points nowhere")
        return self.layout.addresses(
            which, offsets, size, self.layout.base[ids] if base is None else base
        )

    def load(self, element: Element, ids: Ids) -> np.ndarray:
        raw = self.memory.read(self._at(element, ids), ids)
        return raw.view(element.dtype).astype(np.int64)

    def store(self, element: Element, ids: Ids, value: np.ndarray) -> None:
        at = self._at(element, ids)
        lanes = at.shape[2] // element.size
        data = np.empty((len(at), len(ids), lanes), dtype=element.dtype)
        data[:] = value
        self.memory.write(at, data.view(np.uint8), ids)

    def together(self, ids: Ids, act: Callable[[Ids], None]) -> Callable[[], bool] | None:
        """Done by whole warps: when the last thread of one that is there has come."""
        if self.mode.assumed:
            for warp in by_warp(ids):
                act(warp)
            return None
        meeting = self.warp_meeting(ids, collective=True)
        come = meeting.arrive(ids, self.alive, self.release(ids))
        if not come.over:
            return self.passing([(lambda: over(come), ids)])
        there = meeting.there(self.alive)
        if self.order is not None:
            self.order.acquire(there, come.clock)
        act(there)
        return None

    # What is handed on --------------------------------------------------------------------------

    def release(self, ids: Ids) -> Clock | None:
        return None if self.order is None else self.order.release(ids)

    def passing(self, waits: Sequence[tuple[Wait, Ids]]) -> Callable[[], bool]:
        """Tells when all threads go on, and hands them then what they have waited for."""

        def passed() -> bool:
            found = [wait() for wait, _ in waits]
            rounds = [one for one in found if one is not None]
            if len(rounds) < len(found):
                return False
            if self.order is not None:
                for awaited, (_, ids) in zip(rounds, waits, strict=True):
                    self.order.acquire(ids, awaited.clock)
            return True

        return passed

    # Barriers -----------------------------------------------------------------------------------

    def meeting(self, number: int, ids: Ids) -> Meeting:
        """The named barrier of the block that these threads are of; -1 is the cluster's."""
        threads = self.program.shape.threads
        block = -1 if number == -1 else int(ids[0]) // threads
        key = (block, number)
        if key not in self.state.meetings:
            first = max(block, 0) * threads
            self.state.meetings[key] = Meeting(first, self._alive_in(block))
        return self.state.meetings[key]

    def warp_meeting(
        self, ids: Ids, mask: int = 0xFFFFFFFF, *, collective: bool = False
    ) -> WarpMeeting:
        warp = int(ids.min()) // 32
        key = (warp, mask, collective)
        if key not in self.state.warps:
            lanes = np.arange(warp * 32, min(warp * 32 + 32, len(self.alive)))
            self.state.warps[key] = WarpMeeting(lanes, mask)
        return self.state.warps[key]

    def mbarriers(
        self, addresses: np.ndarray, ids: Ids, blocks: np.ndarray | None = None
    ) -> Iterator[tuple[tuple[int, int], Ids]]:
        """The mbarriers at the addresses (threads or 1), and which threads name each."""
        where = for_each(addresses, len(ids))
        block = ids // self.program.shape.threads if blocks is None else blocks
        found: dict[tuple[int, int], list[int]] = {}
        for key, one in zip(zip(block.tolist(), where.tolist(), strict=True), ids, strict=True):
            found.setdefault(key, []).append(one)
        for key, threads in found.items():
            yield key, np.array(threads)

    def mbarrier(self, key: tuple[int, int], ids: Ids) -> Mbarrier:
        """That which threads use."""
        if key not in self.state.mbarriers:
            raise IllDefined("an mbarrier that is not initialized")
        if self.order is not None:
            self.order.uses(key, ids)
        return self.state.mbarriers[key]

    def initialize(self, key: tuple[int, int], ids: Ids, count: int) -> None:
        """In the first phase, whatever was before."""
        if self.order is not None:
            self.order.initializes(key, ids)
        if key in self.state.mbarriers:
            self.state.mbarriers[key].initialize(count)
        else:
            self.state.mbarriers[key] = Mbarrier(count)

    @contextlib.contextmanager
    def reported_by(self, key: tuple[int, int]) -> Iterator[None]:
        """Copies that land here are over for those who ask this mbarrier."""
        if self.order is not None:
            self.order.engine = key
        yield
        if self.order is not None:
            self.order.engine = None

    def read_later(self, at: np.ndarray, who: np.ndarray, kind: Kind, ids: Ids) -> None:
        """The async proxy reads these bytes now or at any time before the wait for it."""
        self.memory.begins(at, ids)

        def land(rows: np.ndarray) -> None:
            self.seen.sometime(who[rows], self.memory.read_async(at[:, rows], ids[rows]))

        self.flights.start(kind, ids, self.steps, land)

    def leave(self, ids: Ids) -> None:
        """Threads have returned."""
        if self.mode.literal:
            return
        self.alive[ids] = False
        for (block, _), meeting in self.state.meetings.items():
            meeting.left(self._alive_in(block))

    def _alive_in(self, block: int) -> np.ndarray:
        """Of the threads of a block, or of the cluster at -1, who has not returned."""
        threads = self.program.shape.threads
        return self.alive if block == -1 else self.alive[block * threads : (block + 1) * threads]
