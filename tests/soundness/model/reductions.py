"""What collective functions of TileLang's device library do inside, as statements of the model.

From their text: `AllReduce` in `cuda/reduce.h`, the scans of one line in `cuda/scan.h`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smemreuse.ir.expr import Call, Const, Expr, Load, Pointer, Var, walk
from smemreuse.ir.kernel import Bind, Block, Buffer, Evaluate, If, Stmt, Store
from tests.soundness.model.modes import NotModelled

SHUFFLE = "shuffle_xor"
"""`shuffle_xor(result, value, distance)`: a lane's partner's value; a warp does it together."""

SCAN = "scan_line"
"""`scan_line(source, target, elements, operator, reverse)`: a warp's running sums or maxima."""

_FUNCTION = "tl::AllReduce<"
_OPERATORS = {
    **{"tl::SumOp": "add", "tl::MaxOp": "max", "tl::MaxOpNan": "max", "tl::MinOp": "min"},
    **{"tl::MinOpNan": "min", "tl::BitAndOp": "bitwise_and", "tl::BitOrOp": "bitwise_or"},
    "tl::BitXorOp": "bitwise_xor",
}
_SCANS = {"tl::CumSum1D": "add", "tl::CumMax1D": "max"}
_WARP = 32


def unfolded(stmt: Stmt, thread: Expr) -> Block:
    """A statement with what it calls written out: itself, if it calls nothing of the kind.

    `thread` is threadIdx.x.
    """
    if isinstance(stmt, Evaluate) and (scan := _scan(stmt.value)) is not None:
        first_warp = Call("lt", (thread, Const(_WARP)))
        return (If(first_warp, (Evaluate(scan),), ()),)
    if isinstance(stmt, Store) and _is_reduction(stmt.value):
        assert isinstance(stmt.value, Call)
        *steps, last = _reduction(stmt.value, thread)
        assert isinstance(last, Bind)
        return (*steps, replace(stmt, value=last.value))
    if any(_is_reduction(node) for expr in _operands(stmt) for node in walk(expr)):
        raise NotModelled("a reduction inside an expression")
    return (stmt,)


def _operands(stmt: Stmt) -> tuple[Expr, ...]:
    if isinstance(stmt, Store):
        return (*stmt.indices, stmt.value)
    return (stmt.value,) if isinstance(stmt, (Bind, Evaluate)) else ()


def _is_reduction(expr: Expr) -> bool:
    return isinstance(expr, Call) and any(
        isinstance(one, Const) and str(one.value).startswith(_FUNCTION) for one in expr.args
    )


def _reduction(call: Call, thread: Expr) -> Iterator[Stmt]:
    """`AllReduce<Op, threads, scale, offset, Barrier>::run(value, workspace)`.

    Partners a warp or more apart exchange values through the workspace: barrier 1, a write, barrier
    2, a read of the partner's. Those in a warp shuffle. The last statement binds the result.
    """
    name, *handed = call.args[1:]
    assert isinstance(name, Const)
    path, inside = str(name.value).rpartition("::")[2], str(name.value)[len(_FUNCTION) :]
    operator, threads, scale, *rest = (
        one.strip() for one in inside.rpartition(">::")[0].split(",", 4)
    )
    if path not in ("run", "run_hopper") or operator not in _OPERATORS:
        raise NotModelled(f"the function {name.value}")
    offset = int(rest[0]) if rest else 0
    barrier = rest[1] if len(rest) > 1 else threads if path == "run_hopper" else ""
    value = handed[0]
    distance = int(threads) // 2
    while distance >= int(scale):
        mine, partner = Var("mine"), Var("partner")
        yield Bind(mine, value)
        if distance >= _WARP:
            rank = Call("sub", (thread, Const(offset)))
            yield _barrier(barrier, 1, path)
            yield Store(*_place(handed[1], rank), mine)
            yield _barrier(barrier, 2, path)
            found: Expr = Load(*_place(handed[1], Call("bitwise_xor", (rank, Const(distance)))))
            yield Bind(partner, found)
        else:
            yield Evaluate(Call(SHUFFLE, (partner, mine, Const(distance))))
        value = Call(_OPERATORS[operator], (mine, partner))
        distance //= 2
    yield Bind(Var("sum"), value)


def _place(workspace: Expr, index: Expr) -> tuple[Buffer, tuple[Expr, ...]]:
    """An element behind an access pointer."""
    if not isinstance(workspace, Call) or workspace.op != "tvm_access_ptr":
        raise NotModelled("a workspace in another form")
    annotation, data, first = workspace.args[:3]
    assert isinstance(annotation, Call)
    assert isinstance(data, Pointer)
    if annotation.args[0] != Const(data.buffer.dtype) or len(data.buffer.shape) != 1:
        raise NotModelled("a workspace of another type")
    return data.buffer, (Call("add", (first, index)),)


def _scan(expr: Expr) -> Call | None:
    """`CumSum1D<threads, reverse>::run(source, target, elements)`, of the first warp alone."""
    name = expr.args[1] if isinstance(expr, Call) and expr.op == "call_extern" else None
    path, _, inside = str(name.value if isinstance(name, Const) else "").partition("<")
    if not isinstance(expr, Call) or path not in _SCANS:
        return None
    reverse = "true" in inside
    return Call(SCAN, (*expr.args[2:], Const(_SCANS[path]), Const(int(reverse))))


def _barrier(policy: str, number: int, path: str) -> Stmt:
    """`SyncThreadsBarrier` is `__syncthreads`, whatever the number; `NamedBarrier<n>` is
    `bar.sync number, n`. Before these, `run_hopper` had the number of threads itself."""
    operands: tuple[Expr, ...] = (Const("shared"),)
    if "NamedBarrier" in policy or path == "run_hopper":
        count = policy.rpartition("<")[2].partition(">")[0]
        operands = (*operands, Const(number), Const(int(count)))
    return Evaluate(Call("tvm_storage_sync", operands))
