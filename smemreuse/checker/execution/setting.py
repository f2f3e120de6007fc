"""What all traces of one check share: the slice, the layout, the budget, and cached values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass

from smemreuse.checker.budget import Work
from smemreuse.checker.execution.alike import StoresAlike
from smemreuse.checker.execution.leaves import Leaves
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.loops.loop_runs import AskedInLoops
from smemreuse.checker.loops.parities import Parities
from smemreuse.checker.loops.periods import Periods
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.descriptors import Holders
from smemreuse.checker.values.footprints import Footprints
from smemreuse.checker.values.given import NOTHING_GIVEN, GivenInputs
from smemreuse.checker.values.vectors import Vectors
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Const
from smemreuse.ir.kernel import Attr, Block, For, If, Kernel, Stmt, While, walk_statements
from smemreuse.ir.launch import AXES, UnknownThreads, stride_of, tag_of, thread_axes
from smemreuse.semantics.evaluate import Threads, Value

MAX_VECTOR = 1 << 17
"""Threads times iterations that are evaluated at once."""


@dataclass
class Remembered:
    """Caches that hold for every plan: values of threads, and the bytes that accesses touch."""

    vectors: Vectors
    footprints: Footprints

    @staticmethod
    def of(axes: Mapping[str, int]) -> Remembered:
        """Empty caches, for blocks with these extents along the thread axes."""
        vectors = Vectors(math.prod(axes.values()), axes.get(AXES[0], 1))
        return Remembered(vectors, Footprints(Work()))


def remembered_of(kernel: Kernel) -> Remembered:
    """The caches of a kernel, kept in its memo. Raises `UnknownThreads`."""
    return kernel.memo.once(Remembered, lambda: Remembered.of(thread_axes(kernel.body)))


def remember_from(before: Kernel, now: Kernel) -> None:
    """Lets a kernel use the caches of the one that it was made from: most expressions are the
    same."""
    try:
        if thread_axes(before.body) == thread_axes(now.body):
            now.memo.keep(Remembered, remembered_of(before))
    except UnknownThreads:
        return  # nothing is remembered of either


class Setting:
    """The plan, the slice of the kernel, and what one trace caches for the next.

    `every_case`: whatever data or the block's index decide is a case, not only what mbarriers
    depend on, and whether something is done.
    `compares_loops`: whether loops are compared with those of other blocks as a whole. Not where
    data decide: what is given in a case may be given for one round alone.
    `parts`: whether all threads meet wherever a later pass may put a barrier between two branches
    that different threads take, or never do; None: where it surely does. `may_part`: whether that
    made a difference in some trace.
    `contended`: the uses of named barriers where others may be at once. `given`: the inputs of one
    launch, of which one block is traced.
    """

    def __init__(
        self,
        program_slice: ProgramSlice,
        layout: ByteLayout,
        axes: Mapping[str, int],
        *,
        budget: int,
        work: Work | None = None,
        remembered: Remembered | None = None,
        every_case: bool = False,
        prediction: Prediction | None = None,
        given: GivenInputs = NOTHING_GIVEN,
        parts: bool | None = None,
    ):
        """`prediction`: the barriers that a later pass inserts; None if the kernel has them all."""
        self.program_slice = program_slice
        self.every_case = every_case
        self.given = given
        self.parts, self.may_part = parts, False
        self.work = work or Work()
        renamed = {} if prediction is None else prediction.view.branch_barriers.renamed
        self.leaves = Leaves(program_slice, renamed)
        self.holders = Holders(program_slice.body, program_slice.accesses)
        self.layout = layout
        self.axes = axes
        self.prediction = prediction
        self.budget = budget
        remembered = remembered or Remembered.of(axes)
        self.vectors = remembered.vectors
        self.parities = Parities(program_slice.body)
        self.periods = Periods(program_slice, self.work, self.vectors.interned, given)
        self.footprints = remembered.footprints.counted_by(self.work)
        self.fenced = frozenset() if prediction is None else prediction.view.fenced
        self.stores_alike = StoresAlike(program_slice, self.leaves, self.fenced)
        self.compares_loops, self.asked = not given, AskedInLoops(program_slice)
        self.contended: frozenset[Stmt] = frozenset()
        self._at_once: dict[For, bool] = {}

    def contend(self, uses: Set[Stmt]) -> bool:
        """Follows more uses of named barriers as contended from now on; False if that is no help.

        Loops that end when others have written may wait for what nothing tells of; so may functions
        that are not known.
        """
        inside = walk_statements(self.program_slice.body)
        may_block = self.program_slice.operations.may_block
        if uses <= self.contended or any(
            isinstance(one, While) or may_block(one) for one in inside
        ):
            return False
        self.contended |= uses
        return True

    def is_case(self, stmt: If | For) -> bool:
        """Whether a data-dependent branch or loop is split into cases, instead of joined."""
        inside = self.program_slice
        return self.every_case or inside.signals(stmt) or inside.returns(stmt)

    def axis(self, stmt: Attr, threads: Threads) -> Value:
        """The value of a launch variable: an index for each thread, or None for a block index that
        is not given."""
        tag = tag_of(stmt)
        if tag not in self.axes:
            if stmt.var is not None and stmt.var in self.given.numbers:
                return self.given.numbers[stmt.var]
            return 0 if stmt.value == Const(1) else None
        return self.vectors.digit(threads.ids, stride_of(tag, self.axes), self.axes[tag])

    def at_once(self, loop: For, count: int) -> bool:
        """Whether a loop's iterations, `count` times threads and iterations, run as one.

        They may where nothing in them is ordered or related. In a vectorized loop each statement is
        done for all lanes before the next one; a branch may be taken for one lane after the other.
        """
        if count > MAX_VECTOR:
            return False
        known = self._at_once.get(loop)
        if known is None:
            parts = [(stmt,) for stmt in loop.body] if loop.kind == "vectorized" else [loop.body]
            known = self._at_once[loop] = all(map(self._is_independent, parts))
        return known

    def may_fill(self, loop: For, count: int) -> bool:
        """Whether a loop may be one that fills buffers at once; `count` as in `at_once`. What is
        split into cases is decided for each iteration by itself."""
        if self.every_case or count > MAX_VECTOR:
            return False
        buffers = {one.buffer for one, _ in self.stores_alike.in_loop(loop)}
        partners = self.layout.partners
        return bool(buffers) and all(not buffers & {*partners[one]} - {one} for one in buffers)

    def is_compared(self, loop: For, count: int) -> bool:
        """Whether a loop is compared with those of other blocks; `count` as in `at_once`."""
        return self.compares_loops and not self.at_once(loop, count)

    def _is_independent(self, block: Block) -> bool:
        if self.program_slice.synchronizes(block):
            return False
        kinds = self.program_slice.kinds(block)
        buffers = {buffer for buffer, _ in kinds}
        related = any(
            two in self.layout.partners[one] and not (one is two and how == Access.READ.value)
            for one, how in kinds
            for two in buffers
        )
        return len(buffers) == len(kinds) and not related
