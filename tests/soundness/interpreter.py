"""Executes one thread block of an access-tree kernel with real bytes.

Thread-level semantics, as simple as they can be: a statement runs for all threads of its group,
and the next one after it, as if a barrier stood between them. Shared buffers are bytes in an arena.
Many plans run at once, one row of memory for each; row 0 is the unmerged kernel and alone decides
where control goes. A plan *differs* if a value that it stores to global memory, a condition or an
index comes out otherwise than in row 0.

A `Mode` chooses among the executions that the hardware may choose from. A kernel is well defined if
row 0 gives the same in all modes and reads no byte that was never written.

Nothing here is imported from `smemreuse.checker` or `smemreuse.analysis`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

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
    element_bits,
)

MAX_STEPS = 700
MAX_BOUND = 16


class IllDefined(Exception):
    """The unmerged kernel has no defined result: it reads what nobody wrote, or it races."""


@dataclass(frozen=True)
class Mode:
    """One of the ways in which the hardware may run the kernel.

    `arms`: which arm of a divergent branch goes first, or statements of both in "turns", or
    "shuffled" by `seed`.
    `late`: after how many more statements an asynchronous copy lands, at the latest at the wait
    that retires it; a negative number: as many, but for each copy another number.
    `halves`: a statement runs for one half of its threads first (0: lower, 1: upper), or None.
    `free`: in a divergent arm only whole warps go together, other threads on their own.
    """

    arms: str = "then"
    late: int = 0
    halves: int | None = None
    free: bool = False
    seed: int = 0


NEVER = 1 << 30

BASE_MODES = (
    Mode("then"),
    Mode("else", late=NEVER),
    Mode("turns", late=-3, halves=0),
    Mode("shuffled", late=-7, halves=1),
)
"""What must not matter to a plan if a barrier stands between any two statements of one arm."""

FREE_MODES = (
    Mode("shuffled", free=True, seed=1),
    Mode("shuffled", late=-5, free=True, seed=2),
)
"""No barrier can stand between the statements of an arm that part of a warp takes."""

RUNNING, CONTINUED, BROKEN, RETURNED = range(4)

Values = np.ndarray  # plans or 1, threads of the group or 1, lanes
Env = dict[Var, Values]  # plans or 1, threads of the block or 1, lanes
Offsets = Mapping[Buffer, int]


@dataclass
class Landing:
    """Bytes of an asynchronous copy on their way: one row for each thread."""

    buffer: Buffer
    ids: np.ndarray
    group: np.ndarray  # each thread's number of the group that the copy belongs to
    where: np.ndarray  # threads, bytes
    data: np.ndarray
    due: int  # the step at which it lands


@dataclass(frozen=True)
class Outcome:
    """Which plans differ from row 0, and row 0's outputs by statement: thread ids and values."""

    differs: np.ndarray
    outputs: tuple[tuple[int, bytes], ...]


def run_kernel(kernel: Kernel, plans: Sequence[Offsets], inputs: np.ndarray, mode: Mode) -> Outcome:
    """Runs the kernel under all plans. Raises `IllDefined` if the unmerged one is."""
    return _Machine(kernel, plans, inputs, mode).run()


def side_by_side(kernel: Kernel, scope: str) -> dict[Buffer, int]:
    """The unmerged layout."""
    offsets, end = {}, 0
    for buffer in kernel.allocations(scope):
        offsets[buffer] = end
        end += -(-(buffer.size or 0) // 16) * 16
    return offsets


class _Machine:
    def __init__(
        self, kernel: Kernel, plans: Sequence[Offsets], inputs: np.ndarray, mode: Mode
    ) -> None:
        buffers = [one for one in kernel.allocations() if one.scope.startswith("shared")]
        unmerged: dict[Buffer, int] = {}
        for scope in kernel.shared_scopes():
            shift = max((unmerged[one] + (one.size or 0) for one in unmerged), default=0)
            shift = -(-shift // 16) * 16
            unmerged |= {one: at + shift for one, at in side_by_side(kernel, scope).items()}
        rows = [unmerged, *({**unmerged, **plan} for plan in plans)]
        self._kernel = kernel
        self._inputs = inputs.astype(np.int64)
        self._mode = mode
        self._plans = np.arange(len(rows))[:, None, None]
        self._offset = {one: np.array([row[one] for row in rows]) for one in buffers}
        end = max((row[one] + (one.size or 0) for row in rows for one in buffers), default=0)
        self._memory = np.full((len(rows), end), 0xA5, dtype=np.uint8)
        self._written = {one: np.zeros(one.size or 0, dtype=bool) for one in buffers}
        self._locals: dict[Buffer, np.ndarray] = {}
        self._differs = np.zeros(len(rows), dtype=bool)
        self._recorded: dict[Stmt, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._threads = _thread_count(kernel.body)
        self._block_index = _int(int(inputs[7]) % 3)
        self._committed = np.zeros(self._threads, dtype=np.int64)
        self._landings: list[Landing] = []
        self._stopped = np.full(self._threads, RUNNING)
        self._random = Random(mode.seed)
        self._steps = 0

    def run(self) -> Outcome:
        for _ in self._block(self._kernel.body, np.arange(self._threads), {}):
            pass
        for landing in self._landings:
            self._land(landing, np.ones(len(landing.ids), dtype=bool))
        outputs = []
        for number, found in enumerate(self._recorded.values()):
            ids = np.concatenate([one for one, _ in found])
            lanes = max(values.shape[2] for _, values in found)
            shape = (len(self._differs), -1, lanes)
            values = np.concatenate(
                [np.broadcast_to(v, (shape[0], len(i), lanes)) for i, v in found], axis=1
            )
            order = np.argsort(ids, kind="stable")
            values = values[:, order]
            self._differs |= (values != values[:1]).any(axis=(1, 2))
            outputs.append((number, ids[order].tobytes() + values[0].tobytes()))
        return Outcome(self._differs, tuple(outputs))

    # Statements. Each yields after every step, so that arms may take turns. -----------------------

    def _block(self, block: Block, ids: np.ndarray, env: Env) -> Iterator[None]:
        env = dict(env)
        for stmt in block:
            active = ids[self._stopped[ids] == RUNNING]
            if len(active):
                yield from self._statement(stmt, active, env)

    def _statement(self, stmt: Stmt, ids: np.ndarray, env: Env) -> Iterator[None]:
        if isinstance(stmt, (Allocate, Declare)):
            return
        if isinstance(stmt, Attr):
            if stmt.key == THREAD_EXTENT and stmt.var is not None:
                index = np.arange(self._threads)[None, :, None]
                env = {**env, stmt.var: index if _is_thread_axis(stmt) else self._block_index}
            yield from self._block(stmt.body, ids, env)
        elif isinstance(stmt, Assert):
            yield from self._block(stmt.body, ids, env)
        elif isinstance(stmt, If):
            yield from self._if(stmt, ids, env)
        elif isinstance(stmt, For):
            yield from self._for(stmt, ids, env)
        elif isinstance(stmt, While):
            yield from self._while(stmt, ids, env)
        else:
            self._leaf(stmt, ids, env)
            yield

    def _if(self, stmt: If, ids: np.ndarray, env: Env) -> Iterator[None]:
        chosen = self._control(stmt.condition, ids, env) != 0
        if chosen.all() or not chosen.any():
            yield from self._block(stmt.then if chosen.all() else stmt.orelse, ids, env)
            return
        arms = [
            self._block(block, group, env)
            for block, mine in ((stmt.then, ids[chosen]), (stmt.orelse, ids[~chosen]))
            for group in self._groups(mine)
        ]
        yield from self._in_turns(arms)

    def _in_turns(self, arms: list[Iterator[None]]) -> Iterator[None]:
        """Threads that nobody holds together, in the order that the mode says."""
        if self._mode.arms == "else":
            arms.reverse()
        if self._mode.arms in ("then", "else"):
            for arm in arms:
                yield from arm
            return
        while arms:
            turn = list(arms)
            if self._mode.arms == "shuffled":
                turn = [arms[self._random.randrange(len(arms))]]
            for arm in turn:
                if next(arm, arms) is arms:
                    arms.remove(arm)
                else:
                    yield

    def _groups(self, ids: np.ndarray) -> list[np.ndarray]:
        """Threads that go through an arm together."""
        if not self._mode.free:
            return [ids]
        warps, count = np.unique(ids // 32, return_counts=True)
        whole = np.minimum(self._threads - warps * 32, 32) == count
        together = np.isin(ids // 32, warps[whole])
        groups = [ids[together]] if together.any() else []
        alone = ids[~together]
        return groups + [part for part in (alone[i::8] for i in range(8)) if len(part)]

    def _for(self, stmt: For, ids: np.ndarray, env: Env) -> Iterator[None]:
        begin, extent, step = (
            self._control(expr, ids, env) for expr in (stmt.begin, stmt.extent, stmt.step)
        )
        if (begin != begin[0]).any() or (step != step[0]).any() or extent.max() > MAX_BOUND:
            raise IllDefined("a loop that the test does not need")
        if self._mode.free and (extent != extent[0]).any():
            alike = [ids[extent == one] for one in np.unique(extent)]
            parts = [group for same in alike for group in self._groups(same)]
            if len(parts) > 1:
                yield from self._in_turns([self._for(stmt, part, env) for part in parts])
                return
        for value in range(int(begin[0]), int(begin[0] + extent.max()), int(step[0])):
            inside = ids[(value - begin < extent) & (self._stopped[ids] == RUNNING)]
            yield from self._iteration(stmt.body, inside, {**env, stmt.var: _int(value)})
        self._end_loop(ids)

    def _while(self, stmt: While, ids: np.ndarray, env: Env) -> Iterator[None]:
        inside = ids
        while len(inside):
            chosen = self._control(stmt.condition, inside, env) != 0
            self._tick()
            parts = self._groups(inside[chosen])
            inside = inside[chosen]
            if not chosen.all() and len(parts) > 1:  # in step no longer
                yield from self._in_turns([self._while(stmt, part, env) for part in parts])
                break
            yield from self._iteration(stmt.body, inside, env)
            inside = inside[self._stopped[inside] == RUNNING]
        self._end_loop(ids)

    def _iteration(self, body: Block, ids: np.ndarray, env: Env) -> Iterator[None]:
        yield from self._block(body, ids, env)
        mine = self._stopped[ids]
        self._stopped[ids] = np.where(mine == CONTINUED, RUNNING, mine)

    def _end_loop(self, ids: np.ndarray) -> None:
        mine = self._stopped[ids]
        self._stopped[ids] = np.where(mine == BROKEN, RUNNING, mine)

    def _tick(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise IllDefined("too long")
        for one in self._landings:
            if one.due < self._steps:
                self._land(one, np.ones(len(one.ids), dtype=bool))
        self._landings = [one for one in self._landings if one.due >= self._steps]

    def _leaf(self, stmt: Stmt, ids: np.ndarray, env: Env) -> None:
        self._tick()
        if isinstance(stmt, Bind):
            value = self._value(stmt.value, ids, env)
            known = np.zeros((value.shape[0], self._threads, value.shape[2]), dtype=np.int64)
            known[:, ids] = value
            env[stmt.var] = known
        elif isinstance(stmt, Store):
            for part in self._parts(ids):
                if stmt.predicate is not None:
                    part = part[self._control(stmt.predicate, part, env) != 0]
                if len(part):
                    self._store(stmt, part, env)
        elif isinstance(stmt, Evaluate) and isinstance(stmt.value, Call):
            self._intrinsic(stmt.value, stmt, ids, env)

    def _parts(self, ids: np.ndarray) -> list[np.ndarray]:
        """The threads of one statement: all at once, or one half after the other."""
        if self._mode.halves is None:
            return [ids]
        upper = (ids >> self._steps % 6) & 1 == self._mode.halves
        return [part for part in (ids[upper], ids[~upper]) if len(part)]

    def _store(self, stmt: Store, ids: np.ndarray, env: Env) -> None:
        value = self._value(stmt.value, ids, env)
        if stmt.buffer.scope == "global":
            self._recorded.setdefault(stmt, []).append(
                (ids, np.broadcast_to(value, (value.shape[0], len(ids), value.shape[2])))
            )
            return
        index = self._index(stmt.indices[0], ids, env)
        storage = stmt.buffer.storage
        assert isinstance(storage, Buffer)
        if storage.scope.startswith("local"):
            cells = self._cells(storage)
            plans = np.arange(len(cells))[:, None, None]
            cells[plans, ids[None, :, None], index[None]] = value
            return
        size = element_bits(stmt.buffer.dtype) // 8
        where = _bytes_of(index, size, storage)
        shifts = 8 * np.arange(size)
        data = (value[..., None] >> shifts) & 0xFF
        data = np.broadcast_to(data, (len(self._differs), *index.shape, size))
        self._write(storage, where, data.reshape(len(data), len(ids), -1))

    # Memory -------------------------------------------------------------------------------------

    def _write(self, buffer: Buffer, where: np.ndarray, data: np.ndarray) -> None:
        """`where`: threads, bytes; `data`: plans, threads, bytes."""
        at = where[None] + self._offset[buffer][:, None, None]
        self._memory[self._plans, at] = data
        if (self._memory[0][at[0]] != data[0]).any():
            raise IllDefined("two threads write different values to one byte")
        self._written[buffer][where] = True

    def _read(self, buffer: Buffer, where: np.ndarray) -> np.ndarray:
        if not self._written[buffer][where].all():
            raise IllDefined("a byte is read that nobody wrote")
        found: np.ndarray = self._memory[
            self._plans, where[None] + self._offset[buffer][:, None, None]
        ]
        return found

    def _cells(self, buffer: Buffer) -> np.ndarray:
        if buffer not in self._locals:
            size = (buffer.size or 0) * 8 // element_bits(buffer.dtype)
            shape = (len(self._differs), self._threads, size)
            self._locals[buffer] = np.zeros(shape, dtype=np.int64)
        return self._locals[buffer]

    # Expressions --------------------------------------------------------------------------------

    def _control(self, expr: Expr, ids: np.ndarray, env: Env) -> np.ndarray:
        """One value for each thread, the same under all plans that do not differ."""
        value = self._value(expr, ids, env)
        self._differs |= (value != value[:1]).any(axis=(1, 2))
        return np.broadcast_to(value[0, :, 0], (len(ids),))

    def _index(self, expr: Expr, ids: np.ndarray, env: Env) -> np.ndarray:
        """Threads, lanes."""
        value = self._value(expr, ids, env)
        self._differs |= (value != value[:1]).any(axis=(1, 2))
        return np.broadcast_to(value[0], (len(ids), value.shape[2]))

    def _value(self, expr: Expr, ids: np.ndarray, env: Env) -> Values:
        if isinstance(expr, Const):
            return _int(int(expr.value))
        if isinstance(expr, Var):
            known = env[expr]
            return known[:, ids] if known.shape[1] > 1 else known
        if isinstance(expr, Load):
            return self._load(expr, ids, env)
        assert isinstance(expr, Call), expr
        if expr.op == "let":
            assert isinstance(expr.args[0], Var)
            value = self._value(expr.args[1], ids, env)
            known = np.zeros((value.shape[0], self._threads, value.shape[2]), dtype=np.int64)
            known[:, ids] = value
            return self._value(expr.args[2], ids, {**env, expr.args[0]: known})
        if expr.op == "ramp":
            base, stride, lanes = (self._value(arg, ids, env) for arg in expr.args)
            steps: Values = base + stride * np.arange(int(lanes[0, 0, 0]))
            return steps
        if expr.op == "if_then_else":
            condition = self._control(expr.args[0], ids, env)[None, :, None]
            return np.where(condition != 0, *(self._value(a, ids, env) for a in expr.args[1:]))
        if expr.op == "cast":
            return _cast(expr, self._value(expr.args[1], ids, env))
        operands = [self._value(arg, ids, env) for arg in expr.args]
        result: Values = np.asarray(_OPERATORS[expr.op](*operands)).astype(np.int64)
        return result

    def _load(self, load: Load, ids: np.ndarray, env: Env) -> Values:
        index = self._index(load.indices[0], ids, env)
        storage = load.buffer.storage
        assert isinstance(storage, Buffer)
        if storage.scope == "global":
            found: Values = self._inputs[index % len(self._inputs)][None]
            return found
        if storage.scope.startswith("local"):
            cells = self._cells(storage)
            plans = np.arange(len(cells))[:, None, None]
            scalars: Values = cells[plans, ids[None, :, None], index[None]]
            return scalars
        size = element_bits(load.buffer.dtype) // 8
        data = self._read(storage, _bytes_of(index, size, storage)).astype(np.int64)
        data = data.reshape(len(data), *index.shape, size)
        value: Values = (data << (8 * np.arange(size))).sum(axis=3)
        return value

    # Intrinsics ---------------------------------------------------------------------------------

    def _intrinsic(self, call: Call, stmt: Stmt, ids: np.ndarray, env: Env) -> None:
        if call.op == "ptx_cp_async":
            self._copy(call, ids, env)
        elif call.op == "ptx_commit_group":
            self._committed[ids] += 1
        elif call.op == "ptx_wait_group":
            self._wait(ids, int(self._control(call.args[0], ids, env)[0]))
        elif call.op in ("loop_break", "break_loop"):
            self._stopped[ids] = BROKEN
        elif call.op in ("continue_loop", "loop_continue"):
            self._stopped[ids] = CONTINUED
        elif call.op in ("thread_return", "ret"):
            self._stopped[ids] = RETURNED
        elif call.op == "call_extern":
            self._extern(call, stmt, ids, env)
        elif call.op != "tvm_storage_sync":
            raise NotImplementedError(call.op)

    def _pointer(self, call: Expr, ids: np.ndarray, env: Env) -> tuple[Buffer, np.ndarray, int]:
        """The allocation, each thread's first byte, and the size of an element."""
        assert isinstance(call, Call)
        assert call.op == "tvm_access_ptr"
        annotation, data, offset = call.args[:3]
        assert isinstance(annotation, Call)
        assert isinstance(annotation.args[0], Const)
        assert isinstance(data, Pointer)
        size = element_bits(str(annotation.args[0].value)) // 8
        storage = data.buffer.storage
        assert isinstance(storage, Buffer)
        return storage, self._index(offset, ids, env) * size, size

    def _copy(self, call: Call, ids: np.ndarray, env: Env) -> None:
        if len(call.args) == 4:  # copies whose predicate is off leave the bytes as they are
            ids = ids[self._control(call.args[3], ids, env) != 0]
            if not len(ids):
                return
        target, start, size = self._pointer(call.args[0], ids, env)
        _, source, unit = self._pointer(call.args[1], ids, env)
        assert isinstance(call.args[2], Const)
        count = int(call.args[2].value)
        where = start + np.arange(count * size)
        _inside(where, target)
        elements = self._inputs[(source // unit + np.arange(count)) % len(self._inputs)]
        data = (elements[:, :, None] >> (8 * np.arange(size))) & 0xFF
        delay = self._mode.late
        if delay < 0:
            delay = self._steps * -delay % 5 + 1
        group = self._committed[ids]
        self._landings.append(
            Landing(target, ids, group, where, data.reshape(len(ids), -1), self._steps + delay)
        )
        if delay == 0:
            self._land(self._landings.pop(), np.ones(len(ids), dtype=bool))

    def _land(self, landing: Landing, which: np.ndarray) -> None:
        if which.any():
            data = landing.data[which]
            every = np.broadcast_to(data, (len(self._differs), *data.shape))
            self._write(landing.buffer, landing.where[which], every)

    def _wait(self, ids: np.ndarray, keep: int) -> None:
        waiting = np.zeros(self._threads, dtype=bool)
        waiting[ids] = True
        left = []
        for one in self._landings:
            done = waiting[one.ids] & (one.group < self._committed[one.ids] - keep)
            self._land(one, done)
            if not done.all():
                rest = [part[~done] for part in (one.ids, one.group, one.where, one.data)]
                left.append(Landing(one.buffer, rest[0], rest[1], rest[2], rest[3], one.due))
        self._landings = left

    def _extern(self, call: Call, stmt: Stmt, ids: np.ndarray, env: Env) -> None:
        """`use(pointer)` reads all of a buffer; `mix(pointer)` changes what is there in place;
        `bump(pointer)` adds one to a local scalar."""
        assert isinstance(call.args[0], Const)
        if call.args[0].value == "bump":
            address = call.args[1]
            assert isinstance(address, Call)
            assert isinstance(address.args[0], Load)
            storage = address.args[0].buffer.storage
            assert isinstance(storage, Buffer)
            self._cells(storage)[:, ids, 0] += 1
            return
        buffer, _, _ = self._pointer(call.args[1], ids, env)
        where = np.arange(buffer.size or 0)[None]
        data = self._read(buffer, where)
        if call.args[0].value == "mix":
            self._write(buffer, where, data[:, :, ::-1] ^ 0x5A)
        else:
            every = np.broadcast_to(data.astype(np.int64), (len(data), len(ids), data.shape[2]))
            self._recorded.setdefault(stmt, []).append((ids, every))


_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_and": np.bitwise_and,
    "min": np.minimum,
    "max": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
}


def _int(value: int) -> Values:
    return np.full((1, 1, 1), value, dtype=np.int64)


def _cast(expr: Call, value: Values) -> Values:
    assert isinstance(expr.args[0], Const)
    dtype = str(expr.args[0].value)
    if dtype == "bool":
        truth: Values = (value != 0).astype(np.int64)
        return truth
    result: Values = value.astype(dtype).astype(np.int64)
    return result


def _bytes_of(index: np.ndarray, size: int, buffer: Buffer) -> np.ndarray:
    """Threads, bytes."""
    where: np.ndarray = (index[:, :, None] * size + np.arange(size)).reshape(len(index), -1)
    _inside(where, buffer)
    return where


def _inside(where: np.ndarray, buffer: Buffer) -> None:
    if where.min() < 0 or where.max() >= (buffer.size or 0):
        raise IllDefined(f"an access leaves {buffer.name}")


def _is_thread_axis(stmt: Attr) -> bool:
    return isinstance(stmt.node, Const) and str(stmt.node.value).startswith("threadIdx")


def _thread_count(block: Block) -> int:
    """The block has one thread axis; of the grid, one block is run, whose index is data."""
    for stmt in block:
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT:
            if _is_thread_axis(stmt) and isinstance(stmt.value, Const):
                return int(stmt.value.value)
            return _thread_count(stmt.body)
    return 1
