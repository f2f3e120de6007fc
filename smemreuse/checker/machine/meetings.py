"""Barriers of threads: which threads meet, and what that orders (rules 6 and 12)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

import numpy as np

from smemreuse.checker.errors import Misused, Uncovered
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.arrivals import Came, Mismatch, MismatchKind, Resource
from smemreuse.checker.machine.contended import ContendedUse
from smemreuse.checker.machine.events import Findings
from smemreuse.checker.machine.mbarriers import LastMeeting
from smemreuse.checker.machine.order import NOTHING
from smemreuse.checker.machine.state import State
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.vectors import ALL_LANES
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import Stmt
from smemreuse.ir.source import at_line
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import counted

_OF_ALL: Mapping[Group, Mapping[Resource, int]] = {
    Group.CLUSTER: {Group.CLUSTER: 1},
    # Both compilers have all threads of a block meet twice at its barrier, and one wait in between.
    Group.GRID: {Group.GRID: 1, 0: 2},
}
"""The barriers that all threads come to, and how often each time."""

BARRIERS_OF_A_BLOCK = range(16)
"""The numbers of the barriers that PTX has for each block."""


class BarrierMeetings:
    """What barriers of threads do to the state."""

    def __init__(self, state: State, values: Values, findings: Findings, contended: Set[Stmt]):
        """`contended`: where threads come to a named barrier, and others may be there at once."""
        self._contended = contended
        self._vectors = values.vectors
        self._state = state
        self._values = values
        self._findings = findings

    def barrier(self, threads: Threads, stmt: Stmt) -> None:
        """These threads meet, by a barrier of their own that a later pass puts in at a
        statement; what a warp's other threads do is not ordered by that."""
        full = self._vectors.full_warps(threads.ids)
        if len(full) < len(self._vectors.warps(threads.ids)):
            # Those of the others meet too, and are not followed.
            self._findings.fork(UndecidedKind.LANES, stmt)
        self._meet(full)

    def _meet(self, warps: np.ndarray) -> None:
        self._state.order.barrier(warps)
        self._state.proxies.fences.barrier(warps)

    def assume_barrier(self, threads: Threads, *, optimistic: bool = False) -> None:
        """A later pass may insert a barrier of these threads here; for `optimistic` see
        `check_plan`."""
        self._state.order.assume_barrier(
            self._vectors.full_warps(threads.ids), optimistic=optimistic
        )

    def meet(self, call: Call, meeting: Meeting, stmt: Stmt, agent: Agent) -> Came:
        """Threads come to a barrier: those meet of which that is known (rule 12). Raises
        `Uncovered`."""
        threads, group = agent.threads, meeting.group
        if group is Group.NAMED and not (meeting.arrives and meeting.waits):
            raise Uncovered(f"`{call.op}`{at_line(stmt.line)} is not followed")
        if group is Group.NOBODY:
            return Came()
        if group is Group.WARP:
            return Came((group,), self._meet_in_warps(call, meeting, stmt, agent))
        if group in _OF_ALL:
            return self._come(_OF_ALL[group], meeting, agent)
        name = self._name(call, meeting, threads)
        if not isinstance(name, int):
            raise Uncovered("the number of a named barrier is not known")
        if name not in BARRIERS_OF_A_BLOCK:
            raise Misused(f"a block has no barrier {name}")
        expected = self._expected(call, meeting, threads)
        if expected not in (threads.count, len(self._vectors.everyone)):
            raise Uncovered("a named barrier is shared by several arms")
        shared = self._also_used(name, stmt, expected, agent)
        if shared is not None:
            return Came((), shared, named=name)
        if expected == len(self._vectors.everyone):
            return self._come({name: 1}, meeting, agent)
        parted = self._parted(name, threads.ids)
        if parted is not None:
            return Came((), parted)
        self._meet_by_name(name, stmt, expected, agent)
        return Came(named=name, contended=stmt in self._contended)

    # Barriers of all threads ---------------------------------------------------------------------

    def _come(self, barriers: Mapping[Resource, int], meeting: Meeting, agent: Agent) -> Came:
        """Threads arrive at barriers of all threads, wait there, or both, so often at each.

        Those meet that have come equally often; with the others they meet another time.
        """
        pairings, ids = self._state.pairings, agent.threads.ids
        both = meeting.arrives and meeting.waits and not agent.partly
        if both and len(ids) == len(self._vectors.everyone):
            if all(map(pairings.is_even, barriers)):
                self._meet(self._vectors.full_warps(ids))
                return Came(tuple(barriers))
        mismatch = self._mismatch(barriers, meeting, agent)
        if mismatch is None or mismatch.kind is MismatchKind.MISSING:
            parts = self._alike(barriers, ids)
            # Others may come elsewhere, and are met as well.
            self._findings.loose |= len(parts[0]) < len(self._vectors.everyone)
            for part in parts:
                cycle = self._pass(barriers, meeting, part)
                mismatch = mismatch or cycle
        else:
            for one in barriers:
                pairings.forget(one)
        return Came(tuple(barriers), mismatch)

    def _mismatch(
        self, barriers: Mapping[Resource, int], meeting: Meeting, agent: Agent
    ) -> Mismatch | None:
        """Why threads may pass barriers without the others."""
        ids, first = agent.threads.ids, next(iter(barriers))
        found = self._parted(first, ids)
        if found is not None:
            return found
        for one in barriers:
            arrivals = self._state.pairings[one]
            if agent.partly or arrivals is None:
                return Mismatch(MismatchKind.OPEN, one)
            arrived = arrivals.arrived[ids]
            waiting = arrived > arrivals.passed[ids]
            if meeting.comes and waiting.any():
                return Mismatch(MismatchKind.ARRIVED_TWICE, one, ids[waiting], certain=True)
            if not meeting.comes and not waiting.all():
                return Mismatch(MismatchKind.NOT_ARRIVED, one, ids[~waiting], certain=True)
            behind, ahead = arrived < arrived.max(), int(ids[arrived.argmax()])
            if behind.any():
                # The grid's is passed by whoever meets the block's others in it.
                certain = one is not Group.GRID
                found = found or Mismatch(MismatchKind.MISSING, one, ids[behind], ahead)
                found = replace(found, certain=found.certain or certain)
        return found

    def _parted(self, resource: Resource, ids: np.ndarray) -> Mismatch | None:
        """A part of a warp comes: the hardware counts the whole warp, PTX leaves it undefined."""
        if len(self._vectors.full_warps(ids)) == len(self._vectors.warps(ids)):
            return None
        _, missing, _ = self._vectors.lanes(ids, ALL_LANES)
        return Mismatch(MismatchKind.PART_OF_A_WARP, resource, missing, certain=True)

    def _alike(self, barriers: Mapping[Resource, int], ids: np.ndarray) -> list[np.ndarray]:
        """The threads `ids` that have come equally often to all of these barriers."""
        parts = [ids]
        for one in barriers:
            arrivals = self._state.pairings[one]
            assert arrivals is not None
            parts = [alike for part in parts for alike in arrivals.alike(part)]
        return parts

    def _pass(
        self, barriers: Mapping[Resource, int], meeting: Meeting, ids: np.ndarray
    ) -> Mismatch | None:
        """Threads that have come equally often hand over what they know, or learn what those hand
        over who arrived the same time.

        Returns the mismatch of threads that nobody can have waited for: they come after something
        that others do behind the barrier. Certain unless some are ahead at the grid's barrier,
        where one thread may stand for its block and the others meet it at the block's.
        """
        pairings, order = self._state.pairings, self._state.order
        found, warps = None, self._vectors.warps(ids)
        fences = self._state.proxies.fences
        full = self._vectors.full_warps(ids)
        released = None
        if meeting.arrives:
            released = order.release(full).with_fences(fences.release(full))
        for one, times in barriers.items():
            arrivals = pairings[one]
            assert arrivals is not None
            so_far = arrivals.arrived if meeting.comes else arrivals.passed
            phase = int(so_far[ids[0]])
            gone = arrivals.gone.get(phase, NOTHING)
            if meeting.comes and found is None and order.known_to_some(warps).knows_any_of(gone):
                certain = Group.GRID not in barriers and pairings.is_even(Group.GRID)
                found = Mismatch(MismatchKind.AFTER_OTHERS, one, ids, certain=certain)
            # One thread comes to the grid's barrier for its block: what orders a block's threads is
            # that they meet at its own barrier.
            learned = None if one is Group.GRID else arrivals.handed.get(phase)
            handed = {} if released is None else {phase: released}
            if released is not None:
                learned = released if learned is None else learned | released
            arrive, wait = times * meeting.comes, times * meeting.waits
            if wait:
                order.step(warps)
            reached = order.progress(warps) if wait else NOTHING
            pairings.set(one, arrivals.coming(ids, handed, arrive=arrive, wait=wait, gone=reached))
            if meeting.waits and learned is not None:
                order.acquire(full, learned)
                fences.acquire(full, learned.fenced)
        return found

    # Barriers of some threads --------------------------------------------------------------------

    def _name(self, call: Call, meeting: Meeting, threads: Threads) -> Value:
        """The number of a named barrier; 0, the block's, where the operation names none."""
        if meeting.number is not None:
            return meeting.number
        at = meeting.identity
        if at is None or at >= len(call.args):
            return 0
        return self._vectors.uniform(self._values(call.args[at], threads))

    def _expected(self, call: Call, meeting: Meeting, threads: Threads) -> int:
        """How many threads a barrier of the block takes. Raises `Uncovered` if that is open."""
        count = counted(call, meeting) if meeting.group is Group.NAMED else None
        if count is None:
            return len(self._vectors.everyone)
        expected = self._vectors.uniform(self._values(count, threads))
        if not isinstance(expected, int):
            raise Uncovered("how many threads a named barrier takes is not known")
        if expected % 32:
            raise Misused("a named barrier takes whole warps, and so a multiple of 32 threads")
        return expected

    def _meet_by_name(self, name: int, stmt: Stmt, expected: int, agent: Agent) -> None:
        """A barrier is complete when as many threads have come, whichever they are. They are these
        where these were the last to use it, or know that the last use is over. Nothing is ordered
        where others may be there at once."""
        threads, order, barriers = agent.threads, self._state.order, self._state.barriers
        if agent.partly:
            raise Uncovered("data decide which threads come to a named barrier")
        if not self._state.pairings.is_even(name):
            raise Misused(f"other threads may be at barrier {name} at once")
        full, last = self._vectors.full_warps(threads.ids), barriers.last_meeting(name)
        if stmt in self._contended:
            uses = self._open_uses(name, full)
            barriers.contended[name] = (*uses, ContendedUse.now(full, expected, order))
            return
        self._meet(full)
        if len(full) == 1:
            barriers.meetings[name] = last.by(int(full[0]), int(order.epochs[full[0]]))
            return
        number = last.number + 1
        order.note_phase(full, name, number)
        barriers.meetings[name] = LastMeeting(
            number, threads.ids.tobytes(), order.epochs.copy(), expected, stmt
        )

    def _open_uses(self, name: int, warps: np.ndarray) -> list[ContendedUse]:
        """The contended uses of a barrier that are not over for all of these warps."""
        uses = self._state.barriers.contended.get(name, ())
        return [one for one in uses if not one.is_over(warps, self._state.order)]

    def _also_used(self, name: int, stmt: Stmt, expected: int, agent: Agent) -> Mismatch | None:
        """Why others may be at a named barrier at once: these threads were not the last to use it
        as a group of their own, and do not know that the last use is over.

        Certain if nothing that may be put in orders the arrivals there before these, nor these
        before them.
        """
        last, ids = self._state.barriers.last_meeting(name), agent.threads.ids
        order, warps = self._state.order, self._vectors.warps(ids)
        if len(warps) > 1 and last.alone:
            found = self._others_alone(name, last.alone, agent)
            if found is not None:
                return found
        still_open = self._open_uses(name, warps)
        if still_open:
            in_part = self._state.barriers.waited_in_part.intersection(warps.tolist())
            if in_part or not all(one.lets_pass(warps, expected, order) for one in still_open):
                return Mismatch(MismatchKind.SHARED, name)
            if stmt not in self._contended:
                return Mismatch(MismatchKind.SHARED, name, uses=frozenset({stmt}))
        if last.group == ids.tobytes() or not last.number:
            return None
        if order.known_to_all(warps).phase(name) >= last.number:
            return None
        if last.group is None or last.epochs is None:
            return Mismatch(MismatchKind.SHARED, name)
        others = np.frombuffer(last.group, ids.dtype)
        there = np.unique(others // 32)
        ordered = order.clock[np.ix_(warps, there)] >= last.epochs[there]
        certain = self._is_sure(agent, others) and not ordered.all()
        uses: frozenset[Stmt] = frozenset()
        if last.stmt is not None and last.expected == expected:
            uses = frozenset((stmt, last.stmt))
        return Mismatch(MismatchKind.SHARED, name, others, certain=certain, uses=uses)

    def _others_alone(self, name: int, alone: Mapping[int, int], agent: Agent) -> Mismatch | None:
        """Why warps that each used a named barrier by themselves may be at it together with these:
        nothing orders that before all of these."""
        order, warps = self._state.order, self._vectors.warps(agent.threads.ids)
        each, epochs = np.array(list(alone)), np.array(list(alone.values()))
        late, surely = (
            (clock[np.ix_(warps, each)] < epochs).any(axis=0)
            for clock in (order.inserted, order.clock)
        )
        if not late.any():
            return None
        which = each[surely if surely.any() else late]
        everyone = self._vectors.everyone
        others = everyone[np.isin(everyone // 32, which)]
        certain = self._is_sure(agent, others) and bool(surely.any())
        return Mismatch(MismatchKind.SHARED, name, others, certain=certain)

    def _is_sure(self, agent: Agent, others: np.ndarray) -> bool:
        """Whether all these threads come, and nothing orders it before what others have done."""
        return not agent.partly and not self._state.pairings.may_await(agent.threads.ids, others)

    # Barriers of a warp --------------------------------------------------------------------------

    def _meet_in_warps(
        self, call: Call, meeting: Meeting, stmt: Stmt, agent: Agent
    ) -> Mismatch | None:
        """The lanes of each warp meet; those of a part of it alone are not ordered."""
        pairings, ids = self._state.pairings, agent.threads.ids
        arrivals, mask = pairings[Group.WARP], self._mask(call, meeting, agent.threads)
        if agent.partly or arrivals is None or not isinstance(mask, int):
            pairings.forget(Group.WARP)
            return Mismatch(MismatchKind.OPEN, Group.WARP)
        whole, missing, outside = self._vectors.lanes(ids, mask)
        behind = [missing]
        for index, warp in enumerate(whole.tolist()):
            here = arrivals.arrived[32 * warp : 32 * warp + 32]
            if mask == ALL_LANES and (here == here[0]).all():
                self._meet(whole[index : index + 1])
            elif mask == ALL_LANES:
                behind.append(32 * warp + np.flatnonzero(here < here.max()))
        alone = ids[~np.isin(ids // 32, whole)]
        if len(alone):
            pairings.set(Group.WARP, arrivals.coming(alone, {}, arrive=1, wait=1))
        if len(outside):
            return Mismatch(MismatchKind.NOT_NAMED, Group.WARP, outside, certain=True)
        late = np.concatenate(behind)
        if len(late):
            return Mismatch(MismatchKind.MISSING, Group.WARP, late)
        if mask != ALL_LANES:  # it orders some lanes, and none are followed
            self._findings.fork(UndecidedKind.LANES, stmt)
        return None

    def _mask(self, call: Call, meeting: Meeting, threads: Threads) -> Value:
        """The lanes that a barrier of a warp is for, a bit each."""
        if meeting.mask is None or meeting.mask >= len(call.args):
            return ALL_LANES
        mask = self._vectors.uniform(self._values(call.args[meeting.mask], threads))
        return mask % 2**32 if isinstance(mask, int) else mask

    def fence(self, agent: Agent, *, assumed: bool = False) -> None:
        """A proxy fence: later accesses by the async proxy happen after earlier generic ones
        (rule 11)."""
        for observer in self._findings.observers:
            observer.publishes(agent, self._state.order, heard=True)
        if not agent.partly:
            ids, order = agent.threads.ids, self._state.order
            full = self._vectors.full_warps(ids)
            for observer in self._findings.observers:
                observer.fences(agent, full)
            self._state.proxies.fences.fence(ids, full, order, assumed=assumed)
