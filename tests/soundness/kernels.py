"""Random small kernels for the differential test, and how they are printed.

Made so that many are well defined, that buffers are often used in one phase only (so that bytes can
be shared), and often carried from one iteration to the next (so that sharing them is wrong).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import strategies as st

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Assert,
    Attr,
    Bind,
    Block,
    Buffer,
    Declare,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
)
from smemreuse.ir.labels import label

SCOPE = "shared.dyn"
Pick: TypeAlias = Callable[[int, int], int]
Operand: TypeAlias = "Expr | int"

INPUT = Buffer("G", "int32", (Const(4096),), "global")
OUTPUT = Buffer("O", "int32", (Const(4096),), "global")
TX = Var("tx")
BX = Var("bx")


# Short spellings ------------------------------------------------------------------------------


def expr(value: Operand) -> Expr:
    return Const(value) if isinstance(value, int) else value


def call(op: str, *args: Operand) -> Call:
    return Call(op, tuple(map(expr, args)))


def load(buffer: Buffer, index: Operand) -> Load:
    return Load(buffer, (expr(index),))


def store(buffer: Buffer, index: Operand, value: Operand, predicate: Expr | None = None) -> Store:
    return Store(buffer, (expr(index),), expr(value), predicate)


def evaluate(op: str, *args: Operand) -> Evaluate:
    return Evaluate(call(op, *args))


def loop(var: Var, extent: Operand, *body: Stmt, begin: int = 0, step: int = 1) -> For:
    return For(var, Const(begin), expr(extent), Const(step), "serial", body)


def output(value: Operand) -> Store:
    return store(OUTPUT, TX, value)


def pointer(buffer: Buffer, index: Operand, extent: int, mask: int) -> Call:
    annotation = Call("type_annotation", (Const(buffer.dtype),))
    return call("tvm_access_ptr", annotation, Pointer(buffer), index, extent, mask)


def copy_async(buffer: Buffer, index: Operand, source: Operand, elements: int = 1) -> Evaluate:
    target = pointer(buffer, index, elements, 2)
    return evaluate("ptx_cp_async", target, pointer(INPUT, source, elements, 1), elements)


def shared(name: str, elements: int, dtype: str = "int32") -> Buffer:
    return Buffer(name, dtype, (Const(elements),), SCOPE)


def scalar(name: str) -> Buffer:
    return Buffer(name, "int32", (Const(1),), "local.var")


def kernel(
    *body: Stmt, buffers: tuple[Buffer, ...], threads: int = 32, outside: bool = False
) -> Kernel:
    """Allocations stand between the block axis and the thread axis, as TileLang has them.

    `outside` of both, where the outer policy shares nothing.
    """
    allocations = tuple(Allocate(buffer) for buffer in buffers)
    launch = Attr(THREAD_EXTENT, Const("threadIdx.x"), Const(threads), body, TX)
    inner: Block = (launch,) if outside else (*allocations, launch)
    grid = Attr(THREAD_EXTENT, Const("blockIdx.x"), Const(3), inner, BX)
    return Kernel("random", (*allocations, grid) if outside else (grid,))


# Printing -------------------------------------------------------------------------------------


def format_kernel(kernel: Kernel) -> str:
    """The kernel as TVMScript-like text."""
    return "\n".join(_lines(kernel.body, 0))


def _lines(block: Block, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for stmt in block:
        if isinstance(stmt, (Allocate, Declare)):
            one = stmt.buffer
            shape = ", ".join(str(e.value) if isinstance(e, Const) else "?" for e in one.shape)
            yield f'{indent}{one.name} = alloc_buffer(({shape}), "{one.dtype}", "{one.scope}")'
            continue
        yield indent + label(stmt)
        if isinstance(stmt, If):
            yield from _lines(stmt.then, depth + 1)
            if stmt.orelse:
                yield indent + "else"
                yield from _lines(stmt.orelse, depth + 1)
        elif isinstance(stmt, (For, While, Attr, Assert)):
            yield from _lines(stmt.body, depth + 1)


# Random kernels -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """What is visible and allowed where a statement is made."""

    depth: int = 0
    loop_vars: tuple[Var, ...] = ()
    in_loop: bool = False
    own_bytes: bool = False  # in a divergent arm: each thread keeps to its own elements
    written: tuple[Buffer, ...] = ()


@dataclass
class _Grower:
    """Grows one kernel out of choices."""

    pick: Pick
    threads: int
    buffers: list[Buffer]
    counters: list[Buffer]
    budget: int = 14
    names: int = 0
    locals: list[Buffer] = field(default_factory=list)
    kept: list[Buffer] = field(default_factory=list)  # filled early, used anywhere

    def chance(self, one_in: int) -> bool:
        return self.pick(1, one_in) == one_in

    def buffer(self) -> Buffer:
        """One to read or change."""
        return self.one_of(self.kept if self.kept and self.pick(0, 7) else self.buffers)

    def scratch(self) -> Buffer:
        """One to fill and use at once."""
        scratch = [one for one in self.buffers if one not in self.kept]
        return self.one_of(scratch if scratch and self.pick(0, 7) else self.buffers)

    def one_of(self, buffers: list[Buffer]) -> Buffer:
        return buffers[self.pick(0, len(buffers) - 1)]

    def var(self, prefix: str) -> Var:
        self.names += 1
        return Var(f"{prefix}{self.names}")

    def elements(self, buffer: Buffer) -> int:
        (extent,) = buffer.shape
        assert isinstance(extent, Const)
        return int(extent.value)

    # Blocks

    def block(self, place: _Place, most: int = 4) -> list[Stmt]:
        found: list[Stmt] = []
        for _ in range(self.pick(1, most)):
            found += self.some(place)
            if self.budget <= 0:
                break
        return found

    def some(self, place: _Place) -> list[Stmt]:
        """A few statements that belong together."""
        self.budget -= 1
        deep = place.depth >= 3
        kinds = [
            (6, self.phase),
            (3, self.fill),
            (4, self.use),
            (2, self.part),
            (2, self.copy),
            (2, self.update),
            (1, self.asynchronous),
            (1, self.extern),
            (1, self.bump),
        ]
        if not deep:
            kinds += [
                (6, self.loop),
                (3, self.rounds),
                (4, self.focus),
                (3, self.while_loop),
                (5, self.uniform_if),
                (3, self.divergent_if),
                (2, self.stages),
                (1, self.bound),
                (1, self.wrapped),
            ]
        if place.in_loop or self.chance(8):
            kinds += [(1, self.jump)]
        number = self.pick(0, sum(weight for weight, _ in kinds) - 1)
        for weight, make in kinds:
            number -= weight
            if number < 0:
                return make(place)
        raise AssertionError("unreachable")

    def phase(self, place: _Place) -> list[Stmt]:
        buffer = self.scratch()
        found = self.fill_all(buffer, place)
        if self.chance(3):
            found += self.some(place)
        return found + self.use_of(buffer, place)

    def fill(self, place: _Place) -> list[Stmt]:
        return self.fill_all(self.buffer(), place)

    def use(self, place: _Place) -> list[Stmt]:
        return self.use_of(self.buffer(), place)

    # Accesses

    def seed(self, index: Operand, place: _Place) -> Expr:
        """Input data that depends on the element alone, and perhaps on a loop variable."""
        data = load(INPUT, call("add", index, self.pick(0, 7) * 128))
        if place.loop_vars and self.chance(2):
            return call("add", data, self.any_var(place))
        return data

    def any_var(self, place: _Place) -> Var:
        return place.loop_vars[self.pick(0, len(place.loop_vars) - 1)]

    def fill_all(self, buffer: Buffer, place: _Place) -> list[Stmt]:
        """Writes every element of a buffer."""
        count = self.elements(buffer)
        kind = self.pick(0, 5)
        if place.own_bytes or count == self.threads:
            at: Expr = TX if count == self.threads else call("floormod", TX, count)
            return [store(buffer, at, self.seed(at, place))]
        if kind == 0 and count % 4 == 0 and count // 4 <= self.threads:
            at = call("ramp", call("mul", call("floormod", TX, count // 4), 4), 1, 4)
            return [store(buffer, at, self.seed_vector(at, place))]
        if kind == 1 and count % 4 == 0 and count // 4 <= self.threads:
            at = call("ramp", call("mul", TX, 4), 1, 4)
            guarded = store(buffer, at, self.seed_vector(at, place))
            return [If(call("lt", TX, count // 4), (guarded,))]
        if kind == 2 and count <= self.threads:
            return [If(call("lt", TX, count), (store(buffer, TX, self.seed(TX, place)),))]
        if count <= self.threads:
            at = call("floormod", TX, count)
            return [store(buffer, at, self.seed(at, place))]
        var = self.var("i")
        at = call("add", call("mul", var, self.threads), TX)
        rounds = -(-count // self.threads)
        if rounds * self.threads != count:
            at = call("floormod", at, count)
        return [loop(var, rounds, store(buffer, at, self.seed(at, place)))]

    def seed_vector(self, at: Call, place: _Place) -> Expr:
        base, stride, lanes = at.args
        data = load(INPUT, call("ramp", call("add", base, self.pick(0, 7) * 128), stride, lanes))
        if place.loop_vars and self.chance(2):
            return call("add", data, self.any_var(place))
        return data

    def somewhere(self, buffer: Buffer, place: _Place) -> Expr:
        """An element for each thread to read."""
        count = self.elements(buffer)
        if place.own_bytes and self.pick(0, 5):
            return call("floormod", TX, count)
        kind = self.pick(0, 6)
        if kind == 0:
            return call("floormod", TX, count)
        if kind == 1:
            return call("floormod", call("sub", count - 1, TX), count)
        if kind == 2:
            return call("floormod", call("add", TX, self.pick(1, count)), count)
        if kind == 3 and place.loop_vars:
            step = call("mul", self.any_var(place), self.pick(1, 8))
            return call("floormod", call("add", TX, step), count)
        if kind == 4:
            half = count // 2
            stage = self.stage(place)
            return call("add", call("mul", stage, half), call("floormod", TX, half))
        if kind == 5:
            return call("bitwise_xor", call("floormod", TX, count), 1)
        return call("floormod", call("mul", TX, self.pick(1, 3)), count)

    def stage(self, place: _Place) -> Expr:
        """0 or 1."""
        if place.loop_vars and self.pick(0, 3):
            shifted = call("add", self.any_var(place), self.pick(0, 1))
            return call("floormod", shifted, 2)
        if self.counters and self.chance(3):
            return call("floormod", load(self.counter(), 0), 2)
        return Const(self.pick(0, 1))

    def counter(self) -> Buffer:
        return self.counters[self.pick(0, len(self.counters) - 1)]

    def use_of(self, buffer: Buffer, place: _Place) -> list[Stmt]:
        count = self.elements(buffer)
        kind = self.pick(0, 6)
        if kind == 0 and count % 4 == 0 and not place.own_bytes:
            base = call("mul", call("floormod", call("add", TX, 3), count // 4), 4)
            return [output(load(buffer, call("ramp", base, 1, 4)))]
        if kind == 1 and count > self.threads and not place.own_bytes:
            var = self.var("i")
            at = call("floormod", call("add", call("mul", var, self.threads), TX), count)
            return [loop(var, -(-count // self.threads), output(load(buffer, at)))]
        if kind == 2 and self.locals:
            (total,) = self.locals
            mixed = call("bitwise_and", call("mul", load(total, 0), 3), 0xFFFFF)
            mixed = call("add", mixed, load(buffer, self.somewhere(buffer, place)))
            return [store(total, 0, mixed), output(load(total, 0))]
        return [output(load(buffer, self.somewhere(buffer, place)))]

    def part(self, place: _Place) -> list[Stmt]:
        return self.part_of(self.buffer(), place)

    def part_of(self, buffer: Buffer, place: _Place) -> list[Stmt]:
        """Writes some elements of a buffer."""
        count = self.elements(buffer)
        kind = self.pick(0, 4)
        if place.own_bytes:
            at = call("floormod", TX, count)
        elif kind == 0:
            low = self.pick(0, count - 1)
            at = call("add", call("floormod", TX, self.pick(1, count - low)), low)
        elif kind == 1:
            half = count // 2
            at = call("add", call("mul", self.stage(place), half), call("floormod", TX, half))
        elif kind == 2:
            twice = call("add", call("mul", TX, 2), self.stage(place))
            at = call("floormod", twice, count - count % 2)
        elif kind == 3:
            at = call("floormod", call("mul", TX, self.pick(2, 4)), count)
        else:
            at = call("floormod", call("add", TX, self.pick(0, count)), count)
        predicate = None
        if self.chance(6):
            predicate = self.condition(place)
        return [store(buffer, at, self.seed(at, place), predicate)]

    def copy(self, place: _Place) -> list[Stmt]:
        target, source = self.buffer(), self.buffer()
        if target is source:
            return self.update(place)
        count = self.elements(target)
        at = call("floormod", TX, count)
        kind = self.pick(0, 2)
        inner: Expr = at
        if kind == 1 and not place.own_bytes:
            inner = call("sub", count - 1, at)
        value = load(source, call("floormod", inner, self.elements(source)))
        return [store(target, at, call("add", value, self.pick(0, 9)))]

    def update(self, place: _Place) -> list[Stmt]:
        """Each thread changes its own element."""
        buffer = self.buffer()
        count = self.elements(buffer)
        change = store(buffer, TX, call("add", load(buffer, TX), self.pick(1, 9)))
        return [If(call("lt", TX, count), (change,))] if count < self.threads else [change]

    def asynchronous(self, place: _Place) -> list[Stmt]:
        buffer = self.scratch()
        count = self.elements(buffer)
        at = call("floormod", TX, count)
        found: list[Stmt] = []
        if count > self.threads and not place.own_bytes:
            var = self.var("i")
            at = call("floormod", call("add", call("mul", var, self.threads), TX), count)
            copies = copy_async(buffer, at, call("add", at, 128 * self.pick(0, 3)))
            found.append(loop(var, -(-count // self.threads), copies))
        else:
            found.append(copy_async(buffer, at, call("add", at, 128 * self.pick(0, 3))))
        if self.chance(5):
            found = [If(self.condition(place), tuple(found))]
        if self.pick(0, 7):
            found.append(evaluate("ptx_commit_group"))
        if self.chance(2):
            found += self.some(place)
        if self.pick(0, 3):
            found.append(evaluate("ptx_wait_group", 1 if self.chance(4) else 0))
        if self.pick(0, 3):
            found += self.use_of(buffer, place)
        return found

    def extern(self, place: _Place) -> list[Stmt]:
        buffer, what = self.buffer(), self.pick(0, 1)
        if what:
            return [evaluate("call_extern", Const("use"), pointer(buffer, 0, 1, 1))]
        return [evaluate("call_extern", Const("mix"), pointer(buffer, 0, 1, 3))]

    def bump(self, place: _Place) -> list[Stmt]:
        counter = self.counter()
        if self.chance(6):
            address = call("address_of", load(counter, 0))
            return [evaluate("call_extern", Const("bump"), address)]
        value = call("add", load(counter, 0), self.pick(1, 3))
        return [store(counter, 0, value, self.condition(place) if self.chance(6) else None)]

    # Control flow

    def condition(self, place: _Place) -> Expr:
        """The same for all threads."""
        kind = self.pick(0, 10)
        if kind == 10:
            return call(("eq", "gt")[self.pick(0, 1)], BX, self.pick(0, 1))
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
            return call(("lt", "eq", "ge")[self.pick(0, 2)], counter, self.pick(0, 8))
        at: Operand = self.pick(0, 99)
        if place.loop_vars and self.chance(2):
            at = call("add", self.any_var(place), at)
        return call("eq", call("floormod", load(INPUT, at), 2), self.pick(0, 1))

    def thread_condition(self, place: _Place) -> Expr:
        """Threads differ."""
        kind = self.pick(0, 6)
        if kind <= 1:
            return call("lt", TX, (16, 32, 8, 20)[self.pick(0, 3)])
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

    def inner(self, place: _Place, *variables: Var) -> _Place:
        return replace(place, depth=place.depth + 1, loop_vars=(*place.loop_vars, *variables))

    def loop(self, place: _Place) -> list[Stmt]:
        var = self.var("k")
        extent: Operand = self.pick(1, 5) if self.pick(0, 4) else self.pick(6, 12)
        if self.chance(8):
            extent = call("floormod", load(INPUT, self.pick(0, 99)), 4)
        elif place.loop_vars and self.chance(10):
            extent = call("add", self.any_var(place), self.pick(0, 1))
        begin, step = (self.pick(0, 2), self.pick(1, 2)) if self.chance(5) else (0, 1)
        inside = replace(self.inner(place, var), in_loop=True)
        body = tuple(self.block(inside))
        found: list[Stmt] = []
        if self.pick(0, 2) == 0:
            found += self.fill(place)
        found.append(loop(var, extent, *body, begin=begin, step=step))
        if self.pick(0, 2) == 0:
            found += self.use(place)
        return found

    def focus(self, place: _Place) -> list[Stmt]:
        """A loop over one buffer that it may or may not carry around, and over scratch."""
        buffer = self.one_of(self.buffers)
        var = self.var("k")
        inside = replace(self.inner(place, var), in_loop=True)
        write, read = self.some_write(buffer, inside), self.use_of(buffer, inside)
        order = self.pick(0, 5)
        mine = [*write, *read] if order <= 2 else [*read, *write] if order <= 4 else write
        scratch = self.phase(inside)
        after = self.chance(3)
        body = [*scratch, *mine] if after else [*mine, *scratch]
        found = self.fill_all(buffer, place) if self.pick(0, 5) and order != 5 else []
        if self.chance(4):
            counter = scalar(f"w{self.names}")
            self.names += 1
            self.counters.append(counter)
            body.append(store(counter, 0, call("add", load(counter, 0), 1)))
            bound = call("lt", load(counter, 0), self.pick(1, 4))
            bind = Bind(var, load(counter, 0), may_be_address=False)
            found += [store(counter, 0, 0), While(bound, (bind, *body))]
        else:
            found.append(loop(var, self.pick(2, 5), *body))
        return [*found, *self.use_of(buffer, place)] if after or self.chance(4) else found

    def arms(self, place: _Place) -> list[Stmt]:
        """Threads apart, each with a buffer of their own."""
        inside = replace(self.inner(place), own_bytes=True)
        bodies = []
        for buffer in (self.buffers[0], self.buffers[-1]):
            body = [*self.fill_all(buffer, inside), *self.use_of(buffer, inside)]
            if self.chance(3):
                body = [loop(self.var("k"), self.pick(1, 3), *body)]
            bodies.append(tuple(body))
        condition = self.thread_condition(place)
        if self.pick(0, 3):
            return [If(condition, bodies[0], bodies[1])]
        return [If(condition, bodies[0]), If(call("not", condition), bodies[1])]

    def flight(self, place: _Place) -> list[Stmt]:
        """A copy, its wait and scratch, in any order, perhaps around a loop."""
        buffer = self.scratch()
        var = self.var("k")
        inside = replace(self.inner(place, var), in_loop=True)
        at = call("floormod", TX, self.elements(buffer))
        source = call("add", at, call("mul", var, 128))
        copies: list[Stmt] = [copy_async(buffer, at, source), evaluate("ptx_commit_group")]
        if self.chance(4):
            copies = [If(self.condition(inside), tuple(copies))]
        if self.chance(6):
            copies = [If(self.thread_condition(inside), tuple(copies))]
        wait: list[Stmt] = [evaluate("ptx_wait_group", self.pick(0, 1))]
        if self.chance(5):
            wait = [If(self.condition(inside), tuple(wait))]
        parts = [copies, wait, self.phase(inside)]
        if self.chance(4):
            parts.append([If(self.condition(inside), (self.leave(),))])
        for last in range(len(parts) - 1, 0, -1):
            other = self.pick(0, last)
            parts[last], parts[other] = parts[other], parts[last]
        body = [stmt for part in parts for stmt in part]
        found: list[Stmt] = [loop(var, self.pick(1, 4), *body)]
        if self.pick(0, 1):
            found += [evaluate("ptx_wait_group", 0), output(load(buffer, at))]
        elif self.pick(0, 1):
            found += self.phase(place)
        return found

    def leave(self) -> Stmt:
        return evaluate(("loop_break", "continue_loop")[self.pick(0, 1)])

    def some_write(self, buffer: Buffer, place: _Place) -> list[Stmt]:
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
            at = call("floormod", TX, self.elements(buffer))
            return [store(buffer, at, self.seed(at, place), self.condition(place))]
        if kind == 7:
            half = self.elements(buffer) // 2
            var = self.var("j")
            at = call("add", call("mul", var, half), call("floormod", TX, half))
            return [loop(var, self.pick(1, 2), store(buffer, at, self.seed(at, place)))]
        return self.part_of(buffer, place)

    def rounds(self, place: _Place) -> list[Stmt]:
        """A loop that uses what it does not, or not always, write; and scratch besides."""
        var = self.var("k")
        inside = replace(self.inner(place, var), in_loop=True)
        buffer = self.buffer()
        body = [self.use_of(buffer, inside), self.phase(inside)]
        kind = self.pick(0, 4)
        if kind == 0:
            body.append([If(self.condition(inside), tuple(self.fill_all(buffer, inside)))])
        elif kind == 1:
            body.append(self.part(inside))
        elif kind == 2:
            body.append(self.fill_all(buffer, inside))
        if self.chance(3):
            body.append(self.some(inside))
        for last in range(len(body) - 1, 0, -1):
            other = self.pick(0, last)
            body[last], body[other] = body[other], body[last]
        stmts = [stmt for part in body for stmt in part]
        filled = self.fill_all(buffer, place) if self.pick(0, 2) else []
        return [*filled, loop(var, self.pick(2, 4), *stmts)]

    def while_loop(self, place: _Place) -> list[Stmt]:
        counter = scalar(f"w{self.names}")
        self.names += 1
        self.counters.append(counter)
        bound: Operand = self.pick(1, 4)
        if self.chance(3):
            bound = call("floormod", load(INPUT, self.pick(0, 99)), 4)
        elif self.chance(8):
            bound = call("floormod", load(INPUT, TX), 3)
        body = self.block(replace(self.inner(place), in_loop=True), 3)
        value = call("add", load(counter, 0), 1)
        step = store(counter, 0, value)
        if self.chance(3):
            body.insert(0, step)
        else:
            body.append(step)
        condition = call("lt", load(counter, 0), bound)
        return [store(counter, 0, 0), While(condition, tuple(body))]

    def uniform_if(self, place: _Place) -> list[Stmt]:
        then = tuple(self.block(self.inner(place), 2))
        orelse = tuple(self.block(self.inner(place), 2)) if self.chance(2) else ()
        return [If(self.condition(place), then, orelse)]

    def divergent_if(self, place: _Place) -> list[Stmt]:
        inside = replace(self.inner(place), own_bytes=self.pick(0, 3) > 0)
        then = tuple(self.block(inside, 3))
        orelse = tuple(self.block(inside, 3)) if self.pick(0, 2) else ()
        return [If(self.thread_condition(place), then, orelse)]

    def stages(self, place: _Place) -> list[Stmt]:
        """A loop with two stages, the next one fetched while this one is used."""
        buffer = self.scratch()
        half = self.elements(buffer) // 2
        var = self.var("k")
        extent = self.pick(2, 6)
        is_async = self.chance(2)

        def fetch(number: Expr) -> list[Stmt]:
            offset = call("mul", call("floormod", number, 2), half)
            at = call("add", offset, call("floormod", TX, half))
            if half > self.threads:
                inner = self.var("i")
                flat = call("floormod", call("add", call("mul", inner, self.threads), TX), half)
                at = call("add", offset, flat)
            source = call("add", at, call("mul", number, 128))
            one = copy_async(buffer, at, source)
            stmt: Stmt = one if is_async else store(buffer, at, load(INPUT, source))
            if half > self.threads:
                stmt = loop(inner, -(-half // self.threads), stmt)
            return [stmt, evaluate("ptx_commit_group")] if is_async else [stmt]

        ahead = call("add", var, 1)
        more: list[Stmt] = fetch(ahead)
        keep = 1
        if self.chance(2):
            guarded = more[:1] if is_async else more
            more = [If(call("lt", ahead, extent), tuple(guarded)), *more[len(guarded) :]]
        if self.chance(4):
            keep = 0
        body = more
        if is_async:
            body = [*body, evaluate("ptx_wait_group", keep)]
        now = call("add", call("mul", call("floormod", var, 2), half), call("floormod", TX, half))
        read: list[Stmt] = [output(load(buffer, now))]
        extra = self.some(replace(self.inner(place, var), in_loop=True))
        body = [*body, *read, *extra] if self.chance(2) else [*body, *extra, *read]
        found = [*fetch(Const(0)), loop(var, extent, *body)]
        if is_async and self.pick(0, 2):
            found.append(evaluate("ptx_wait_group", 0))
        return found

    def bound(self, place: _Place) -> list[Stmt]:
        """A condition or stage through a variable."""
        var = self.var("v")
        kind = self.pick(0, 3)
        if kind == 0 or not place.loop_vars:
            buffer = self.buffer()
            value: Expr = load(buffer, self.somewhere(buffer, place))
            return [Bind(var, value, may_be_address=False), *self.some(place), output(var)]
        if kind == 1:
            value = call("floordiv", self.any_var(place), self.pick(2, 5))
        elif kind == 2:
            value = call("floormod", self.any_var(place), 2)
        else:
            value = call("add", self.any_var(place), load(self.counter(), 0))
        inside = replace(self.inner(place), loop_vars=(var,))
        return [Bind(var, value, may_be_address=False), *self.block(inside, 2)]

    def wrapped(self, place: _Place) -> list[Stmt]:
        body = tuple(self.block(self.inner(place), 2))
        if self.chance(2):
            return [Assert(call("ge", TX, 0), body)]
        return [Attr("pragma_scope", Const(0), Const(0), body)]

    def jump(self, place: _Place) -> list[Stmt]:
        if not place.in_loop:
            return [If(self.thread_condition(place), (evaluate("thread_return"),))]
        op = ("loop_break", "continue_loop")[self.pick(0, 1)]
        condition = self.condition(place)
        if self.chance(5):
            condition = self.thread_condition(place)
        return [If(condition, (evaluate(op),))]


_DTYPES = (("float32", 4), ("float16", 2), ("int8", 1))


def grow_kernel(pick: Pick) -> Kernel:
    """One random kernel, made of choices."""
    threads = (32, 48, 64)[pick(0, 2)]
    buffers = []
    for number in range(pick(2, 4)):
        dtype, size = _DTYPES[pick(0, 2)]
        buffers.append(shared("ABCD"[number], 32 * pick(1, 8) // size, dtype))
    total = scalar("total")
    grower = _Grower(pick, threads, buffers, [scalar("c0")], locals=[total])
    body: list[Stmt] = [store(grower.counters[0], 0, 0), store(total, 0, 0)]
    templates = (grower.focus, grower.focus, grower.arms, grower.flight)
    make = templates[pick(0, 3)] if pick(0, 1) else None
    if make is not None:
        grower.budget = pick(1, 3)
        body += make(_Place())
        if pick(0, 2) == 0:
            body += grower.some(_Place())
        return kernel(*body, buffers=(*buffers, *grower.counters, total), threads=threads)
    for buffer in buffers[: pick(0, len(buffers) - 1)]:
        if pick(0, 11):
            body += grower.fill_all(buffer, _Place())
        grower.kept.append(buffer)
    body += grower.block(_Place(), 5)
    return kernel(*body, buffers=(*buffers, *grower.counters, total), threads=threads)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """Random kernels; many are not well defined."""
    return grow_kernel(lambda low, high: draw(st.integers(low, high)))
