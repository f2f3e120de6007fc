"""Random small kernels for the model, in which threads and loops mean something.

Made so that many are well defined, that buffers are often used in one phase only (so that bytes can
be shared), and often carried from one iteration to the next (so that sharing them is wrong).
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.expr import Const, Expr
from smemreuse.ir.kernel import Assert, Attr, Bind, Buffer, Evaluate, If, Kernel, Stmt, While
from tests.random_kernels.accesses import Accesses, Place
from tests.random_kernels.choices import Pick
from tests.soundness.kernels import (
    INPUT,
    TX,
    Operand,
    call,
    copy_async,
    evaluate,
    kernel,
    load,
    loop,
    output,
    pointer,
    scalar,
    shared,
    store,
)

MAX_DEPTH = 3


def commit() -> Evaluate:
    return evaluate("ptx_commit_group")


def wait(keep: int) -> Evaluate:
    return evaluate("ptx_wait_group", keep)


class _Kernel(Accesses):
    """Grows one kernel; `kept` are buffers that are filled early and used anywhere."""

    def __init__(self, pick: Pick, threads: int, buffers: list[Buffer]):
        super().__init__(pick, threads, buffers)
        self.budget = 14
        self.kept: list[Buffer] = []

    def buffer(self) -> Buffer:
        """One to read or change."""
        return self.one_of(self.kept if self.kept and self.pick(0, 7) else self.buffers)

    def scratch(self) -> Buffer:
        """One to fill and use at once."""
        scratch = [one for one in self.buffers if one not in self.kept]
        return self.one_of(scratch if scratch and self.pick(0, 7) else self.buffers)

    # Blocks

    def block(self, place: Place, most: int = 4) -> list[Stmt]:
        found: list[Stmt] = []
        for _ in range(self.pick(1, most)):
            found += self.some(place)
            if self.budget <= 0:
                break
        return found

    def some(self, place: Place) -> list[Stmt]:
        """A few statements that belong together."""
        self.budget -= 1
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
        if place.depth < MAX_DEPTH:
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
        return self.weighted(kinds)(place)

    # Statements

    def phase(self, place: Place) -> list[Stmt]:
        buffer = self.scratch()
        found = self.fill_all(buffer, place)
        if self.chance(3):
            found += self.some(place)
        return found + self.use_of(buffer, place)

    def fill(self, place: Place) -> list[Stmt]:
        return self.fill_all(self.buffer(), place)

    def use(self, place: Place) -> list[Stmt]:
        return self.use_of(self.buffer(), place)

    def part(self, place: Place) -> list[Stmt]:
        return self.part_of(self.buffer(), place)

    def copy(self, place: Place) -> list[Stmt]:
        target, source = self.buffer(), self.buffer()
        if target is source:
            return self.update(place)
        at = self.own(target)
        inner: Expr = at
        if self.pick(0, 2) == 1 and not place.own_bytes:
            inner = call("sub", self.elements(target) - 1, at)
        value = load(source, call("floormod", inner, self.elements(source)))
        return [store(target, at, call("add", value, self.pick(0, 9)))]

    def update(self, place: Place) -> list[Stmt]:
        """Each thread changes its own element."""
        buffer = self.buffer()
        count = self.elements(buffer)
        change = store(buffer, TX, call("add", load(buffer, TX), self.pick(1, 9)))
        return [If(call("lt", TX, count), (change,))] if count < self.threads else [change]

    def asynchronous(self, place: Place) -> list[Stmt]:
        buffer = self.scratch()
        count = self.elements(buffer)
        found: list[Stmt] = []
        if count > self.threads and not place.own_bytes:
            var, flat, rounds = self.all_of(count)
            at: Expr = call("floormod", flat, count)
            copies = copy_async(buffer, at, call("add", at, 128 * self.pick(0, 3)))
            found.append(loop(var, rounds, copies))
        else:
            at = self.own(buffer)
            found.append(copy_async(buffer, at, call("add", at, 128 * self.pick(0, 3))))
        if self.chance(5):
            found = [If(self.condition(place), tuple(found))]
        if self.pick(0, 7):
            found.append(commit())
        if self.chance(2):
            found += self.some(place)
        if self.pick(0, 3):
            found.append(wait(1 if self.chance(4) else 0))
        if self.pick(0, 3):
            found += self.use_of(buffer, place)
        return found

    def extern(self, place: Place) -> list[Stmt]:
        buffer = self.buffer()
        name, mask = self.one_of((("mix", 3), ("use", 1)))
        return [evaluate("call_extern", Const(name), pointer(buffer, 0, 1, mask))]

    def bump(self, place: Place) -> list[Stmt]:
        counter = self.counter()
        if self.chance(6):
            address = call("address_of", load(counter, 0))
            return [evaluate("call_extern", Const("bump"), address)]
        by = self.pick(1, 3)
        return [self.step(counter, by, self.condition(place) if self.chance(6) else None)]

    # Control flow

    def loop(self, place: Place) -> list[Stmt]:
        var = self.var("k")
        extent: Operand = self.pick(1, 5) if self.pick(0, 4) else self.pick(6, 12)
        if self.chance(8):
            extent = call("floormod", load(INPUT, self.pick(0, 99)), 4)
        elif place.loop_vars and self.chance(10):
            extent = call("add", self.any_var(place), self.pick(0, 1))
        begin, step = (self.pick(0, 2), self.pick(1, 2)) if self.chance(5) else (0, 1)
        body = self.block(place.in_loop_over(var))
        before = self.fill(place) if self.pick(0, 2) == 0 else []
        after = self.use(place) if self.pick(0, 2) == 0 else []
        return [*before, loop(var, extent, *body, begin=begin, step=step), *after]

    def new_counter(self) -> Buffer:
        counter = scalar(f"w{self.names}")
        self.names += 1
        self.counters.append(counter)
        return counter

    def focus(self, place: Place) -> list[Stmt]:
        """A loop over one buffer that it may or may not carry around, and over scratch."""
        buffer = self.one_of(self.buffers)
        var = self.var("k")
        inside = place.in_loop_over(var)
        write, read = self.some_write(buffer, inside), self.use_of(buffer, inside)
        order = self.pick(0, 5)
        mine = [*write, *read] if order <= 2 else [*read, *write] if order <= 4 else write
        scratch = self.phase(inside)
        after = self.chance(3)
        body = [*scratch, *mine] if after else [*mine, *scratch]
        found = self.fill_all(buffer, place) if self.pick(0, 5) and order != 5 else []
        if self.chance(4):
            counter = self.new_counter()
            bound = call("lt", load(counter, 0), self.pick(1, 4))
            bind = Bind(var, load(counter, 0), may_be_address=False)
            rounds = While(bound, (bind, *body, self.step(counter)))
            found += [store(counter, 0, 0), rounds]
        else:
            found.append(loop(var, self.pick(2, 5), *body))
        return [*found, *self.use_of(buffer, place)] if after or self.chance(4) else found

    def arms(self, place: Place) -> list[Stmt]:
        """Threads apart, each with a buffer of their own."""
        inside = replace(place.inside(), own_bytes=True)
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

    def flight(self, place: Place) -> list[Stmt]:
        """A copy, its wait and scratch, in any order, perhaps around a loop."""
        buffer = self.scratch()
        var = self.var("k")
        inside = place.in_loop_over(var)
        at = self.own(buffer)
        source = call("add", at, call("mul", var, 128))
        copies: list[Stmt] = [copy_async(buffer, at, source), commit()]
        if self.chance(4):
            copies = [If(self.condition(inside), tuple(copies))]
        if self.chance(6):
            copies = [If(self.thread_condition(inside), tuple(copies))]
        waits: list[Stmt] = [wait(self.pick(0, 1))]
        if self.chance(5):
            waits = [If(self.condition(inside), tuple(waits))]
        parts = [copies, waits, self.phase(inside)]
        if self.chance(4):
            parts.append([If(self.condition(inside), (self.leave(),))])
        self.shuffle(parts)
        body = [stmt for part in parts for stmt in part]
        found: list[Stmt] = [loop(var, self.pick(1, 4), *body)]
        if self.pick(0, 1):
            found += [wait(0), output(load(buffer, at))]
        elif self.pick(0, 1):
            found += self.phase(place)
        return found

    def rounds(self, place: Place) -> list[Stmt]:
        """A loop that uses what it does not, or not always, write; and scratch besides."""
        var = self.var("k")
        inside = place.in_loop_over(var)
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
        self.shuffle(body)
        stmts = [stmt for part in body for stmt in part]
        filled = self.fill_all(buffer, place) if self.pick(0, 2) else []
        return [*filled, loop(var, self.pick(2, 4), *stmts)]

    def while_loop(self, place: Place) -> list[Stmt]:
        counter = self.new_counter()
        bound: Operand = self.pick(1, 4)
        if self.chance(3):
            bound = call("floormod", load(INPUT, self.pick(0, 99)), 4)
        elif self.chance(8):
            bound = call("floormod", load(INPUT, TX), 3)
        body = self.block(place.in_loop_over(), 3)
        body.insert(0 if self.chance(3) else len(body), self.step(counter))
        return [store(counter, 0, 0), While(call("lt", load(counter, 0), bound), tuple(body))]

    def uniform_if(self, place: Place) -> list[Stmt]:
        then = tuple(self.block(place.inside(), 2))
        orelse = tuple(self.block(place.inside(), 2)) if self.chance(2) else ()
        return [If(self.condition(place), then, orelse)]

    def divergent_if(self, place: Place) -> list[Stmt]:
        inside = replace(place.inside(), own_bytes=self.pick(0, 3) > 0)
        then = tuple(self.block(inside, 3))
        orelse = tuple(self.block(inside, 3)) if self.pick(0, 2) else ()
        return [If(self.thread_condition(place), then, orelse)]

    def stages(self, place: Place) -> list[Stmt]:
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
                inner, flat, rounds = self.all_of(half)
                at = call("add", offset, call("floormod", flat, half))
            source = call("add", at, call("mul", number, 128))
            one = copy_async(buffer, at, source)
            stmt: Stmt = one if is_async else store(buffer, at, load(INPUT, source))
            if half > self.threads:
                stmt = loop(inner, rounds, stmt)
            return [stmt, commit()] if is_async else [stmt]

        ahead = call("add", var, 1)
        body = fetch(ahead)
        if self.chance(2):
            guarded = body[:1] if is_async else body
            body = [If(call("lt", ahead, extent), tuple(guarded)), *body[len(guarded) :]]
        keep = 0 if self.chance(4) else 1
        if is_async:
            body = [*body, wait(keep)]
        now = self.in_half(buffer, call("floormod", var, 2))
        read: list[Stmt] = [output(load(buffer, now))]
        extra = self.some(place.in_loop_over(var))
        body = [*body, *read, *extra] if self.chance(2) else [*body, *extra, *read]
        found = [*fetch(Const(0)), loop(var, extent, *body)]
        return [*found, wait(0)] if is_async and self.pick(0, 2) else found

    def bound(self, place: Place) -> list[Stmt]:
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
        inside = replace(place.inside(), loop_vars=(var,))
        return [Bind(var, value, may_be_address=False), *self.block(inside, 2)]

    def wrapped(self, place: Place) -> list[Stmt]:
        body = tuple(self.block(place.inside(), 2))
        if self.chance(2):
            return [Assert(call("ge", TX, 0), body)]
        return [Attr("pragma_scope", Const(0), Const(0), body)]

    def jump(self, place: Place) -> list[Stmt]:
        if not place.in_loop:
            return [If(self.thread_condition(place), (evaluate("thread_return"),))]
        leave = self.leave()
        condition = self.condition(place)
        if self.chance(5):
            condition = self.thread_condition(place)
        return [If(condition, (leave,))]

    def leave(self) -> Stmt:
        return evaluate(self.one_of(("loop_break", "continue_loop")))


_DTYPES = (("float32", 4), ("float16", 2), ("int8", 1))


def grow_kernel(pick: Pick) -> Kernel:
    """One random kernel, made of choices; many are not well defined."""
    threads = (32, 48, 64)[pick(0, 2)]
    buffers = []
    for number in range(pick(2, 4)):
        dtype, size = _DTYPES[pick(0, 2)]
        buffers.append(shared("ABCD"[number], 32 * pick(1, 8) // size, dtype))
    made = _Kernel(pick, threads, buffers)
    body: list[Stmt] = [store(made.counters[0], 0, 0), store(made.total, 0, 0)]
    templates = (made.focus, made.focus, made.arms, made.flight)
    make = templates[pick(0, 3)] if pick(0, 1) else None
    if make is not None:
        made.budget = pick(1, 3)
        body += make(Place())
        if pick(0, 2) == 0:
            body += made.some(Place())
    else:
        for buffer in buffers[: pick(0, len(buffers) - 1)]:
            if pick(0, 11):
                body += made.fill_all(buffer, Place())
            made.kept.append(buffer)
        body += made.block(Place(), 5)
    return kernel(*body, buffers=(*buffers, *made.counters, made.total), threads=threads)
