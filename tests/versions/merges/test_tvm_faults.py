"""What goes wrong in Apache TVM 0.27's merge pass, shown by the pass and told by our model."""

from __future__ import annotations

from typing import Any

import pytest

from smemreuse.ir.expr import Call, Const, Expr, Pointer, Var
from smemreuse.ir.kernel import Allocate, Bind, Buffer, Evaluate, Stmt, Store
from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.provenance import Provenance, StockFault
from tests.random_kernels.trees import launch
from tests.soundness.kernels import load, loop
from tests.versions.merges.apache import Merged, emitted, layouts, merged, read_text

pytestmark = pytest.mark.tvm

DYN = "shared.dyn"


def buffer(name: str, dtype: str = "float32", extent: int = 16) -> Buffer:
    return Buffer(name, dtype, (Const(extent),), DYN)


X, Y = buffer("x"), buffer("y")


def f(*handed: Expr, dtype: str = "int32") -> Call:
    """A call about which nothing is known."""
    return Call("call_extern", (Const(dtype), Const("f"), *handed))


def write(target: Buffer, *read: Expr) -> Store:
    """A store of something computed from what is read."""
    return Store(target, (Const(0),), f(*read, dtype=target.dtype))


def run(*handed: Expr) -> Evaluate:
    return Evaluate(f(*handed))


def address(of: Buffer) -> Call:
    return Call("address_of", (load(of, 0),))


def module(*stmts: Stmt) -> Any:
    return emitted([launch(stmts, "main")])


def plan_of(mod: Any) -> Any:
    (kernel,) = read_text(mod)
    plan = plan_kernel(kernel, DYN, policy="outer", packer="tvm")
    return plan, judge(kernel, plan)


def test_buffers_that_are_live_together_get_the_same_bytes() -> None:
    """`b` takes the entry of `a` while `c` is live; for `e` both entries are joined, and the
    layers `a` below `b` and `c` become `c, a` below `b`: `b` lies over `c`, which is read later."""
    a, b, c = (buffer(name) for name in "abc")
    e = buffer("e", extent=32)
    allocations = tuple(map(Allocate, (a, b, c, e)))
    read_both = run(load(b, 0), load(c, 0))
    mod = module(*allocations, write(c), write(a), write(b), read_both, write(e))
    assert layouts(merged(mod), DYN) == [Merged(128, {"c": 0, "a": 64, "b": 0, "e": 0})]
    plan, verdict = plan_of(mod)
    assert {buffer.name: at for buffer, at in plan.offsets.items()} == {
        "c": 0,
        "a": 64,
        "b": 0,
        "e": 0,
    }
    assert plan.provenance.overlap == "b and c conflict and share bytes"
    (overwritten,) = (one for one in verdict.violations if one.rule == 2)
    assert overwritten.buffers == ("c", "b")


def test_an_access_through_address_of_is_not_seen() -> None:
    """`x` is handed to a call by address while `y`, in the same bytes, is read by it."""
    both = run(address(X), load(Y, 0))
    mod = module(Allocate(X), Allocate(Y), write(X), write(Y), both)
    assert layouts(merged(mod), DYN) == [Merged(64, {"x": 0, "y": 0})]
    plan, verdict = plan_of(mod)
    assert plan.arena_bytes == 64
    assert verdict.verdict != "sound"


def test_a_leaf_is_done_in_place() -> None:
    """`y[..] = x[..]` gets the bytes of `x` for `y`: threads overwrite what others still read."""
    mod = module(Allocate(X), Allocate(Y), write(X), write(Y, load(X, 0)))
    assert layouts(merged(mod), DYN) == [Merged(64, {"x": 0, "y": 0})]


def test_a_bare_pointer_is_left_pointing_to_nothing() -> None:
    """The allocation is gone, and `x.data` still names it."""
    mod = module(Allocate(X), Allocate(Y), write(X), write(Y), run(Pointer(X)))
    (layout,) = layouts(merged(mod), DYN)
    assert layout is not None
    assert 'x_1 = T.Buffer((16,), scope="shared.dyn")' in merged(mod).script(show_meta=False)


SMALL = buffer("s", "float16", 2)
FAILURES = {
    "32 bits": (
        (Allocate(SMALL), Allocate(X), write(X), write(SMALL)),
        StockFault.SMALL,
    ),
    "address_of alone": (
        (Allocate(X), Allocate(Y), write(X), run(address(Y))),
        StockFault.ADDRESS_ONLY,
    ),
    "bound load": (
        (Allocate(X), Allocate(Y), write(X), write(Y), Bind(Var("v"), f(load(X, 0)))),
        StockFault.READ_OUTSIDE,
    ),
    "bound pointer": (
        (Allocate(X), Allocate(Y), write(X), write(Y), Bind(Var("p"), Pointer(X))),
        StockFault.READ_OUTSIDE,
    ),
}


@pytest.mark.parametrize(("stmts", "fault"), FAILURES.values(), ids=FAILURES)
def test_the_pass_fails_on_legal_modules(stmts: tuple[Stmt, ...], fault: StockFault) -> None:
    mod = module(*stmts)
    with pytest.raises(Exception, match="Check failed"):
        merged(mod)
    plan, _ = plan_of(mod)
    assert [each.fault for each in plan.provenance.failures] == [fault]


def test_a_load_bound_in_a_loop_is_no_failure() -> None:
    rounds = loop(Var("i"), 4, Bind(Var("v"), f(load(X, 0))), write(Y))
    plan, _ = plan_of(module(Allocate(X), Allocate(Y), write(X), rounds))
    assert plan.provenance == Provenance("outer", "tvm", "bytes")
