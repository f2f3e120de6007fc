"""A kernel as a list of instructions with jumps, so that threads can be anywhere in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    VIRTUAL_THREAD,
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
    expressions_of,
    walk_statements,
)
from tests.soundness.model.modes import NotModelled
from tests.soundness.model.operators import OPERATORS
from tests.soundness.model.reductions import unfolded

if TYPE_CHECKING:
    from tests.soundness.model.expressions import Expressions, Fn
    from tests.soundness.model.machine import Machine

Ids: TypeAlias = np.ndarray
"""Numbers of threads, counted through all blocks of the cluster."""

Blocked: TypeAlias = "Callable[[], bool] | None"
"""What tells when threads that wait may go on; None if they need not wait."""

Action: TypeAlias = "Callable[[Machine, Ids], Blocked]"

REMOTE = (
    *("ptx_cluster_store", "ptx_arrive_cluster_barrier", "tma_store_cluster", "tma_load_multicast"),
    *("cluster_sync", "cluster_arrive", "cluster_wait"),
)
ELECTION = "tl_shuffle_elect"
"""All lanes of a warp exchange a value in it: none goes on before all have come."""

_LEAVING = {
    "loop_break": "break",
    "break_loop": "break",
    "continue_loop": "continue",
    "loop_continue": "continue",
    "thread_return": "return",
    "ret": "return",
}


@dataclass(eq=False)
class Leaf:
    """What the threads at this place do together."""

    run: Action
    is_silent: bool = False
    """Whether nobody but these threads can see it."""


@dataclass(eq=False)
class Branch:
    """Threads for which the condition is false go to `other`.

    They meet again at the last of the `joins`; those that leave for the end of a round or of a loop
    at one before it. Each is a place, and how deep in the program it is.
    """

    condition: Fn
    is_silent: bool
    other: int = -1
    joins: list[tuple[int, int]] = field(default_factory=list)


@dataclass(eq=False)
class Jump:
    """Threads go to `target`, out of all branches deeper than `depth`; to nowhere at -1."""

    depth: int
    target: int = -1


Instruction: TypeAlias = "Leaf | Branch | Jump"


@dataclass(eq=False)
class Shape:
    """How many threads there are, and which: `axes` holds a value for each thread."""

    threads: int
    blocks: int
    axes: dict[Var, np.ndarray]
    rows: np.ndarray
    """threadIdx.x of each thread."""
    thread: Var | None
    """threadIdx.x itself."""
    arguments: Mapping[str, int]
    """What the kernel is launched with, by name."""

    @property
    def all_threads(self) -> int:
        return self.threads * self.blocks


@dataclass(eq=False)
class Program:
    kernel: Kernel
    shape: Shape
    code: list[Instruction] = field(default_factory=list)
    starts: dict[Stmt, int] = field(default_factory=dict)
    """Where each statement begins in the code."""


# The launch -------------------------------------------------------------------------------------


def find_shape(kernel: Kernel, block_index: int, arguments: Mapping[str, int]) -> Shape:
    """Two blocks of a cluster are run where one may reach the other, else one block."""
    extents: dict[str, int] = {}
    variables: list[tuple[str, Var]] = []
    for stmt in walk_statements(kernel.body):
        tag, extent, var = "", None, None
        if isinstance(stmt, Attr) and stmt.key == THREAD_EXTENT and isinstance(stmt.node, Const):
            tag, extent, var = str(stmt.node.value), stmt.value, stmt.var
        elif isinstance(stmt, For) and stmt.kind == "thread_binding":
            tag, extent, var = "threadIdx.y", stmt.extent, stmt.var
        if extent is None or var is None:
            continue
        extents[tag] = _extent(extent, arguments)
        variables.append((tag, var))
    x, y, z = (extents.get(f"threadIdx.{axis}", 1) for axis in "xyz")
    blocks = 2 if any(_is_remote(stmt) for stmt in walk_statements(kernel.body)) else 1
    ids = np.arange(x * y * z * blocks)
    inside = ids % (x * y * z)
    values = {
        "threadIdx.x": inside % x,
        "threadIdx.y": inside // x % y,
        "threadIdx.z": inside // (x * y),
    }
    axes = {}
    for tag, var in variables:
        block = ids // (x * y * z) if blocks > 1 else np.full(len(ids), block_index)
        found = values.get(tag, block % extents[tag])
        axes[var] = found.astype(np.int64)
    thread = next((var for tag, var in variables if tag == "threadIdx.x"), None)
    return Shape(x * y * z, blocks, axes, inside % x, thread, arguments)


UNKNOWN_EXTENT = 3


def _extent(expr: Expr, arguments: Mapping[str, int]) -> int:
    """How long an axis of the launch is; some length where the arguments do not tell."""
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Var):
        return arguments.get(expr.name, UNKNOWN_EXTENT)
    if not isinstance(expr, Call) or expr.op not in OPERATORS:
        return UNKNOWN_EXTENT
    return int(OPERATORS[expr.op](*(_extent(one, arguments) for one in expr.args)))


def _is_remote(stmt: Stmt) -> bool:
    return any(
        isinstance(node, Call)
        and (
            node.op in REMOTE
            or (node.op == "ptx_arrive_barrier_expect_tx" and len(node.args) == 4)
            or (node.op == "tvm_storage_sync" and Const("cluster") in node.args)
        )
        for expr in expressions_of(stmt)
        for node in walk(expr)
    )


# Statements -------------------------------------------------------------------------------------


@dataclass
class _Loop:
    depth: int
    breaks: list[Jump] = field(default_factory=list)
    continues: list[Jump] = field(default_factory=list)
    parting: list[tuple[Branch, bool, bool]] = field(default_factory=list)
    """Branches inside, and whether threads leave from there for the loop's end or the round's."""


class Assembler:
    """Makes instructions of statements."""

    def __init__(self, program: Program, expressions: Expressions) -> None:
        self._code = program.code
        self._starts = program.starts
        self._thread = program.shape.thread or Const(0)
        self._expressions = expressions
        self._loops: list[_Loop] = []
        self._depth = 0

    def block(self, block: Block) -> None:
        for stmt in block:
            self._starts[stmt] = len(self._code)
            for one in unfolded(stmt, self._thread):
                self._statement(one)

    def _statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, (Allocate, Declare)):
            return
        if isinstance(stmt, Attr) and stmt.key == VIRTUAL_THREAD and stmt.var is not None:
            self._for(stmt.var, (Const(0), stmt.value, Const(1)), stmt.body)
        elif isinstance(stmt, (Attr, Assert)):
            self.block(stmt.body)
        elif isinstance(stmt, If):
            self._if(stmt)
        elif isinstance(stmt, For):
            self._any_for(stmt)
        elif isinstance(stmt, While):
            condition = self._expressions.value(stmt.condition)
            self._loop(condition, self._silent(stmt.condition), stmt.body, None)
        elif isinstance(stmt, Bind):
            self._code.append(Leaf(self._expressions.bind(stmt.var, stmt.value)))
        elif isinstance(stmt, Store):
            self._code.append(Leaf(self._expressions.store(stmt)))
        else:
            self._evaluate(stmt)

    def _evaluate(self, stmt: Evaluate) -> None:
        call = stmt.value
        kind = _LEAVING.get(call.op) if isinstance(call, Call) else None
        if kind is None:
            self._code.append(Leaf(self._expressions.action(call)))
        elif kind == "return" or not self._loops:
            self._code.append(Jump(-1))
        else:
            loop = self._loops[-1]
            jump = Jump(loop.depth + (kind == "continue"))
            (loop.breaks if kind == "break" else loop.continues).append(jump)
            self._code.append(jump)

    def _if(self, stmt: If) -> None:
        self._depth += 1
        loop = self._loops[-1] if self._loops else _Loop(0)
        before = len(loop.breaks), len(loop.continues)
        silent = self._silent(stmt.condition)
        if any(isinstance(one, Call) and one.op == ELECTION for one in walk(stmt.condition)):
            self._code.append(Leaf(lambda machine, ids: machine.together(ids, _nothing)))
        branch = Branch(self._expressions.value(stmt.condition), silent)
        self._code.append(branch)
        self.block(stmt.then)
        if stmt.orelse:
            skip = Jump(self._depth)
            self._code.append(skip)
            branch.other = len(self._code)
            self.block(stmt.orelse)
            skip.target = len(self._code)
        else:
            branch.other = len(self._code)
        branch.joins.append((len(self._code), self._depth))
        leaving = len(loop.breaks) > before[0], len(loop.continues) > before[1]
        loop.parting.append((branch, *leaving))
        self._depth -= 1

    # Loops

    def _any_for(self, stmt: For) -> None:
        bounds = (stmt.begin, stmt.extent, stmt.step)
        if stmt.kind == "thread_binding":
            self.block(stmt.body)
        elif stmt.kind == "vectorized":
            # Each statement is done for all lanes at once.
            for inner in stmt.body:
                if not isinstance(inner, (Store, Evaluate)):
                    raise NotModelled("a vectorized loop around more than stores")
                self._for(stmt.var, bounds, (inner,))
        else:
            self._for(stmt.var, bounds, stmt.body)

    def _for(self, var: Var, bounds: tuple[Expr, Expr, Expr], body: Block) -> None:
        begin, inside, step = self._expressions.counting(var, *bounds)
        self._code.append(Leaf(begin, is_silent=True))
        self._loop(inside, True, body, step)

    def _silent(self, condition: Expr) -> bool:
        """Whether a condition asks for nothing that other threads can change."""
        return all(
            isinstance(node, (Const, Var))
            or (isinstance(node, Call) and node.op in OPERATORS)
            or (isinstance(node, Load) and not node.buffer.scope.startswith("shared"))
            for node in walk(condition)
        )

    def _loop(self, condition: Fn, silent: bool, body: Block, step: Action | None) -> None:
        """A loop is deeper by two: its rounds are inside of it."""
        loop = _Loop(self._depth + 1)
        self._depth += 2
        self._loops.append(loop)
        test = len(self._code)
        branch = Branch(condition, silent)
        self._code.append(branch)
        self.block(body)
        following = test if step is None else len(self._code)
        if step is not None:
            self._code.append(Leaf(step, is_silent=True))
        self._code.append(Jump(self._depth, test))
        end = len(self._code)
        branch.other = end
        branch.joins.append((end, loop.depth))
        for jump in loop.continues:
            jump.target = following
        for jump in loop.breaks:
            jump.target = end
        for inner, breaks, continues in loop.parting:
            rounds = [(following, loop.depth + 1)] if continues else []
            inner.joins[:0] = [(end, loop.depth)] * breaks + rounds
        self._loops.pop()
        self._depth -= 2


def by_warp(ids: Ids) -> Iterator[Ids]:
    """The threads of each warp."""
    for warp in np.unique(ids // 32):
        yield ids[ids // 32 == warp]


def _nothing(ids: Ids) -> None:
    """What a warp does where its lanes only wait for each other."""


def shared_buffers(kernel: Kernel) -> list[Buffer]:
    """Allocations in shared memory, mbarriers too; their numbers are their places here."""
    return [one for one in kernel.allocations() if one.scope.startswith("shared")]
