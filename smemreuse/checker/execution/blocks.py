"""The thread blocks of a grid by kind: in those of one kind every decision comes out the same."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.loops.loop_runs import NOT_ALIKE, LoopRun
from smemreuse.checker.values.evaluation import Decision
from smemreuse.ir.expr import Call, Const, Expr, Var, constant, variables_in, walk
from smemreuse.ir.kernel import Block
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.semantics.evaluate import Threads, Value, evaluate, is_arithmetic

MAX_BLOCKS = 1 << 16
MAX_DECISION = 1 << 22


class ThreadBlocks:
    """The thread blocks of a grid that no trace has covered yet."""

    def __init__(self, variables: Sequence[Var], extents: Sequence[int]):
        self._variables = variables
        self._grid = np.unravel_index(np.arange(math.prod(extents)), extents) if extents else ()
        self.open = np.ones(math.prod(extents), dtype=bool)

    @property
    def index(self) -> dict[Var, int]:
        """The first block that is still open."""
        first = int(np.argmax(self.open))
        pairs = zip(self._variables, self._grid, strict=True)
        return {var: int(values[first]) for var, values in pairs}

    def kinds_if_alike(self, number: int) -> int:
        """An estimate of the number of kinds, as if each had as many blocks as the first
        `number`."""
        settled = len(self.open) - int(self.open.sum())
        return number * len(self.open) // max(settled, 1)

    def settle(
        self, decisions: Sequence[Decision], work: Work, runs: Sequence[LoopRun] = ()
    ) -> dict[Var, np.ndarray]:
        """Closes all blocks in which every decision of a trace comes out the same, and which run
        the same loops alike; returns their indices."""
        same = self.open.copy()
        for expr, everyone, outcome in decisions:
            threads = _asking(expr, everyone)
            where = np.flatnonzero(same)
            kinds, of_kind = self._distinguished(variables_in(expr), where)
            if threads.count * len(kinds) > MAX_DECISION:
                same[:] = False
                break
            work.do(100 * threads.count * len(kinds))
            same[where] = self._agrees(expr, threads, outcome, kinds)[of_kind]
        self._run_alike(runs, same, work)
        first = int(np.argmax(self.open))
        same[first] = True
        self.open &= ~same
        closed = zip(self._variables, self._grid, strict=True)
        return {var: values[same] for var, values in closed}

    def _run_alike(self, runs: Sequence[LoopRun], same: np.ndarray, work: Work) -> None:
        """Leaves in `same` the blocks that run loops alike, those that have left out rounds
        together so many more each."""
        grid = dict(zip(self._variables, self._grid, strict=True))
        longer: dict[Hashable, np.ndarray] = {}
        for run in runs:
            if run.key in longer:
                continue
            where = np.flatnonzero(same)
            kinds, of_kind = self._distinguished(run.block.keys(), where)
            found = run.longer({var: grid[var][kinds] for var in run.block}, work)[of_kind]
            longer[run.key] = np.full(len(same), NOT_ALIKE)
            longer[run.key][where] = found
            same[where] = found != NOT_ALIKE
        for run in runs:
            for other in run.together:
                same &= longer[run.key] == (0 if other is None else longer[other.key])

    def _distinguished(
        self, names: Collection[Var], where: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Groups the open blocks `where` by the values of some variables.

        Returns one block of each group, and the number of the group of each block."""
        numbers = np.zeros(len(where), dtype=np.int64)
        for var, values in zip(self._variables, self._grid, strict=True):
            if var in names:
                numbers = numbers * (int(values.max(initial=0)) + 1) + values[where]
        _, first, of_kind = np.unique(numbers, return_index=True, return_inverse=True)
        return where[first], of_kind

    def _agrees(
        self, expr: Expr, threads: Threads, outcome: Value, where: np.ndarray
    ) -> np.ndarray:
        each = threads.repeated(Var("block"), where)
        for var, values in zip(self._variables, self._grid, strict=True):
            each = each.bind(var, np.tile(values[where], threads.count))
        value = evaluate(expr, each)
        if value is None:
            return np.zeros(len(where), dtype=bool)
        table = np.broadcast_to(np.asarray(value), (threads.count * len(where),))
        table = table.reshape(threads.count, len(where))
        expected = np.broadcast_to(np.asarray(outcome).reshape(-1)[: threads.count], threads.count)
        return np.asarray((table == expected[:, None]).all(axis=0))


def _asking(expr: Expr, threads: Threads) -> Threads:
    """The threads for which an expression has to be evaluated, with the variables in it alone: one
    thread, if its value is the same for all of them."""
    nodes = list(walk(expr))
    names = {node for node in nodes if isinstance(node, Var)}
    values = {name: value for name, value in threads.values.items() if name in names}
    alike = not any(isinstance(value, np.ndarray) for value in values.values()) and all(
        isinstance(node, (Const, Var)) or (isinstance(node, Call) and is_arithmetic(node))
        for node in nodes
    )
    return replace(threads, values=values, ids=threads.ids[:1] if alike else threads.ids)


def kinds_of_blocks(body: Block) -> Iterator[ThreadBlocks]:
    """Yields the open blocks until all are settled. A grid of unknown size is one unknown block."""
    variables: list[Var] = []
    extents: list[int] = []
    for launch in launches(body):
        extent = constant(launch.value)
        if tag_of(launch) in AXES or launch.var is None or extent is None:
            continue
        if extent > 1 and math.prod(extents) * extent <= MAX_BLOCKS:
            variables.append(launch.var)
            extents.append(extent)
    blocks = ThreadBlocks(variables, extents)
    while blocks.open.any():
        yield blocks
