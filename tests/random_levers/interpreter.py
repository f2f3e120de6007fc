"""Runs functions with whole tile operations on numbers.

What a tile operation computes is any function; here it is one that tells its operands, their order
and how often it is carried out apart. Loads of pipelined loops may run ahead, each round into a
tile of its own, as TileLang's software pipeline lets them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

PRIME = 2_147_483_629
"""Below 2^31: products of two numbers fit an int64."""
MOST_OF = {"float16": 11, "bfloat16": 8, "float32": 31}
"""Bits that a number keeps in a type."""

Distance = Callable[[int], int]
"""How many rounds ahead the loads of a loop run that has so many stages."""


@dataclass
class Machine:
    """The memory of a run: a tensor's or a tile's numbers, by the name of its buffer."""

    memory: dict[str, np.ndarray]
    distance: Distance
    garbage: Random
    values: dict[Any, int] = field(default_factory=dict)
    ready: dict[int, list[tuple[Any, np.ndarray]]] = field(default_factory=dict)

    # Statements ---------------------------------------------------------------------------------

    def run(self, node: Any) -> None:
        getattr(self, f"run_{type(node).__name__}")(node)

    def run_SeqStmt(self, node: Any) -> None:
        for one in node.seq:
            self.run(one)

    def run_IfThenElse(self, node: Any) -> None:
        if self.value(node.condition):
            self.run(node.then_case)
        elif node.else_case is not None:
            self.run(node.else_case)

    def run_BufferStore(self, node: Any) -> None:
        at = tuple(self.value(one) for one in node.indices)
        self._of(node.buffer)[at] = rounded(self.value(node.value), node.buffer.dtype)

    def run_Evaluate(self, node: Any) -> None:
        call = node.value
        name = call.op.name.rpartition(".")[2]
        regions = [one for one in call.args if is_region(one)]
        if name == "copy":
            source, target = (self._box(one) for one in regions)
            target[...] = rounded(source.reshape(target.shape), dtype_of(regions[1]))
        elif name == "fill":
            self._box(regions[0])[...] = rounded(self.value(call.args[1]), dtype_of(regions[0]))
        elif name == "gemm":
            one, two, into = (np.squeeze(self._box(each)) for each in regions)
            into *= 1 - int(call.args[9])  # whether it clears what it adds to
            for inner in range(one.shape[1]):  # in the order in which a product adds up
                step = np.outer(one[:, inner] * 3 + 1, two[inner])
                into[...] = (7 * into + step % PRIME + 5) % PRIME
        else:
            source, into = (self._box(each) for each in regions)
            into[...] = (11 * into + np.cumsum(source, axis=0) + 3) % PRIME

    # Loops --------------------------------------------------------------------------------------

    def run_For(self, node: Any) -> None:
        rounds, begin = self.value(node.extent), self.value(node.min)
        stages = int((node.annotations or {}).get("num_stages", 0))
        ahead = min(self.distance(stages), stages)
        if ahead:
            self._run_ahead(node, begin, rounds, ahead)
            return
        for number in range(rounds):
            self.values[node.loop_var] = begin + number
            self.run(node.body)

    def _run_ahead(self, node: Any, begin: int, rounds: int, ahead: int) -> None:
        """Rounds whose loads have been carried out `ahead` rounds before."""
        body = list(node.body.seq) if hasattr(node.body, "seq") else [node.body]
        loaded: dict[int, list[np.ndarray]] = {}
        for number in range(rounds):
            first = 0 if number == 0 else number + ahead
            for early in range(first, min(number + ahead + 1, rounds)):
                self.values[node.loop_var] = begin + early
                loaded[early] = [self._loaded(one) for one in body if is_load(one)]
            self.values[node.loop_var] = begin + number
            self._spoil(body)
            arrived = iter(loaded.pop(number))
            for one in body:
                if is_load(one):
                    target = one.value.args[1]
                    box = self._box(target)
                    box[...] = rounded(next(arrived).reshape(box.shape), dtype_of(target))
                else:
                    self.run(one)
        if rounds:
            self._spoil(body)

    def _loaded(self, load: Any) -> np.ndarray:
        return self._box(load.value.args[0]).copy()

    def _spoil(self, body: list[Any]) -> None:
        """The tiles that loads fill are another round's: what is in them is anything."""
        for one in filter(is_load, body):
            tile = self._of(one.value.args[1].args[0].buffer)
            tile[...] = self.garbage.randrange(PRIME) % 64

    # Operands -----------------------------------------------------------------------------------

    def _of(self, buffer: Any) -> np.ndarray:
        if buffer.name not in self.memory:  # a tile that a rewrite has added
            shape = tuple(int(one) for one in buffer.shape)
            self.memory[buffer.name] = np.full(shape, self.garbage.randrange(PRIME) % 64)
        return self.memory[buffer.name]

    def _box(self, region: Any) -> np.ndarray:
        load, extents = region.args[0], [int(one) for one in region.args[2:]]
        begins = [self.value(one) for one in load.indices]
        slices = (slice(one, one + extent) for one, extent in zip(begins, extents, strict=True))
        return self._of(load.buffer)[tuple(slices)]

    def value(self, node: Any) -> int:
        kind = type(node).__name__
        if kind in ("IntImm", "FloatImm"):
            return int(node.value)
        if kind in ("Var", "SizeVar"):
            return self.values[node]
        if kind == "BufferLoad":
            return int(self._of(node.buffer)[tuple(self.value(one) for one in node.indices)])
        if kind == "Cast":
            return int(rounded(self.value(node.value), node.dtype))
        return ARITHMETIC[kind](self.value(node.a), self.value(node.b))


ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: (a + b) % PRIME,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b % PRIME,
    "FloorMod": lambda a, b: a % b,
    "LT": lambda a, b: int(a < b),
}


def rounded(value: Any, dtype: str) -> Any:
    """A number, or an array of them, in a type that keeps only its first bits."""
    lost = 31 - MOST_OF.get(str(dtype), 31)
    return value >> lost << lost


def is_region(node: Any) -> bool:
    return type(node).__name__ == "Call" and str(node.op.name) == "tl.region"


def dtype_of(region: Any) -> str:
    return str(region.args[0].buffer.dtype)


def is_load(stmt: Any) -> bool:
    """Whether a statement is a copy from global to shared memory."""
    if type(stmt).__name__ != "Evaluate" or stmt.value.op.name != "tl.tileop.copy":
        return False
    scopes = [one.args[0].buffer.scope() for one in stmt.value.args[:2]]
    return bool(scopes[0] == "global" and scopes[1].startswith("shared"))


def run(
    func: Any, tiles: list[Any], length: int, seed: int, distance: Distance
) -> dict[str, np.ndarray]:
    """What a function leaves in global memory: tensors and tiles begin as a seed has it, loads run
    as far ahead as `distance` says."""
    data = np.random.default_rng(seed)
    memory = {}
    for buffer in [*func.buffer_map.values(), *tiles]:
        shape = tuple(int(one) for one in buffer.shape)
        if str(buffer.dtype) == "int32":
            memory[buffer.name] = data.integers(0, 8, shape, dtype=np.int64)
        else:
            random = data.integers(0, PRIME, shape, dtype=np.int64)
            memory[buffer.name] = rounded(random, buffer.dtype)
    machine = Machine(memory, distance, Random(seed))
    machine.values[func.params[-1]] = length
    machine.run(func.body)
    return {one.name: memory[one.name] for one in func.buffer_map.values()}
