"""A new operation is one row: whoever asks what it does derives it from there."""

from __future__ import annotations

import pytest

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.checker import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Kernel
from smemreuse.policies.attribution import inner
from smemreuse.policies.dataflow import dataflow
from smemreuse.results.verdict import Verdict
from smemreuse.semantics import rows
from smemreuse.semantics.effects import (
    Answer,
    BytesIn,
    Effect,
    Engine,
    Group,
    Mbarrier,
    Meeting,
    Operand,
    Row,
    Signal,
)

SCOPE = "shared.dyn"
BODY = """
bx = T.launch_thread("blockIdx.x", 1)
X = T.handle("int32", "global")
As = T.alloc_buffer((32,), "int32", scope="shared.dyn")
Bs = T.alloc_buffer((32,), "int32", scope="shared.dyn")
Os = T.alloc_buffer((32,), "int32", scope="local")
tx = T.launch_thread("threadIdx.x", 32)
"""
COPY_THEN_SCRATCH = """
T.fill(As.data, X, 128)
T.ptx_commit_group()
Bs[tx] = tx
Os[0] = Bs[tx]
T.ptx_wait_group(0)
T.evaluate(As[tx])
"""


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Gives the made-up operation `fill` a row."""
    monkeypatch.setitem(rows.TABLE, "fill", request.param)


def kernel_of(body: str) -> Kernel:
    (kernel,) = parse_dump(BODY + body).kernels
    return kernel


def at_one_place(kernel: Kernel) -> Verdict:
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    return check_plan(kernel, SCOPE, offsets, 128, {}, assume_barriers=False)


def filling(engine: Engine = Engine.THREAD) -> Row:
    operand = Operand(0, Access.WRITE, BytesIn(2), swizzled=True)
    return Effect(operands=(operand,), engine=engine)


def test_without_a_row_nothing_is_known_and_nothing_is_proved() -> None:
    verdict = at_one_place(kernel_of(COPY_THEN_SCRATCH))
    assert verdict.verdict == "unproved"
    assert "`fill` has no row in the table of effects" in str(verdict.uncovered)


@pytest.mark.parametrize("row", [filling(engine=Engine.CP_ASYNC)], indirect=True)
def test_touches_lifetimes_alignment_and_checker_follow(row: None) -> None:
    kernel = kernel_of(COPY_THEN_SCRATCH)
    filled, scratch = kernel.allocations(SCOPE)
    entries = linearize(kernel, SCOPE, inner).entries
    (touch,) = next(entry.touched for entry in entries if entry.touched)
    assert (touch.buffer, touch.access) == (filled, Access.WRITE)
    live = dataflow(kernel, SCOPE).live
    assert live[filled].overlaps(live[scratch])  # until the copy is waited for
    assert alignments(kernel, SCOPE) == {filled: 1024, scratch: 16}
    assert at_one_place(kernel).verdict == "unsound"


@pytest.mark.parametrize("row", [filling()], indirect=True)
def test_a_synchronous_one_is_over_at_once(row: None) -> None:
    read_before = "T.fill(As.data, X, 128)\nT.evaluate(As[tx])\nBs[tx] = tx\nOs[0] = Bs[tx]\n"
    kernel = kernel_of(read_before)
    filled, scratch = kernel.allocations(SCOPE)
    live = dataflow(kernel, SCOPE).live
    assert not live[filled].overlaps(live[scratch])


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Effect(meeting=Meeting(Group.BLOCK)), "sound"),
        (Effect(meeting=Meeting(Group.NOBODY)), "unsound"),
        (Effect(words="nothing at all"), "unsound"),
    ],
    indirect=["row"],
)
def test_a_barrier_is_as_strong_as_its_row_says(row: None, verdict: str) -> None:
    body = "As[tx] = tx\nOs[0] = As[tx]\nT.fill()\nBs[31 - tx] = tx\nOs[0] = Bs[31 - tx]\n"
    assert at_one_place(kernel_of(body)).verdict == verdict


@pytest.mark.parametrize(
    ("row", "live_together"),
    [
        (Effect(answer=Answer.SAME, words="a value"), False),
        (Effect(answer=Answer.VARIES, words="a value"), True),
    ],
    indirect=["row"],
)
def test_a_branch_on_it_diverges_if_threads_may_differ_in_it(
    row: None, live_together: bool
) -> None:
    body = """
if T.fill() == 0:
    As[tx] = tx
    Os[0] = As[tx]
else:
    Bs[tx] = tx
    Os[0] = Bs[tx]
"""
    kernel = kernel_of(body)
    pair = frozenset(kernel.allocations(SCOPE))
    assert (pair in dataflow(kernel, SCOPE).concurrent) == live_together


@pytest.mark.parametrize("row", [Effect(mbarrier=Mbarrier(Signal.ARRIVE))], indirect=True)
def test_an_arrival_completes_a_phase(row: None) -> None:
    barrier = 'mbar = T.alloc_buffer((1,), "uint64", scope="shared.barrier")\n'
    body = """
if tx == 0:
    T.ptx_init_barrier_thread_count(mbar[0], 32)
T.tvm_storage_sync("shared")
As[tx] = tx
Os[0] = As[tx]
T.fill(mbar[0])
T.mbarrier_wait_parity(mbar[0], 0)
Bs[31 - tx] = tx
Os[0] = Bs[31 - tx]
"""
    (kernel,) = parse_dump(BODY + barrier + body).kernels
    assert at_one_place(kernel).verdict == "sound"
