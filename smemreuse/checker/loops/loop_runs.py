"""Loops that depend on the block index, and which other blocks execute them alike.

The begin of a loop, its length, and conditions in it may depend on the block index. Another block
executes the loop alike if its iterations agree, in order, with those that were traced in every
expression that decides an iteration (`repetition`, evaluated for all these blocks at once), and if
its length differs by whole units of the iterations that were fast-forwarded. Decisions inside such
a loop need not be compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smemreuse.checker.budget import Work
from smemreuse.checker.loops.fast_forward import FastForwardPoint
from smemreuse.checker.loops.repetition import Repetition, Unclear
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.evaluation import Values
from smemreuse.checker.values.vectors import identity
from smemreuse.ir.expr import Expr, Load, Var, constant, walk
from smemreuse.ir.kernel import Bind, For, walk_statements
from smemreuse.semantics.evaluate import NOBODY, Threads, Value, evaluate

MAX_ROUNDS = 1 << 14
"""Rounds of a loop, and those of several blocks that are compared at once."""

COMPARISON = 20_000
"""Units of work of a comparison, beside what there is to be evaluated."""

NOT_ALIKE = np.iinfo(np.int64).min
"""In place of how many more rounds a block has: it does not run the loop alike."""


@dataclass(eq=False)
class LoopRun:
    """An execution of a loop by one block.

    `block` are the indices of that block that decide something in it. `threads` came to it, with
    what locals held then. `is_exact`: no other number of rounds does. `left_out` is where the trace
    left out rounds, and together with which loops: None stands for one that is no `LoopRun`.
    `same_as` is equal for runs of one loop, by the same threads, that start from the same.
    """

    program_slice: ProgramSlice
    loop: For
    threads: Threads
    block: Mapping[Var, int]
    rounds: range
    is_exact: bool
    same_as: Hashable
    left_out: FastForwardPoint | None = None

    def leave(self, point: FastForwardPoint) -> None:
        """Notes that the trace left out iterations. If it does so twice, only the same length is
        alike."""
        self.is_exact |= self.left_out is not None
        self.left_out = point

    @property
    def key(self) -> Hashable:
        """The same for runs that the same other blocks run alike."""
        out = self.left_out
        left = None if out is None else (out.at, out.skip, out.unit, out.window.period)
        return (self.same_as, self.rounds, self.is_exact, left)

    def longer(self, blocks: Mapping[Var, np.ndarray], work: Work) -> np.ndarray:
        """How many more rounds than this one each of some blocks has, or `NOT_ALIKE`."""
        count = len(next(iter(blocks.values())))
        found = np.full(count, NOT_ALIKE)
        ranges, total, chosen = self._ranges(blocks, count), 0, dict[int, range]()
        for number, rounds in enumerate(ranges):
            if rounds is None or not self._may_fit(rounds):
                continue
            if chosen and total + len(rounds) > MAX_ROUNDS:
                self._compare(chosen, blocks, found, work)
                total, chosen = 0, {}
            chosen[number] = rounds
            total += len(rounds)
        if chosen:
            self._compare(chosen, blocks, found, work)
        return found

    def _compare(
        self,
        chosen: Mapping[int, range],
        blocks: Mapping[Var, np.ndarray],
        found: np.ndarray,
        work: Work,
    ) -> None:
        """Notes of some blocks, by their number, how many more rounds they have."""
        runs = [self.rounds, *chosen.values()]
        lengths = [len(one) for one in runs]
        total = sum(lengths)
        work.do(COMPARISON + 100 * total)  # before anything of that length is made
        index = {
            var: np.repeat(np.append(self.block[var], values[list(chosen)]), lengths)
            for var, values in blocks.items()
        }
        index[self.loop.var] = np.concatenate([np.arange(r.start, r.stop, r.step) for r in runs])

        alike = _by_length(lengths)

        def agree(numbers: np.ndarray) -> np.ndarray:
            own, found = numbers[: lengths[0]], np.zeros(len(lengths), dtype=bool)
            for which, rows in alike:
                found[which] = self._agree(own, numbers[rows])
            return found[1:]

        def settled(numbers: np.ndarray) -> bool:
            return bool(agree(numbers).all())

        table = Repetition(self.program_slice, index, self.threads, {}, total, work, settled)
        try:
            table.visit(self.loop.body)
        except Unclear:
            return
        fitting = agree(table.kinds())
        for number, fits, length in zip(chosen, fitting, lengths[1:], strict=True):
            if fits:
                found[number] = length - lengths[0]

    def _ranges(self, blocks: Mapping[Var, np.ndarray], count: int) -> list[range | None]:
        """The rounds of each block; None where that is not known."""
        same = {var: value for var, value in self.threads.values.items() if isinstance(value, int)}

        def load(one: Load, asking: Threads) -> Value:
            value = self.threads.load(one, self.threads)
            return value if isinstance(value, int) else None

        rows = Threads(np.arange(count), {**same, **blocks}, load, NOBODY)
        bounds = [
            evaluate(one, rows) for one in (self.loop.begin, self.loop.extent, self.loop.step)
        ]
        if any(one is None for one in bounds):
            return [None] * count
        begin, extent, step = (np.broadcast_to(np.asarray(one), (count,)) for one in bounds)
        return [
            range(int(a), int(a + b), int(c)) if c else None
            for a, b, c in zip(begin, extent, step, strict=True)
        ]

    def _may_fit(self, rounds: range | None) -> bool:
        """Whether a block with such rounds may run the loop alike: by their number."""
        if rounds is None:
            return False
        more, out = len(rounds) - len(self.rounds), self.left_out
        if not more:
            return True
        return not self.is_exact and out is not None and more % out.unit == 0 <= out.skip + more

    def _agree(self, own: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Whether the rounds of other blocks, a row of each, do what these do: of one number, which
        is a fitting one."""
        out, count = self.left_out, others.shape[1]
        if len(own) == count:
            same: np.ndarray = (others == own).all(axis=1)
            return same
        assert out is not None
        tail, period = len(own) - out.at - out.skip, out.unit
        end = count - tail
        found: np.ndarray = (
            (others[:, : out.at] == own[: out.at]).all(axis=1)
            & (others[:, out.at : end] == others[:, out.at - period : end - period]).all(axis=1)
            & (others[:, end:] == own[len(own) - tail :]).all(axis=1)
        )
        return found

    @property
    def together(self) -> Sequence[LoopRun | None]:
        """The loops that have left out rounds with this one."""
        return () if self.left_out is None else self.left_out.runs


def _by_length(lengths: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stretches that lie one after the other, by length: their numbers, and where each is."""
    sizes = np.array(lengths)
    begins = np.cumsum(sizes) - sizes
    found = []
    for length in np.unique(sizes):
        which = np.flatnonzero(sizes == length)
        found.append((which, begins[which, None] + np.arange(length)))
    return found


class AskedInLoops:
    """The variables and the locals that decide something in each loop: the same in all traces."""

    def __init__(self, program_slice: ProgramSlice):
        self._slice = program_slice
        self._known: dict[For, tuple[frozenset[Var], tuple[Load, ...]]] = {}

    def __call__(self, loop: For) -> tuple[frozenset[Var], tuple[Load, ...]]:
        known = self._known.get(loop)
        if known is None:
            asked = list(self._asked(loop))
            loads = (one for one in asked if isinstance(one, Load))
            known = self._known[loop] = (
                frozenset(one for one in asked if isinstance(one, Var)),
                tuple(one for one in loads if one.buffer.scope.startswith("local")),
            )
        return known

    def _asked(self, loop: For) -> Iterator[Expr]:
        for stmt in walk_statements((loop,)):
            bound = (stmt.value,) if isinstance(stmt, Bind) else ()
            for expr in (*bound, *self._slice.deciding(stmt)):
                yield from walk(expr)


class LoopsOfBlock:
    """The loops of a trace, for one block, in which its index decides something.

    `is_compared` tells whether a loop, by its threads times rounds, may be compared with those of
    other blocks as a whole.
    """

    def __init__(
        self, values: Values, is_compared: Callable[[For, int], bool], asked: AskedInLoops
    ):
        self.runs: list[LoopRun] = []
        self._slice, self._block = values.program_slice, values.block
        self._vectors = values.vectors
        self._is_compared = is_compared
        self._values = values
        self._deciding: dict[For, dict[Var, int]] = {}
        self._asked = asked

    def here(self, threads: Threads) -> Threads:
        """The threads with the block index bound."""
        return Threads(threads.ids, {**threads.values, **self._block}, threads.load, threads.row)

    def decide(self, expr: Expr, agent: Agent) -> Value:
        """The value that control flow depends on; a decision of the block, but in a loop that is
        compared as a whole."""
        if agent.covered:
            value = self._vectors.evaluate(expr, agent.threads)
            if value is None:
                value = self._vectors.evaluate(expr, self.here(agent.threads))
            if value is not None:
                return self._vectors.uniform(value)
        return self._values.decide(expr, agent.threads)

    def deciding(self, loop: For) -> Mapping[Var, int]:
        """The indices of the block that decide something in a loop which sets no counters."""
        if not self._block:
            return self._block
        known = self._deciding.get(loop)
        if known is None:
            known = self._deciding[loop] = {}
            if not self._slice.counters_set(loop.body):
                names, _ = self._asked(loop)
                known.update({var: one for var, one in self._block.items() if var in names})
        return known

    def begin(self, loop: For, agent: Agent) -> LoopRun | None:
        """Notes a loop that is to be compared as a whole, and that the threads are in it now."""
        if agent.covered or loop.kind == "vectorized":
            return None
        block, threads = self.deciding(loop), agent.threads
        if not block:
            return None
        rounds = self._rounds(loop, threads)
        if rounds is None or len(rounds) > MAX_ROUNDS:
            return None
        if not self._is_compared(loop, threads.count * len(rounds)):
            return None
        agent.covered = True
        names, loads = self._asked(loop)
        held = {_place(load): threads.load(load, threads) for load in loads}

        def remembered(load: Load, asking: Threads) -> Value:
            return held.get(_place(load)) if _place(load) is not None else None

        before = replace(threads, load=remembered)
        values = [identity(threads.values.get(name)) for name in names]
        locals_held = [(place, identity(value)) for place, value in held.items()]
        same_as = (loop, id(threads.ids), *values, *locals_held)
        run = LoopRun(self._slice, loop, before, block, rounds, bool(agent.tallies), same_as)
        self.runs.append(run)
        return run

    def _rounds(self, loop: For, threads: Threads) -> range | None:
        vectors, here = self._vectors, self.here(threads)
        bounds = (
            vectors.uniform(vectors.evaluate(one, here))
            for one in (loop.begin, loop.extent, loop.step)
        )
        begin, extent, step = bounds
        if not (isinstance(begin, int) and isinstance(extent, int) and isinstance(step, int)):
            return None
        return range(begin, begin + extent, step) if step else None


def _place(load: Load) -> object:
    """The identity of an element of a local with a constant index; None for other loads."""
    index = constant(load.indices[0]) if len(load.indices) == 1 else None
    return None if index is None else (load.buffer, index)
