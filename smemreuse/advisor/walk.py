"""Walks a kernel as its blocks do, and has what each statement takes counted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from smemreuse.advisor.costs import Costs, OpenLoop
from smemreuse.advisor.grid import Grid
from smemreuse.advisor.points import BlockThreads, Points
from smemreuse.advisor.work import BlockWork, Resource
from smemreuse.facts import facts_of
from smemreuse.ir.expr import Expr
from smemreuse.ir.kernel import (
    Bind,
    Block,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    nested_blocks,
)
from smemreuse.semantics.evaluate import evaluate
from smemreuse.targets.architectures import WARP
from smemreuse.targets.cards import Card


class Walk:
    """One walk over the statements of a kernel, for the blocks `started`, in that order.

    `fresh` gives, for each global access, the fraction of its bytes that no other block of the wave
    reads too, as an earlier walk found. Without it this walk gathers `seen` to compute that.
    """

    def __init__(
        self,
        kernel: Kernel,
        card: Card,
        grid: Grid,
        started: np.ndarray,
        fresh: Mapping[Expr | Stmt, float] | None = None,
    ) -> None:
        active = BlockThreads.of(kernel.body)
        self.work = BlockWork.empty(len(started), -(-active.count // WARP))
        self._costs = Costs(facts_of(kernel), card, active, self.work, fresh)
        self.seen = self._costs.seen
        self._samples_rounds = fresh is not None
        self._block(kernel.body, Points.of_blocks(grid.indices(started), len(started)))

    def _block(self, block: Block, points: Points) -> None:
        for stmt in block:
            if not points.count or not self._costs.active.count:
                return
            points = self._statement(stmt, points)

    def _statement(self, stmt: Stmt, points: Points) -> Points:
        """Counts a statement and what is inside it; returns the points with its variable bound, if
        any.
        """
        if isinstance(stmt, For):
            self._costs.statement(stmt, points)
            self._for(stmt, points)
        elif isinstance(stmt, If):
            self._costs.statement(stmt, points)
            self._if(stmt, points)
        elif isinstance(stmt, While):
            self.work.assumed["a `while` loop runs once"] = None
            self._block(stmt.body, points)
        elif isinstance(stmt, Bind):
            self._costs.statement(stmt, points)
            return points.bind(stmt.var, points.evaluate(stmt.value, self._costs.active.first()))
        else:
            if isinstance(stmt, (Store, Evaluate)):
                self._costs.statement(stmt, points)
            for inner in nested_blocks(stmt):
                self._block(inner, points)
        return points

    def _for(self, loop: For, points: Points) -> None:
        """Counts a loop: sampled rounds of a serial loop, one round times its trip count of any
        other.
        """
        extent, begin, step = (
            points.evaluate(one, self._costs.active.first())
            for one in (loop.extent, loop.begin, loop.step)
        )
        if extent is None or begin is None or step is None:
            self.work.assumed["a loop whose length depends on data runs once"] = None
            extent, begin, step = 1, 0, 1
        steps = np.maximum(np.abs(np.asarray(step)), 1)
        trips = np.broadcast_to(-(-np.asarray(extent) // steps), (points.count,))
        if loop.kind != "serial":
            most = float(trips.max(initial=1))
            inside = points.rounds(loop.var, begin, step, trips, single=True)
            repeated = self._costs.repeated
            self._costs.repeated *= max(most, 1.0)
            self._block(loop.body, inside)
            self._costs.repeated = repeated
            return
        inside = points.rounds(loop.var, begin, step, trips, single=not self._samples_rounds)
        chain, demand = self.work.chain.copy(), {**self.work.demand}
        self._costs.loops.append(OpenLoop())
        self._block(loop.body, inside)
        rounds = points.summed(trips.astype(float), self.work.blocks)
        tensor = self.work.demand[Resource.TENSOR] - demand[Resource.TENSOR]
        self._costs.close(self._costs.loops.pop(), rounds, self.work.chain - chain, tensor)
        if not self._costs.loops:
            self.work.loop_chain += self.work.chain - chain
            for one, before in demand.items():
                self.work.loop_demand[one] += self.work.demand[one] - before

    def _if(self, stmt: If, points: Points) -> None:
        """Loads in a branch of their own do not go out together with those of the next round."""
        repeated, self._costs.repeated = self._costs.repeated, 1.0
        self._branches(stmt, points)
        self._costs.repeated = repeated

    def _branches(self, stmt: If, points: Points) -> None:
        """Counts both arms of a branch, each at the points and for the threads that take it.

        A condition on data counts as true.
        """
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
        active = self._costs.active
        for block, threads, weight in (
            (stmt.then, taking, share),
            (stmt.orelse, ~taking, 1.0 - share if share < 1.0 else 1.0),
        ):
            if block and threads.any():
                self._costs.active = active.where(threads)
                self._block(block, points.scaled(weight))
        self._costs.active = active

    def _taking(self, condition: Expr, points: Points) -> tuple[float, np.ndarray] | None:
        """The mean fraction of threads for which a condition holds, and the mask of those that ever
        take it.

        Only a few sampled points are evaluated. None where the condition is not known.
        """
        masks, active = [], self._costs.active
        for at in {0, points.count // 2, points.count - 1}:
            mask = evaluate(condition, active.at(points, at))
            if mask is None:
                return None
            masks.append(np.broadcast_to(np.asarray(mask) != 0, (active.count,)))
        ever = np.any(masks, axis=0)
        return float(np.mean([mask[ever].mean() if ever.any() else 0 for mask in masks])), ever
