"""What goes wrong in Apache TVM 0.27's merge pass, shown by the pass and told by our model."""

from __future__ import annotations

from typing import Any

import pytest

from smemreuse.pipeline.judging import judge
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.provenance import Provenance, StockFault
from tests.baselines.apache import Merged, emitted, layouts, merged, read_text
from tests.baselines.modules import Alloc, Buf, Launch, Let, Run, Scope, Stmt, Use, Write

pytestmark = pytest.mark.tvm

DYN = "shared.dyn"
X, Y = Buf("x", "float32", 16, DYN), Buf("y", "float32", 16, DYN)


def module(*stmts: Stmt) -> Any:
    return emitted((Launch(stmts),))


def plan_of(mod: Any) -> Any:
    (kernel,) = read_text(mod)
    plan = plan_kernel(kernel, DYN, policy="outer", packer="tvm")
    return plan, judge(kernel, plan)


def test_buffers_that_are_live_together_get_the_same_bytes() -> None:
    """`b` takes the entry of `a` while `c` is live; for `e` both entries are joined, and the
    layers `a` below `b` and `c` become `c, a` below `b`: `b` lies over `c`, which is read later."""
    a, b, c = (Buf(name, "float32", 16, DYN) for name in "abc")
    e = Buf("e", "float32", 32, DYN)
    allocations = tuple(Alloc(buf) for buf in (a, b, c, e))
    read_both = Run((Use("load", b), Use("load", c)))
    mod = module(*allocations, Write(c, ()), Write(a, ()), Write(b, ()), read_both, Write(e, ()))
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
    both = Run((Use("address", X), Use("load", Y)))
    mod = module(Alloc(X), Alloc(Y), Write(X, ()), Write(Y, ()), both)
    assert layouts(merged(mod), DYN) == [Merged(64, {"x": 0, "y": 0})]
    plan, verdict = plan_of(mod)
    assert plan.arena_bytes == 64
    assert verdict.verdict != "sound"


def test_a_leaf_is_done_in_place() -> None:
    """`y[..] = x[..]` gets the bytes of `x` for `y`: threads overwrite what others still read."""
    mod = module(Alloc(X), Alloc(Y), Write(X, ()), Write(Y, (Use("load", X),)))
    assert layouts(merged(mod), DYN) == [Merged(64, {"x": 0, "y": 0})]


def test_a_bare_pointer_is_left_pointing_to_nothing() -> None:
    """The allocation is gone, and `x.data` still names it."""
    mod = module(Alloc(X), Alloc(Y), Write(X, ()), Write(Y, ()), Run((Use("data", X),)))
    (launch,) = layouts(merged(mod), DYN)
    assert launch is not None
    assert 'x_1 = T.Buffer((16,), scope="shared.dyn")' in merged(mod).script(show_meta=False)


SMALL = Buf("s", "float16", 2, DYN)
FAILURES = {
    "32 bits": ((Alloc(SMALL), Alloc(X), Write(X, ()), Write(SMALL, ())), StockFault.SMALL),
    "address_of alone": (
        (Alloc(X), Alloc(Y), Write(X, ()), Run((Use("address", Y),))),
        StockFault.ADDRESS_ONLY,
    ),
    "bound load": (
        (Alloc(X), Alloc(Y), Write(X, ()), Write(Y, ()), Let(Use("load", X))),
        StockFault.READ_OUTSIDE,
    ),
    "bound pointer": (
        (Alloc(X), Alloc(Y), Write(X, ()), Write(Y, ()), Let(Use("data", X))),
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
    loop = Scope("for", (Let(Use("load", X)), Write(Y, ())))
    plan, _ = plan_of(module(Alloc(X), Alloc(Y), Write(X, ()), loop))
    assert plan.provenance == Provenance("outer", "tvm", "bytes")
