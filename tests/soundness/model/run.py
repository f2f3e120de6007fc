"""Runs kernels: what they do, and which plans change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from smemreuse.ir.kernel import Buffer, Kernel
from tests.random_kernels.shapes import MOST_ROWS, ROWS
from tests.soundness.model.execution import Execution
from tests.soundness.model.expressions import Expressions
from tests.soundness.model.machine import Machine
from tests.soundness.model.memory import Layout
from tests.soundness.model.modes import IllDefined, Mode
from tests.soundness.model.operations import operation
from tests.soundness.model.order import RACE
from tests.soundness.model.program import Assembler, Program, find_shape, shared_buffers
from tests.soundness.model.record import Record

Offsets: TypeAlias = Mapping[Buffer, int]


@dataclass(frozen=True)
class Outcome:
    """Which plans differ from the unmerged kernel, and what that does."""

    differs: np.ndarray
    outputs: tuple[bytes, int]
    phases: bytes
    """In which phases threads have passed their waits."""
    company: str
    """With which warps each warp has met at barriers."""


def side_by_side(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """The unmerged layout."""
    offsets, end = {}, 0
    for buffer in kernel.allocations(scope):
        offsets[buffer] = end
        end += -(-(buffer.size or 0) // 16) * 16
    return offsets


class Model:
    """A kernel under some plans, ready to be run.

    A plan differs if a value that is stored to global memory or read by an asynchronous engine, a
    condition or an index comes out otherwise than in the unmerged kernel, in the same execution.
    Raises `NotModelled` for a kernel that does something unknown.
    """

    def __init__(
        self,
        kernel: Kernel,
        plans: Sequence[Offsets],
        inputs: np.ndarray,
        block: int | None = None,
        arguments: Mapping[str, int] | None = None,
    ) -> None:
        """`block`: the index of the thread block that is run, on each axis; `arguments`: what the
        kernel is launched with, by name. The inputs choose what is not given."""
        given = {ROWS: 1 + int(inputs[8]) % MOST_ROWS, **(arguments or {})}
        self._block = int(inputs[7]) if block is None else block
        shape = find_shape(kernel, self._block, given)
        self.kernel = kernel
        self.overtaken = False
        """Whether some wait has passed in one phase in one mode, and in another one in another."""
        self.crossed = False
        """Whether a warp has met with some warps in one mode, and with others in another."""
        self.program = Program(kernel, shape)
        expressions = Expressions(self.program, operation)
        Assembler(self.program, expressions).block(kernel.body)
        buffers = shared_buffers(kernel)
        apart: dict[Buffer, int] = {}
        for scope in dict.fromkeys(one.scope for one in buffers):
            shift = max((at + (one.size or 0) for one, at in apart.items()), default=0)
            shift = -(-shift // 16) * 16
            apart |= {one: at + shift for one, at in side_by_side(kernel, scope).items()}
        self._layout = Layout(buffers, [apart, *({**apart, **plan} for plan in plans)], shape)
        self._inputs = inputs.astype(np.int64)

    def of_block(self, block: int) -> Model:
        """The same launch of the unmerged kernel, of which another block is run."""
        if block == self._block:
            return self
        return Model(self.kernel, [], self._inputs, block)

    @property
    def places(self) -> int:
        """How many places there are in the program where threads can be."""
        return len(self.program.code)

    @property
    def warps(self) -> int:
        """How many warps run it, in all blocks."""
        return -(-self.program.shape.all_threads // 32)

    @property
    def plans(self) -> int:
        """How many plans there are beside the unmerged layout."""
        return self._layout.count - 1

    def run(self, mode: Mode, record: Record | None = None) -> Outcome:
        """One execution, kept in the record. Raises `IllDefined` if the unmerged kernel is."""
        machine = Machine(self.program, self._layout, self._inputs, mode, record)
        Execution(machine).run()
        seen = machine.seen
        outputs = seen.by_thread.tobytes(), seen.unordered
        meetings = sorted(machine.state.meetings.items())
        company = str([(key, meeting.company()) for key, meeting in meetings])
        return Outcome(seen.differs, outputs, machine.phases.tobytes(), company)

    def differing(self, modes: Iterable[Mode]) -> np.ndarray:
        """Which plans differ in some mode.

        Raises `IllDefined` if the unmerged kernel does not do the same in all modes.
        """
        differs = np.zeros(self._layout.count - 1, dtype=bool)
        first = None
        for mode in modes:
            outcome = self.run(mode)
            first = first or outcome
            if outcome.outputs != first.outputs:
                raise IllDefined(RACE)
            self.overtaken = self.overtaken or outcome.phases != first.phases
            self.crossed = self.crossed or outcome.company != first.company
            differs |= outcome.differs[1:]
        return differs
