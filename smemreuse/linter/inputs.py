"""Inputs that show a hazard which data decide on: one launch, of which as little as can be is open.

Whether a hazard comes about may hang on a condition on data, or on how long a loop is. For inputs
that show it, it does. Tried are few: sequences of one length, and masks and tables that hold one
number. What decides places in shared memory stays open, since there a kernel may rely on what it
is given, a permutation for instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.given import AffineElements, GivenInputs
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Expr, Load, Var, constant, format_expr, walk
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Bind,
    Block,
    Buffer,
    For,
    Store,
    While,
    walk_statements,
)
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.ir.types import integer_type
from smemreuse.results.hazards import Given
from smemreuse.semantics.evaluate import NOBODY, Threads, Value, evaluate, holds, is_integer

LENGTHS = (256, 8)
"""How long each sequence is: short ones are tried where long ones show nothing."""

OTHERS = (0, 1, -1)
"""What masks and tables hold."""

ENOUGH = 4096
"""An argument that decides no loop's length: more than what is compared with it."""

MANY = 1 << 16
"""What a type has to hold for elements that rise from one sequence to the next."""

Place = Buffer | Var
"""Memory, or a variable."""

Places = dict[Place, None]


class Flow:
    """What the values of a kernel follow from, whenever they are set."""

    def __init__(self, program_slice: ProgramSlice):
        self._slice = program_slice
        self._changing = program_slice.written | program_slice.escaped
        self._values: dict[Place, list[Expr]] = {}
        self._bound: list[Var] = []
        self._otherwise: set[Place] = set()
        """The memory that is set by more than plain stores."""
        self.dtypes: dict[Place, set[str]] = {}
        self.loads: dict[Place, set[str]] = {}
        """The memory that was come upon, and how it is loaded from."""
        for stmt in walk_statements(program_slice.body):
            if isinstance(stmt, Store):
                self._values.setdefault(stmt.buffer.storage, []).append(stmt.value)
                continue
            if isinstance(stmt, Bind):
                self._bound.append(stmt.var)
                self._values.setdefault(stmt.var, []).append(stmt.value)
            accesses = program_slice.accesses.get(stmt, ())
            self._otherwise |= {one.buffer for one in accesses if one.access is not Access.READ}

    def sources(self, *exprs: Expr) -> Places:
        """What the kernel is given that expressions follow from: global memory that it does not
        write, and arguments."""
        found, left, seen = Places(), [*exprs], set[Place]()
        while left:
            for node in walk(left.pop(0)):
                place = self._place(node)
                if place is None or place in seen:
                    continue
                seen.add(place)
                if self._is_given(node, place):
                    found[place] = None
                left += self._values.get(place, ())
        return found

    def _place(self, node: Expr) -> Place | None:
        if isinstance(node, Load):
            storage = node.buffer.storage
            self.loads.setdefault(storage, set()).add(format_expr(node))
            self.dtypes.setdefault(storage, set()).add(node.buffer.dtype)
            return storage
        if isinstance(node, Var):
            self.dtypes.setdefault(node, set()).add(node.dtype)
            return node
        return None

    def _is_given(self, node: Expr, place: Place) -> bool:
        if len(self.dtypes[place]) > 1 or not all(map(is_integer, self.dtypes[place])):
            return False
        if isinstance(node, Load):
            return node.buffer.scope == "global" and place not in self._changing
        return place not in self._slice.turning and place not in self._slice.launched

    def number(self, place: Place, inputs: GivenInputs) -> int | None:
        """What memory is set to for these inputs, wherever it is set; None if that differs."""
        asked = set[Place]()

        def of(place: Place) -> Value:
            if place in asked or place in self._otherwise or not self._values.get(place):
                return None
            asked.add(place)
            found = {evaluate(one, threads) for one in self._values[place]}
            asked.discard(place)
            return found.pop() if len(found) == 1 else None

        def loaded(load: Load, _: Threads) -> Value:
            row = inputs.rows.get(load.buffer.storage)
            if row is not None:
                return None if row.step else row.first
            value = of(load.buffer.storage)
            return value if holds(load.buffer.dtype, value) else None

        numbers: dict[Var, Value] = {**inputs.numbers}
        threads = Threads(np.arange(1), numbers, loaded, NOBODY)
        for var in self._bound:  # in program order
            numbers[var] = of(var)
        value = of(place)
        return value if isinstance(value, int) else None


class Deciding:
    """What decides the control flow of a kernel, but for what decides places in shared memory:
    `lengths` are what the rounds of loops follow from, `others` the rest."""

    def __init__(self, program_slice: ProgramSlice):
        self._body = program_slice.body
        self._flow = flow = Flow(program_slice)
        places, rounds, every = Places(), Places(), Places()
        for stmt in walk_statements(self._body):
            for access in program_slice.accesses.get(stmt, ()):
                if access.footprint.start is not None:
                    places |= flow.sources(access.footprint.start)
            if isinstance(stmt, For):
                rounds |= flow.sources(stmt.begin, stmt.extent)
            elif isinstance(stmt, While):
                rounds |= flow.sources(stmt.condition)
            every |= flow.sources(*program_slice.deciding(stmt))
        self._every = [one for one in every if one not in places]
        self.lengths = [one for one in self._every if one in rounds]
        self.others = [one for one in self._every if one not in rounds]

    def inputs(self) -> Iterator[GivenInputs]:
        """The inputs that are tried, one after the other."""
        block = _last_block(self._body)
        masks = [one for one in self.others if not self._is_argument(one)]
        for length in LENGTHS if self.lengths else LENGTHS[:1]:
            for other in OTHERS if masks else OTHERS[:1]:
                if all(self._holds(one, other) for one in masks):
                    yield self._with_what_is_set(self._inputs(block, length, other))

    def _inputs(self, block: dict[Var, int], length: int, other: int) -> GivenInputs:
        numbers, rows = {**block}, dict[Place, AffineElements]()
        for at, one in enumerate(self.lengths, 1):  # of two the later may be the end of the earlier
            if self._is_argument(one):
                numbers[one] = self._fitting(one, at * length)
            elif len(self._flow.loads[one]) > 1 and self._holds(one, MANY):
                # Its elements say where each sequence begins.
                rows[one] = AffineElements(0, length)
            else:
                rows[one] = AffineElements(self._fitting(one, at * length))
        for one in self.others:
            if self._is_argument(one):
                numbers[one] = self._fitting(one, ENOUGH)
            else:
                rows[one] = AffineElements(other)
        return GivenInputs(numbers, rows)

    def _with_what_is_set(self, inputs: GivenInputs) -> GivenInputs:
        """With the shared memory that is set to one number then: a mask that is kept there."""
        rows = {**inputs.rows}
        for one in self._flow.loads:
            if isinstance(one, Buffer) and one.scope in SHARED_SCOPES:
                number = self._flow.number(one, inputs)
                if number is not None:
                    rows[one] = AffineElements(number)
        return GivenInputs(inputs.numbers, rows)

    def given(self, inputs: GivenInputs) -> tuple[Given, ...]:
        """GivenInputs as they are reported, without the index of the block."""
        return tuple(
            Given(one.name, inputs.numbers[one])
            if self._is_argument(one)
            else Given(one.name, *inputs.rows[one], is_array=True)
            for one in self._every
        )

    def _is_argument(self, source: Place) -> TypeGuard[Var]:
        return isinstance(source, Var) and source not in self._flow.loads

    def _fitting(self, source: Place, number: int) -> int:
        """The number, or the largest one that a narrow type holds."""
        kinds = map(integer_type, self._flow.dtypes[source])
        return min(number, *(kind.most for kind in kinds if kind is not None))

    def _holds(self, source: Place, number: int) -> bool:
        return all(holds(dtype, number) for dtype in self._flow.dtypes[source])


def _last_block(body: Block) -> dict[Var, int]:
    """The index of a thread block: the last one, as far as it is known how many there are."""
    return {
        one.var: (constant(one.value) or 1) - 1
        for one in launches(body)
        if one.var is not None and tag_of(one) not in AXES
    }
