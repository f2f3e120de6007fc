"""Accesses of random kernels that the model can run: fills, uses, and conditions on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.ir.kernel import Buffer, If, Stmt, Store
from tests.random_kernels.choices import Grower, Pick
from tests.soundness.kernels import BX, INPUT, TX, Operand, call, load, loop, output, scalar, store


@dataclass(frozen=True)
class Place:
    """What is visible and allowed where a statement is made."""

    depth: int = 0
    loop_vars: tuple[Var, ...] = ()
    in_loop: bool = False
    own_bytes: bool = False  # in a divergent arm: each thread keeps to its own elements

    def inside(self, *variables: Var) -> Place:
        return replace(self, depth=self.depth + 1, loop_vars=(*self.loop_vars, *variables))

    def in_loop_over(self, *variables: Var) -> Place:
        return replace(self.inside(*variables), in_loop=True)


class Accesses(Grower):
    """Grows statements that touch `buffers`, for a block of `threads`."""

    def __init__(self, pick: Pick, threads: int, buffers: list[Buffer]):
        super().__init__(pick)
        self.threads = threads
        self.buffers = buffers
        self.counters = [scalar("c0")]
        self.total = scalar("total")

    def elements(self, buffer: Buffer) -> int:
        (extent,) = buffer.shape
        assert isinstance(extent, Const)
        return int(extent.value)

    def any_var(self, place: Place) -> Var:
        return self.one_of(place.loop_vars)

    def counter(self) -> Buffer:
        return self.one_of(self.counters)

    def stage(self, place: Place) -> Expr:
        """0 or 1."""
        if place.loop_vars and self.pick(0, 3):
            shifted = call("add", self.any_var(place), self.pick(0, 1))
            return call("floormod", shifted, 2)
        if self.counters and self.chance(3):
            return call("floormod", load(self.counter(), 0), 2)
        return Const(self.pick(0, 1))

    def in_half(self, buffer: Buffer, stage: Expr) -> Expr:
        """A thread's element of the first or second half of a buffer."""
        half = self.elements(buffer) // 2
        return call("add", call("mul", stage, half), call("floormod", TX, half))

    def own(self, buffer: Buffer) -> Expr:
        """The element of a thread, or of several."""
        return call("floormod", TX, self.elements(buffer))

    def all_of(self, count: int) -> tuple[Var, Expr, int]:
        """A loop variable, the element in its iteration, and the iterations that reach all."""
        var = self.var("i")
        flat = call("add", call("mul", var, self.threads), TX)
        return var, flat, -(-count // self.threads)

    # Writes

    def seed(self, index: Operand, place: Place) -> Expr:
        """Input data that depends on the element alone, and perhaps on a loop variable."""
        return self.varied(load(INPUT, call("add", index, self.pick(0, 7) * 128)), place)

    def seed_vector(self, at: Call, place: Place) -> Expr:
        base, stride, lanes = at.args
        index = call("ramp", call("add", base, self.pick(0, 7) * 128), stride, lanes)
        return self.varied(load(INPUT, index), place)

    def varied(self, data: Expr, place: Place) -> Expr:
        if place.loop_vars and self.chance(2):
            return call("add", data, self.any_var(place))
        return data

    def fill_all(self, buffer: Buffer, place: Place) -> list[Stmt]:
        """Writes every element of a buffer."""
        count = self.elements(buffer)
        kind = self.pick(0, 5)
        by_fours = count % 4 == 0 and count // 4 <= self.threads
        if place.own_bytes or count == self.threads:
            at: Expr = TX if count == self.threads else self.own(buffer)
            return [store(buffer, at, self.seed(at, place))]
        if kind == 0 and by_fours:
            four = call("ramp", call("mul", call("floormod", TX, count // 4), 4), 1, 4)
            return [store(buffer, four, self.seed_vector(four, place))]
        if kind == 1 and by_fours:
            four = call("ramp", call("mul", TX, 4), 1, 4)
            guarded = store(buffer, four, self.seed_vector(four, place))
            return [If(call("lt", TX, count // 4), (guarded,))]
        if kind == 2 and count <= self.threads:
            return [If(call("lt", TX, count), (store(buffer, TX, self.seed(TX, place)),))]
        if count <= self.threads:
            at = self.own(buffer)
            return [store(buffer, at, self.seed(at, place))]
        var, at, rounds = self.all_of(count)
        if rounds * self.threads != count:
            at = call("floormod", at, count)
        return [loop(var, rounds, store(buffer, at, self.seed(at, place)))]

    def part_of(self, buffer: Buffer, place: Place) -> list[Stmt]:
        """Writes some elements of a buffer."""
        count = self.elements(buffer)
        kind = self.pick(0, 4)
        if place.own_bytes:
            at = self.own(buffer)
        elif kind == 0:
            low = self.pick(0, count - 1)
            at = call("add", call("floormod", TX, self.pick(1, count - low)), low)
        elif kind == 1:
            at = self.in_half(buffer, self.stage(place))
        elif kind == 2:
            twice = call("add", call("mul", TX, 2), self.stage(place))
            at = call("floormod", twice, count - count % 2)
        elif kind == 3:
            at = call("floormod", call("mul", TX, self.pick(2, 4)), count)
        else:
            at = call("floormod", call("add", TX, self.pick(0, count)), count)
        predicate = self.condition(place) if self.chance(6) else None
        return [store(buffer, at, self.seed(at, place), predicate)]

    def some_write(self, buffer: Buffer, place: Place) -> list[Stmt]:
        """All, some or none of a buffer, always or under a condition."""
        kind = self.pick(0, 9)
        full = tuple(self.fill_all(buffer, place))
        if kind == 0:
            return []
        if kind == 1:
            return list(full)
        if kind == 2:
            return [If(self.condition(place), full)]
        if kind == 3:
            other = tuple(self.fill_all(buffer, place)) if self.chance(2) else ()
            return [If(self.condition(place), full, other)]
        if kind == 4:
            own = tuple(self.fill_all(buffer, replace(place, own_bytes=True)))
            return [If(self.thread_condition(place), own)]
        if kind == 5:
            rounds = call("floormod", load(INPUT, self.pick(0, 99)), 3) if self.pick(0, 1) else BX
            return [loop(self.var("j"), rounds, *full)]
        if kind == 6:
            at = self.own(buffer)
            return [store(buffer, at, self.seed(at, place), self.condition(place))]
        if kind == 7:
            var = self.var("j")
            at = self.in_half(buffer, var)
            return [loop(var, self.pick(1, 2), store(buffer, at, self.seed(at, place)))]
        return self.part_of(buffer, place)

    # Reads

    def somewhere(self, buffer: Buffer, place: Place) -> Expr:
        """An element for each thread to read."""
        count = self.elements(buffer)
        if place.own_bytes and self.pick(0, 5):
            return self.own(buffer)
        kind = self.pick(0, 6)
        if kind == 0:
            return self.own(buffer)
        if kind == 1:
            return call("floormod", call("sub", count - 1, TX), count)
        if kind == 2:
            return call("floormod", call("add", TX, self.pick(1, count)), count)
        if kind == 3 and place.loop_vars:
            step = call("mul", self.any_var(place), self.pick(1, 8))
            return call("floormod", call("add", TX, step), count)
        if kind == 4:
            return self.in_half(buffer, self.stage(place))
        if kind == 5:
            return call("bitwise_xor", self.own(buffer), 1)
        return call("floormod", call("mul", TX, self.pick(1, 3)), count)

    def use_of(self, buffer: Buffer, place: Place) -> list[Stmt]:
        count = self.elements(buffer)
        kind = self.pick(0, 6)
        if kind == 0 and count % 4 == 0 and not place.own_bytes:
            base = call("mul", call("floormod", call("add", TX, 3), count // 4), 4)
            return [output(load(buffer, call("ramp", base, 1, 4)))]
        if kind == 1 and count > self.threads and not place.own_bytes:
            var, flat, rounds = self.all_of(count)
            return [loop(var, rounds, output(load(buffer, call("floormod", flat, count))))]
        if kind == 2:
            mixed = call("bitwise_and", call("mul", load(self.total, 0), 3), 0xFFFFF)
            mixed = call("add", mixed, load(buffer, self.somewhere(buffer, place)))
            return [store(self.total, 0, mixed), output(load(self.total, 0))]
        return [output(self.within(load(buffer, self.somewhere(buffer, place))))]

    def within(self, value: Expr) -> Expr:
        """A value as an operand of operations that do not change it."""
        as_bits = call("reinterpret", Const("int32"), value)
        return self.one_of((value, value, as_bits, call("cast", Const("int32"), as_bits)))

    def step(self, counter: Buffer, by: int = 1, predicate: Expr | None = None) -> Store:
        return store(counter, 0, call("add", load(counter, 0), by), predicate)

    # Conditions

    def condition(self, place: Place) -> Expr:
        """The same for all threads."""
        kind = self.pick(0, 10)
        if kind == 10:
            return call(self.one_of(("eq", "gt")), BX, self.pick(0, 1))
        if kind <= 5 and place.loop_vars:
            var = self.any_var(place)
            return (
                call("eq", call("floormod", var, 2), self.pick(0, 1)),
                call("eq", var, 0),
                call("lt", var, self.pick(1, 3)),
                call("gt", var, self.pick(0, 2)),
                call("eq", call("floordiv", var, self.pick(2, 4)), self.pick(0, 1)),
                call("ne", call("floormod", var, 3), 0),
            )[kind]
        if kind <= 7:
            counter = load(self.counter(), 0)
            if self.chance(2):
                return call("eq", call("floormod", counter, self.pick(2, 3)), self.pick(0, 1))
            return call(self.one_of(("lt", "eq", "ge")), counter, self.pick(0, 8))
        at: Operand = self.pick(0, 99)
        if place.loop_vars and self.chance(2):
            at = call("add", self.any_var(place), at)
        return call("eq", call("floormod", load(INPUT, at), 2), self.pick(0, 1))

    def thread_condition(self, place: Place) -> Expr:
        """Threads differ."""
        kind = self.pick(0, 6)
        if kind <= 1:
            return call("lt", TX, self.one_of((16, 32, 8, 20)))
        if kind == 2:
            return call("eq", call("floormod", TX, 2), 0)
        if kind == 3:
            return call("eq", call("floormod", load(INPUT, TX), 2), 0)
        if kind == 4:
            return call("lt", TX, call("floormod", load(INPUT, self.pick(0, 99)), self.threads))
        if kind == 5 and place.loop_vars:
            step = call("mul", self.any_var(place), self.pick(1, 16))
            return call("lt", TX, call("add", step, self.pick(0, 9)))
        return call("ge", TX, 32 if self.threads > 32 else 16)
