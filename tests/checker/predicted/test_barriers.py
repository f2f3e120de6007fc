"""What a later pass does not compare, so that no barrier is counted on between."""

from __future__ import annotations

from textwrap import dedent

import pytest

from smemreuse.checker import check_plan
from smemreuse.checker.budget import Work
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import If, walk_statements
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import SCOPE, SYNC, judge, judge_kernel, kernel_of, under

USE = "{0}s[tx] = 1\nO[tx] = {0}s[63 - tx]\n"
USE_A, USE_B = USE.format("A"), USE.format("B")


def proved(body: str) -> bool:
    return judge(body, assume_barriers=True).sound


@pytest.mark.parametrize("condition", ["c[0] < 3", "c[0] < D[0]"])
def test_it_does_not_go_round_a_while(condition: str) -> None:
    """A thread may write As in the next round while another one still reads Bs in this one."""

    def loop(body: str) -> str:
        return "c[0] = 0\n" + under(f"while {condition}", f"{body}c[0] = c[0] + 1\n")

    assert not proved(loop(USE_A + USE_B))
    assert not proved(loop(under("for k in range(2)", USE_A) + USE_B))
    assert not proved(loop(under("for k in range(1)", USE_A + USE_B)))
    assert proved(USE_B + loop(USE_A))
    assert proved(under("for k in range(3)", USE_A + USE_B))


def test_what_a_loop_in_it_carries_gets_a_barrier_in_each_round_of_that() -> None:
    body = under("for k in range(2)", USE_A + USE_B) + "c[0] = c[0] + 1\n"
    assert proved("c[0] = 0\n" + under("while c[0] < 3", body))


def test_a_barrier_at_the_end_of_a_round_is_enough() -> None:
    body = under("while c[0] < 3", f"{USE_A}{USE_B}{SYNC}c[0] = c[0] + 1\n")
    assert proved(f"c[0] = 0\n{body}")


@pytest.mark.parametrize("behind", ["", USE_A])
def test_writes_alone_are_no_reason_for_a_barrier(behind: str) -> None:
    """No thread writes to one place twice: ThreadSync sees no collision."""
    write = "Bs[63 - tx] = 2\nO[tx] = Bs[tx]\n"
    assert not proved(f"{USE_A}As[tx] = 5\n{write}{behind}")
    assert not proved(under("for k in range(3)", f"As[tx] = 5\n{write}") + behind)
    assert proved(f"{USE_A}As[tx] = 5\nO[tx] = As[tx]\n{write}{behind}")
    assert proved(f"{USE_A}As[tx] = 5\n{write.replace('63 - tx', 'tx * 3 % 64')}{behind}")


@pytest.mark.parametrize("behind", ["", USE_A])
def test_one_index_is_taken_for_one_thread(behind: str) -> None:
    """Of two warps each reads what the other one may have overwritten."""
    body = "As[tx % 32] = 7\nO[tx] = As[{}]\nBs[tx % 32] = 8\nO[tx] = Bs[tx % 32]\n"
    assert not proved(body.format("tx % 32") + behind)
    assert proved(body.format("tx").replace("Bs[tx % 32]", "Bs[tx]") + behind)
    assert proved(body.format("tx % 32").replace("Bs[tx % 32] = 8", f"{SYNC}Bs[tx % 32] = 8"))


def test_who_judges_once_more_may_hope_for_more() -> None:
    kernel = kernel_of(
        "c[0] = 0\n" + under("while c[0] < D[0]", f"{USE_A}{USE_B}c[0] = c[0] + 1\n")
    )
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    for optimistic in (False, True):
        assert (
            check_plan(kernel, SCOPE, offsets, 256, {}, optimistic=optimistic).sound is optimistic
        )


OTHERS = "As[tx + 32] = 1\nO[tx] = As[127 - tx]\n"
"""A barrier comes between the two."""

OWN = "As[64 + tx] = 1\nO[tx] = As[127 - tx]\n"
"""It has a barrier in it, and collides with nothing else."""

BEFORE, BEHIND = "As[tx] = 2\nO[tx] = As[tx]\n", "Bs[63 - tx] = 1\nO[tx] = Bs[63 - tx]\n"
FORTH = f"{SYNC}As[tx] = 1\nO[tx] = As[tx]\n"


@pytest.mark.parametrize(("condition", "given"), [("D[0] < 3", ""), ("c[0] < 3", "c[0] = {}\n")])
@pytest.mark.parametrize("arm", ["then", "orelse"])
def test_a_barrier_in_an_arm_that_is_left_out_is_not_met(
    condition: str, given: str, arm: str
) -> None:
    """The pass takes it for one on the way from As to Bs."""

    def proved_with(own: str) -> bool:
        then, orelse = (own, "O[tx] = 0\n") if arm == "then" else ("O[tx] = 0\n", own)
        branch = under(f"if {condition}", then) + under("else", orelse)
        start = given.format(5 if arm == "then" else 0)
        return judge(
            start + BEFORE + branch + BEHIND + FORTH, elements=192, assume_barriers=True
        ).sound

    assert not proved_with(OWN)
    assert proved_with("As[64 + tx] = 1\n")


def test_of_the_first_arm_nothing_is_remembered_behind_a_barrier_in_the_second() -> None:
    def proved_with(orelse: str) -> bool:
        branch = under("if c[0] < 3", BEFORE) + under("else", orelse)
        body = f"c[0] = 0\n{branch}{BEHIND}{FORTH}"
        return judge(body, elements=192, assume_barriers=True).sound

    assert not proved_with(OWN)
    assert proved_with("As[64 + tx] = 1\n")


@pytest.mark.parametrize(("orelse", "parts"), [("As[tx + 32] = 1\n", True), (OTHERS, False)])
def test_what_collides_with_the_first_arm_parts_branches_if_it_is_remembered(
    orelse: str, *, parts: bool
) -> None:
    first = under("if tx < 32", "As[31 - tx] = 1\n") + under("else", orelse)
    kernel = kernel_of(first + under("if tx < 32", "O[tx] = As[tx]\n"), elements=192)
    prediction = Prediction.of(kernel, KernelAccesses.of(kernel.body).pointers, {}, Work())
    one, two = (stmt for stmt in walk_statements(kernel.body) if isinstance(stmt, If))
    assert prediction.surely_parts(one, two) is parts


@pytest.mark.parametrize(("threads", "rows"), [(16, 8), (32, 4)])
def test_in_rows_of_less_than_a_warp_no_branch_has_a_barrier_of_its_own(
    threads: int, rows: int
) -> None:
    """The pass moves it before the branch, where it orders nothing in there."""
    own, other = f"tx + ty * {threads}", f"63 - tx - ty * {threads}"
    body = under(
        f"if ty < {64 // threads}",
        f"As[{own}] = tx\nO[{own}] = As[{own}]\nBs[{other}] = tx\nO[{own}] = Bs[{other}]\n",
    )
    declared = f'ty = T.launch_thread("threadIdx.y", {rows})'
    found = judge(body, threads=threads, elements=128, declared=declared, assume_barriers=True)
    assert found.sound is (threads == 32)


@pytest.mark.parametrize("first", [True, False])
def test_threads_are_launched_last(first: bool) -> None:
    """The pass takes the last three launches for those of threads."""
    blocks = "".join(f'b{at} = T.launch_thread("blockIdx.{at}", 2)\n' for at in "xyz")
    threads = 'tx = T.launch_thread("threadIdx.x", 64)\n'
    buffers = "".join(
        f'{name} = T.alloc_buffer((64,), "int32", scope="shared.dyn")\n' for name in ("As", "Bs")
    )
    body = "As[tx] = 1\nAs[tx] = As[tx] + 1\nBs[63 - tx] = 1\nBs[63 - tx] = Bs[63 - tx] + 1\n"
    text = (threads + blocks if first else blocks + threads) + buffers + body
    (kernel,) = parse_dump(text).kernels
    assert judge_kernel(kernel, assume_barriers=True).sound is not first


@pytest.mark.parametrize(("index", "found"), [("5 + v * 64", False), ("5 + n * 64", True)])
def test_what_a_variable_is_bound_to_is_known(index: str, found: bool) -> None:
    """As[v * 64 + 5] is never what As[tx] is, so no barrier comes that a byte of Bs needs."""
    body = f"""
    Cs[tx] = tx
    {SYNC.strip()}
    O[tx] = Cs[63 - tx]
    As[tx] = tx
    O[0] = As[{index}]
    Es[(tx * 4 + 5) % 256] = T.Cast("int8", tx)
    O[tx] = T.Cast("int32", Es[(tx * 4 + 5) % 256])
    """
    declared = """
n = T.int32()
v: T.int32 = n % 4 + 1
Cs = T.alloc_buffer((64,), "int32", scope="shared.dyn")
Es = T.alloc_buffer((256,), "int8", scope="shared.dyn")
"""
    kernel = kernel_of(dedent(body), elements=512, declared=declared)
    places = {"Bs": 8192, "Cs": 4096, "Es": 4096}
    assert judge_kernel(kernel, places, assume_barriers=True).sound is found
