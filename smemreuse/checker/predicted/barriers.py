"""The barriers that `ThreadSync` is to insert after the merge, as the trace assumes them (rule 6).

Where the pass surely takes two statements to collide, all threads that execute both meet somewhere
between them, before a statement that accesses shared memory. So what comes before the first happens
before what comes after the second. Nothing else is assumed to be ordered. That a barrier may be
before any statement, where there is a reason for it, only makes a race uncertain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import islice

import numpy as np

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.state import State
from smemreuse.checker.machine.synchronization import Synchronization
from smemreuse.checker.machine.timestamps import Arm, Timestamp
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.values.evaluation import Values
from smemreuse.ir.kernel import Block, For, If, Stmt, While
from smemreuse.semantics.effects import Effect, Group
from smemreuse.versions.thread_sync.participants import Participants

MAX_COMPARED = 64
"""Earlier statements with which one is compared, the latest first."""


class PredictedBarriers:
    """Applies the predicted barriers to a trace; does nothing if the kernel has all its
    barriers."""

    def __init__(
        self,
        prediction: Prediction | None,
        state: State,
        values: Values,
        synchronization: Synchronization,
    ):
        self._prediction = prediction
        self._vectors = values.vectors
        self._state = state
        self._synchronization = synchronization

    # Statements ----------------------------------------------------------------------------------

    def before(self, agent: Agent, stmt: Stmt | None = None) -> None:
        """All threads that are known to be here may have met since the last candidate, or before
        `stmt`, if that is one."""
        if self._prediction is None:
            return
        if stmt is not None and self._prediction.candidates.may_precede(stmt):
            self._settle(agent)
        if not agent.partly:
            self._synchronization.assume_barrier(
                agent.threads, optimistic=self._prediction.optimistic
            )

    def reaches(self, stmt: Stmt, agent: Agent) -> None:
        """Orders a statement after the earlier ones that collide with it, and timestamps it."""
        if self._prediction is not None and agent.threads.count and self._prediction.sees(stmt):
            if not agent.partly:
                self._require(stmt, agent)
            agent.timestamps.note(stmt, self._stamp(agent))

    def passes(self, stmt: Stmt, agent: Agent) -> None:
        """Skips a statement outside the slice, and with it any barriers in it."""
        candidates = None if self._prediction is None else self._prediction.candidates
        if candidates is not None and candidates.may_be_at(stmt):
            self._settle(agent)
        self.reaches(stmt, agent)
        if candidates is not None and candidates.may_be_skipped(stmt):
            agent.timestamps.keep(())

    def enters(self, stmt: Stmt, agent: Agent) -> None:
        """A barrier may precede a branch or a loop."""
        if self._prediction is not None and self._prediction.candidates.may_precede(stmt):
            self._settle(agent)

    def after(self, stmt: Stmt, agent: Agent) -> None:
        """Some statements have a barrier directly after them in any case."""
        prediction = self._prediction
        if prediction is None or agent.partly:
            return
        if prediction.candidates.is_followed(stmt):
            if self._orders(stmt, stmt):
                self._synchronization.barrier(agent.threads, stmt)
            self._note_branch(stmt, stmt, agent)

    def meets(self, effect: Effect, agent: Agent) -> None:
        """Raises `Uncovered` where some threads wait at a barrier of the cluster or grid, and
        others may have to pass one of the block before they come to it."""
        prediction, meeting = self._prediction, effect.meeting
        if prediction is None or meeting is None or not meeting.waits:
            return
        is_part = agent.threads.count < len(self._vectors.everyone)
        if (
            meeting.group in (Group.CLUSTER, Group.GRID)
            and is_part
            and prediction.candidates.are_added
        ):
            raise Uncovered(
                "some threads wait for others at a barrier of more than the block, and a later "
                "pass may put one of the block before these"
            )

    # Branches ------------------------------------------------------------------------------------

    def parts(self, branches: Sequence[If], stmt: Stmt) -> bool | None:
        """Whether there is a barrier between the last of some branches and a statement behind it,
        so that nobody begins with that before all are through with these; None if that is open."""
        if self._prediction is None or not self._prediction.may_part(stmt):
            return False
        return True if self._prediction.surely_parts(branches[-1], stmt) else None

    def before_branch(self, branch: If, agent: Agent) -> None:
        """What collides with the first statements of a branch has a barrier before the branch,
        whether they are executed now or not."""
        if self._prediction is not None and not agent.partly:
            for stmt in self._prediction.candidates.heads(branch):
                self._require(stmt, agent)

    def after_branch(self, branch: If, agent: Agent) -> None:
        """What collides with the last statements of a branch has a barrier after the branch,
        whether they have been executed now or not."""
        if self._prediction is not None and not agent.partly:
            for stmt in self._prediction.candidates.ends(branch):
                agent.timestamps.note(stmt, self._stamp(agent))

    def split(
        self,
        agent: Agent,
        arms: Iterable[tuple[Agent, Sequence[Block]]],
        branches: Iterable[If],
    ) -> None:
        """Some of an agent's threads run blocks on their own, with timestamps of their own."""
        prediction = self._prediction
        if prediction is None:
            return
        by_thread = all(prediction.is_of_thread(one.condition) for one in branches)
        epochs, fork = self._state.order.epochs, object()
        for arm, blocks in arms:
            ids = arm.threads.ids
            warps = self._vectors.warps(ids)
            is_whole = len(self._vectors.full_warps(ids)) == len(warps)
            is_whole &= prediction.view.branch_barriers.has_rows(ids)
            may_meet = any(map(prediction.candidates.may_be_in, blocks))
            arm.arms = (*agent.arms, Arm(warps, by_thread and is_whole, may_meet, fork))
            arm.outside = self._epochs(agent, epochs)
            arm.timestamps = agent.timestamps.copy()
            for branch in branches:
                if branch.orelse and any(block is branch.orelse for block in blocks):
                    self.skips(arm, branch.then)  # where the pass has been before

    def join(
        self,
        agent: Agent,
        arms: Sequence[tuple[Agent, Sequence[Block]]],
        branches: Sequence[If],
    ) -> None:
        """The threads are together again. A barrier that the pass relies on may have been one of
        the threads of one arm alone."""
        prediction = self._prediction
        if prediction is None:
            return
        blocks = [block for one in branches for block in (one.then, one.orelse)]
        candidates = [
            (block, _meeting_in(block, arms))
            for block in blocks
            if prediction.candidates.may_be_in(block)
        ]
        before = dict(agent.timestamps.last)
        for arm, _ in arms:
            self._settle(arm)
        for _, warps in candidates:
            agent.timestamps.limit(warps)
        for arm, mine in arms:
            last = max(
                (at for at, (block, _) in enumerate(candidates) if block in mine), default=-1
            )
            tails = frozenset[Stmt]().union(*map(prediction.candidates.tail, mine))
            for stmt, stamp in arm.timestamps.last.items():
                if before.get(stmt) is stamp:
                    continue
                for at, (block, warps) in enumerate(candidates):
                    if (block in mine and stmt not in tails) or at > last:
                        stamp = stamp.limited(warps)
                if stamp.is_of_anyone:
                    agent.timestamps.note(stmt, stamp)

    def skips(self, agent: Agent, *blocks: Block) -> None:
        """Threads leave out blocks, or may. The pass may rely on a barrier in these for all but the
        statements after it."""
        if self._prediction is None:
            return
        candidates = self._prediction.candidates
        kept: frozenset[Stmt] | None = None
        for block in blocks:
            if candidates.may_be_in(block):
                kept = candidates.tail(block)
            elif kept is not None:
                kept |= candidates.tail(block)
        if kept is not None:
            agent.timestamps.keep(kept)

    def skips_loop(self, agent: Agent, loop: For | While) -> None:
        """As `skips`, for a loop that has no iteration, or may have none."""
        if self._prediction is not None and self._prediction.candidates.may_be_inside(loop):
            agent.timestamps.keep(self._prediction.candidates.tail(loop.body))

    @contextmanager
    def in_unknown_part(self, agent: Agent, divergent: bool) -> Iterator[None]:
        """Within, an unknown subset of the threads runs on its own, if `divergent`."""
        arms, outside = agent.arms, agent.outside
        if self._prediction is not None and divergent:
            warps = self._vectors.warps(agent.threads.ids)
            agent.outside = self._epochs(agent, self._state.order.epochs)
            agent.arms = (*arms, Arm(warps, meets=False, may_meet=True))
        try:
            with agent.in_part(divergent):
                yield
        finally:
            agent.arms, agent.outside = arms, outside

    # Timestamps ----------------------------------------------------------------------------------

    def _epochs(self, agent: Agent, epochs: np.ndarray) -> np.ndarray:
        """The epochs of an agent's warps now, and of the others when these were split off."""
        if agent.outside is None:
            return epochs.copy()
        inside = self._vectors.warps(agent.threads.ids)
        found = agent.outside.copy()
        found[inside] = epochs[inside]
        return found

    def _stamp(self, agent: Agent) -> Timestamp:
        order = self._state.order
        warps = self._vectors.warps(agent.threads.ids)
        known = order.past_for(warps)
        return Timestamp(self._epochs(agent, order.epochs), known, agent.arms)

    def _settle(self, agent: Agent) -> None:
        """Begins a new epoch, since there may be a barrier here."""
        order, warps = self._state.order, self._vectors.warps(agent.threads.ids)
        if agent.timestamps.latest:
            known = order.past_for(warps)
            agent.timestamps.settle(warps, order.epochs, known)
        order.advance(warps)

    def _require(self, stmt: Stmt, agent: Agent) -> None:
        """Orders a statement after what collides with it, in this round or an earlier one."""
        assert self._prediction is not None
        timestamps = agent.timestamps
        self._meet_latest(stmt, None, timestamps.last, agent)
        for loop in reversed(self._prediction.view.paths.loops(stmt)):
            self._meet_latest(stmt, loop, timestamps.before.get(loop, {}), agent)

    def _meet_latest(
        self, stmt: Stmt, loop: For | None, timestamps: dict[Stmt, Timestamp], agent: Agent
    ) -> None:
        prediction, order = self._prediction, self._state.order
        assert prediction is not None
        warps = self._vectors.warps(agent.threads.ids)
        for earlier in islice(reversed(timestamps), MAX_COMPARED):
            if prediction.known(earlier, stmt, loop) is False:
                continue
            stamp = timestamps[earlier]
            among = _together(stamp, agent)
            which = warps if among is None else self._vectors.common(warps, among)
            if not len(which):
                continue
            if order.is_inserted(which, stamp.epochs, among):
                return
            if prediction.collides(earlier, stmt, loop) and self._orders(earlier, stmt):
                order.insert(which, stamp.epochs, stamp.known, among)
                self._note_branch(earlier, stmt, agent)
                if among is None:
                    return

    def _orders(self, earlier: Stmt, stmt: Stmt) -> bool:
        """Whether those who come to the barrier between two statements meet there: those of a named
        barrier do, those of the block's if all threads have come to it equally often (rule 12)."""
        assert self._prediction is not None
        if self._synchronization.block_barrier_is_open:
            return self._prediction.participants(earlier, stmt) is Participants.BRANCH
        return True

    def _note_branch(self, earlier: Stmt, stmt: Stmt, agent: Agent) -> None:
        """Notes that the barrier between two statements is the block's, and only some come."""
        assert self._prediction is not None
        if agent.threads.count == len(self._vectors.everyone):
            return
        if self._prediction.participants(earlier, stmt) is Participants.ALL_IN_BRANCH:
            self._synchronization.comes_in_part(earlier, stmt, agent)


def _meeting_in(block: Block, arms: Sequence[tuple[Agent, Sequence[Block]]]) -> np.ndarray:
    """The warps that surely meet at a barrier in a block: of the only arm that runs it."""
    running = [arm.arms[-1] for arm, mine in arms if any(one is block for one in mine)]
    if len(running) != 1 or not running[0].meets:
        return np.arange(0)
    return running[0].warps


def _together(stamp: Timestamp, agent: Agent) -> np.ndarray | None:
    """The warps that meet between a timestamp and what an agent does now, None for all: in an arm
    of some threads a barrier may be of these alone."""
    pairs = zip(stamp.arms, agent.arms, strict=False)
    common = [mine for mine, theirs in pairs if mine is theirs]
    limits = [] if stamp.among is None else [stamp.among]
    if common:
        limits.append(common[-1].warps if common[-1].meets else np.arange(0))
    limits += [arm.warps for arm in agent.arms[len(common) :] if arm.may_meet]
    return reduce(np.intersect1d, limits) if limits else None
