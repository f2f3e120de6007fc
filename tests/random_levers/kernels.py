"""Random functions of TileLang's IR with whole tile operations: pipelined loops, small tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang import tvm

from smemreuse.compilers.tilelang.visitor import tirx
from tests.random_kernels.choices import Grower, Pick

SIDE, GLOBAL, MOST_ROUNDS, BLOCKS = 4, 12, 4, 2
"""Of a tile, of a tensor in global memory, of a loop whose length is known, of the grid."""

READ, WRITE, BOTH = 1, 2, 3


def integer(value: int) -> Any:
    return tirx.IntImm("int32", value)


def region(buffer: Any, mask: int, begins: list[Any], extents: list[int]) -> Any:
    load = tirx.BufferLoad(buffer, begins)
    operands = [load, integer(mask), *map(integer, extents)]
    return tirx.Call("handle", tvm.ir.Op.get("tl.region"), operands)


def operation(name: str, *operands: Any) -> Any:
    call = tirx.Call("handle", tvm.ir.Op.get(f"tl.tileop.{name}"), list(operands))
    return tirx.Evaluate(call)


def gemm(one: Any, two: Any, into: Any, *, clears: bool = False) -> Any:
    """`into += one * two`, with the operands that TileLang hands on; or without what was there."""
    no, zero, cleared = tirx.IntImm("bool", 0), integer(0), tirx.IntImm("bool", int(clears))
    sizes = [integer(SIDE)] * 3
    return operation("gemm", one, two, into, no, no, *sizes, zero, cleared, zero, zero, zero)


def sequence(statements: list[Any]) -> Any:
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(statements)


class KernelGrower(Grower):
    """Grows one function. Its tensors and tiles are fixed, what it does with them is not."""

    def __init__(self, pick: Pick) -> None:
        super().__init__(pick)
        square = (SIDE, SIDE)
        self.inputs = [self._tensor(name, "float16") for name in ("A", "B")]
        self.table = tirx.decl_buffer((GLOBAL,), "int32", "X", scope="global")
        self.outputs = [self._tensor("C", "float16"), self._tensor("D", "float32")]
        shared = {"a": "float16", "b": "float16", "s": "float32", "out": "float16"}
        self.shared = [
            tirx.decl_buffer(square, dtype, name, scope="shared.dyn")
            for name, dtype in shared.items()
        ]
        self.ring = tirx.decl_buffer((3, *square), "float16", "ring", scope="shared.dyn")
        self.kept = [
            tirx.decl_buffer(square, "float16", name, scope="shared.dyn") for name in ("p", "q")
        ]
        """Tiles that are loaded first of all, and used in products."""
        self.fragments = [
            tirx.decl_buffer(square, "float32", name, scope="local.fragment")
            for name in ("c", "f", "g")
        ]
        self.length = tirx.Var("n", "int32")
        self.block = tirx.Var("bx", "int32")
        self.loops: list[Any] = []
        self.in_place = self.chance(3)
        """Whether it reads what it writes in global memory."""

    def _tensor(self, name: str, dtype: str) -> Any:
        return tirx.decl_buffer((GLOBAL, GLOBAL), dtype, name, scope="global")

    def function(self) -> Any:
        begin = [self.load_into(one) for one in self.kept]
        body = [*self.block_of(2, 1), *self.tiles(), *self.block_of(1, 1), *self.epilogue()]
        body = [*begin, *body]
        kernel = tirx.For(
            self.block, integer(0), integer(BLOCKS), tirx.ForKind.SERIAL, sequence(body)
        )
        buffers = [*self.inputs, self.table, *self.outputs]
        handles = [tirx.Var(f"{one.name}_handle", "handle") for one in buffers]
        mapped = dict(zip(handles, buffers, strict=True))
        return tirx.PrimFunc([*handles, self.length], kernel, buffer_map=mapped)

    # Statements ---------------------------------------------------------------------------------

    def tiles(self) -> list[Any]:
        """A pipeline, or a loop over tiles of which each has one, as persistent kernels do."""
        if not self.chance(3):
            return self.pipeline()
        var, body = tirx.Var("turn", "int32"), []
        self.loops.append(var)
        if self.chance(2):
            body += self.block_of(1, 0)
        body += self.pipeline()
        body += self.epilogue()
        self.loops.pop()
        extent = self.extent(3)
        return [tirx.For(var, integer(0), extent, tirx.ForKind.SERIAL, sequence(body))]

    def extent(self, most: int) -> Any:
        """How often a loop goes round: a number, or what data say."""
        return self.length if self.chance(2) else integer(self.pick(1, most))

    def pipeline(self) -> list[Any]:
        """A loop whose loads may run ahead."""
        var = tirx.Var(f"k{len(self.loops)}", "int32")
        extent = self.extent(MOST_ROUNDS)
        stages = self.pick(0, 3)
        self.loops.append(var)
        loads = [self.load() for _ in range(self.pick(1, 3))]
        body = [*loads, *self.block_of(3, 1)]
        if self.in_place:
            body.append(self.write_back())
        if self.chance(3):
            self.shuffle(body)
        self.loops.pop()
        notes = {"num_stages": integer(stages)} if stages else {}
        kind = tirx.ForKind.SERIAL
        return [tirx.For(var, integer(0), extent, kind, sequence(body), None, notes)]

    def epilogue(self) -> list[Any]:
        """A tile that goes out, through shared memory or not."""
        source = self.one_of(self.fragments)
        target = self.one_of(self.outputs)
        out = self.one_of(self.shared)
        place = [self.index(), self.index()]
        if self.chance(4):
            return [self.copy(self.whole(source, READ), region(target, WRITE, place, [SIDE] * 2))]
        between = self.block_of(1, 1) if self.chance(4) else []
        return [
            self.copy(self.whole(source, READ), self.whole(out, WRITE)),
            *between,
            self.copy(self.whole(out, READ), region(target, WRITE, place, [SIDE] * 2)),
        ]

    def block_of(self, most: int, depth: int) -> list[Any]:
        return [self.statement(depth) for _ in range(self.pick(1, most))]

    def statement(self, depth: int) -> Any:
        simple: list[tuple[int, Callable[[], Any]]] = [
            (4, self.product),
            (3, self.load),
            (2, self.move),
            (2, self.points),
            (1, self.fill),
            (1, self.reduced),
            (1, self.slices),
            (1, self.write_back),
            (1, self.one_element),
        ]
        if depth and self.chance(6):
            return self.weighted([(2, self.branch), (1, self.inner_loop)])(depth - 1)
        return self.weighted(simple)()

    def branch(self, depth: int) -> Any:
        options = [self.index() < 2, self.element_of_table() < 4]
        arms = [sequence(self.block_of(2, depth)) for _ in range(2)]
        return tirx.IfThenElse(self.one_of(options), arms[0], arms[1] if self.chance(2) else None)

    def inner_loop(self, depth: int) -> Any:
        var = tirx.Var(f"k{len(self.loops)}", "int32")
        extent = self.extent(3)
        self.loops.append(var)
        body = sequence([*self.block_of(2, depth)])
        self.loops.pop()
        return tirx.For(var, integer(0), extent, tirx.ForKind.SERIAL, body)

    def load(self) -> Any:
        source = self.tile_of_tensor()
        if self.chance(4):
            begins = [self.turn(), integer(0), integer(0)]
            return self.copy(source, region(self.ring, WRITE, begins, [1, SIDE, SIDE]))
        if self.chance(8):  # half of a tile
            rows = [integer(self.one_of([0, 2])), integer(0)]
            half = region(self.source(), READ, [self.index(), self.index()], [2, SIDE])
            return self.copy(half, region(self.one_of(self.shared), WRITE, rows, [2, SIDE]))
        return self.copy(source, self.whole(self.one_of(self.shared), WRITE))

    def load_into(self, tile: Any) -> Any:
        return self.copy(self.tile_of_tensor(), self.whole(tile, WRITE))

    def tile_of_tensor(self) -> Any:
        return region(self.source(), READ, [self.index(), self.index()], [SIDE, SIDE])

    def source(self) -> Any:
        return self.one_of(self.outputs if self.in_place and self.chance(2) else self.inputs)

    def move(self) -> Any:
        pair = [self.one_of(self.shared), self.one_of(self.fragments)]
        self.shuffle(pair)
        return self.copy(self.whole(pair[0], READ), self.whole(pair[1], WRITE))

    def product(self) -> Any:
        one = self.whole(self.one_of(self.shared), READ)
        if self.chance(4):
            begins = [self.turn(), integer(0), integer(0)]
            one = region(self.ring, READ, begins, [1, SIDE, SIDE])
        two, into = self.one_of(self.shared), self.one_of(self.fragments)
        if self.chance(3):
            one, two = self.whole(self.kept[0], READ), self.kept[1]
        clears = self.chance(3)
        mask = WRITE if clears else BOTH
        return gemm(one, self.whole(two, READ), self.whole(into, mask), clears=clears)

    def reduced(self) -> Any:
        source, into = self.one_of(self.shared), self.one_of(self.fragments)
        return operation("cumsum", self.whole(source, READ), self.whole(into, WRITE), integer(0))

    def fill(self) -> Any:
        buffer = self.one_of([*self.shared, *self.fragments])
        return operation("fill", self.whole(buffer, WRITE), integer(self.pick(0, 2)))

    def slices(self) -> Any:
        """A half of a fragment out through a half of a tile."""
        first = integer(self.one_of([0, 2]))
        halves = [
            region(self.one_of(self.fragments), READ, [first, integer(0)], [2, SIDE]),
            region(self.one_of(self.shared), WRITE, [integer(0), integer(0)], [2, SIDE]),
        ]
        return self.copy(*halves)

    def write_back(self) -> Any:
        source = self.one_of([*self.shared, *self.fragments])
        place = [self.index(), self.index()]
        target = region(self.one_of(self.outputs), WRITE, place, [SIDE, SIDE])
        return self.copy(self.whole(source, READ), target)

    def points(self) -> Any:
        """`f[i, j] = f[i, j] * s[j, i] + k`, or the like."""
        i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
        into, other = self.one_of(self.fragments), self.one_of([*self.fragments, *self.shared])
        indices = [j, i] if self.chance(3) and other is not into else [i, j]
        value = tirx.BufferLoad(other, indices).astype("float32")
        if self.chance(2):
            value = value * tirx.BufferLoad(into, [i, j])
        if self.chance(3):
            value = value + self.index().astype("float32")
        store = tirx.BufferStore(into, value, [i, j])
        parallel = tirx.ForKind.PARALLEL
        inner = tirx.For(j, integer(0), integer(SIDE), parallel, store)
        return tirx.For(i, integer(0), integer(SIDE), parallel, inner)

    def one_element(self) -> Any:
        value = tirx.BufferLoad(self.one_of(self.fragments), [integer(1), integer(2)])
        target = self.outputs[1]
        return tirx.BufferStore(target, value, [self.index(), self.index()])

    # Operands -----------------------------------------------------------------------------------

    def copy(self, source: Any, target: Any) -> Any:
        return operation("copy", source, target)

    def whole(self, buffer: Any, mask: int) -> Any:
        return region(buffer, mask, [integer(0), integer(0)], [SIDE, SIDE])

    def turn(self) -> Any:
        """Which tile of the ring."""
        if not self.loops or self.chance(4):
            return integer(self.pick(0, 2))
        return tirx.floormod(self.loops[-1] + integer(self.pick(0, 2)), integer(3))

    def index(self) -> Any:
        """Where a tile begins in a tensor: 0 to 8, as an expression."""
        if self.loops and not self.chance(4):
            options = [self.loops[-1], self.loops[-1] * 2, self.loops[0] + integer(1)]
            return self.one_of(options)
        return self.one_of([integer(self.pick(0, 8)), self.block * 4, self.element_of_table()])

    def element_of_table(self) -> Any:
        """What data say, 0 to 7."""
        at = self.loops[-1] if self.loops and self.chance(2) else integer(self.pick(0, 4))
        return tirx.BufferLoad(self.table, [at])
