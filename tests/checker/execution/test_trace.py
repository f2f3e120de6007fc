"""The control flow of a trace: arms, branches on data, loops, and when it gives up."""

from __future__ import annotations

import pytest

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.execution.joined import MAX_ROUNDS, ROUNDS_ALIKE
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import (
    COPY_A,
    SYNC,
    TO_AND_FRO,
    USE_B,
    init_barrier,
    judge,
    kernel_of,
    trace_of,
    traced,
    under,
)

# Straight on --------------------------------------------------------------------------------------


def test_what_does_not_matter_is_not_executed() -> None:
    assert traced(kernel_of("O[tx] = 1\nc[0] = 2\n")).steps == 0
    assert traced(kernel_of("O[tx] = 1\nAs[tx] = 2\n")).steps == 1


def test_a_trace_that_takes_too_long_is_given_up() -> None:
    kernel = kernel_of("c[0] = 0\n" + under("while c[0] < 99", "c[0] = c[0] + 1\nAs[tx] = 1\n"))
    trace = trace_of(kernel, budget=30)
    with pytest.raises(Uncovered, match="more than 30 steps"):
        trace.run(kernel.body)
    trace_of(kernel, budget=300).run(kernel.body)


def test_the_body_of_an_assertion_is_executed() -> None:
    checked = 'with T.Assert(D[0] < 3, "few")'
    assert judge(f"As[63 - tx] = 1\n{under(checked, SYNC)}Bs[tx] = 1\n").sound
    assert judge("As[63 - tx] = 1\n" + under(checked, "Bs[tx] = 1\n")).verdict == UNSOUND


def test_a_condition_reads_shared_memory_too() -> None:
    body = under("if As[63 - tx] < 3", "O[tx] = 1\n")
    assert judge(f"{body}Bs[tx] = 1\n").verdict == UNPROVED
    assert judge(f"{body}{SYNC}Bs[tx] = 1\n").sound


def test_the_axes_of_a_block_are_numbered_with_x_first() -> None:
    axes = 'ty = T.launch_thread("threadIdx.y", 2)\n'
    write = "As[ty * 64 + tx] = 1\n"
    assert judge(f"{axes}{write}Bs[ty * 64 + tx] = 1\n", elements=128).sound
    assert judge(f"{axes}{write}Bs[tx * 2 + ty] = 1\n", elements=128).verdict == UNSOUND


def test_an_axis_of_one_thread_is_0() -> None:
    axes = 'tz = T.launch_thread("threadIdx.z", 1)\n'
    assert judge(f"{axes}As[tx + tz] = 1\nBs[tx + tz] = 1\n").sound


def test_a_condition_that_is_known_takes_one_arm() -> None:
    for condition, taken in (("tx < 64", "then"), ("tx < 0", "orelse")):
        branch = under(f"if {condition}", "O[tx] = As[tx]\nBs[63 - tx] = 1\n")
        branch += under("else", "O[tx] = As[tx]\nBs[tx] = 1\n")
        assert judge(branch).verdict == (UNSOUND if taken == "then" else SOUND)


# Arms that threads share out ----------------------------------------------------------------------


def test_threads_of_different_arms_are_not_ordered() -> None:
    body = under("if tx < 32", "As[tx] = 1\n") + under("else", "Bs[tx - 32] = 1\n")
    assert judge(body).verdict == UNSOUND


def test_in_an_arm_only_its_threads_act() -> None:
    body = under("if tx < 32", "As[tx] = 1\n") + under("else", "Bs[tx] = 1\n")
    assert judge(body).sound


def test_arms_one_behind_the_other_run_at_the_same_time() -> None:
    """The threads that skip the first do not wait for it: the first waits for the second."""
    first = under("if tx < 32", "T.mbarrier_wait_parity(full[0], 0)\nBs[tx] = 1\n")
    second = under("if tx >= 32", "As[tx - 32] = 1\nT.ptx_arrive_barrier(full[0])\n")
    assert judge(init_barrier(32) + first + second).sound
    assert judge(init_barrier(32) + first.replace("Bs", "O") + second + SYNC + USE_B).sound


def test_arms_with_something_between_them_come_one_after_the_other() -> None:
    first = under("if tx < 32", "T.mbarrier_wait_parity(full[0], 0)\nBs[tx] = 1\n")
    second = under("if tx >= 32", "As[tx - 32] = 1\nT.ptx_arrive_barrier(full[0])\n")
    (violation,) = judge(init_barrier(32) + first + SYNC + second + TO_AND_FRO).violations
    assert violation.rule == Rule.COLLECTIVE  # without that barrier they run at the same time
    nobody = "an mbarrier is waited for that nobody completes"
    for between in ("v: T.int32 = tx\n", under("if D[0] < 3", "As[tx] = 1\n")):
        found = judge(init_barrier(32) + first + between + second + TO_AND_FRO)
        assert found.verdict is UNPROVED
        assert nobody in found.uncovered[0]


def test_between_branches_that_wait_for_nobody_a_barrier_may_be_inserted() -> None:
    first = under("if tx < 32", "As[tx] = 1\nO[tx] = As[tx]\n")
    body = first + under("if tx >= 32", "Bs[tx - 32] = 1\n")
    assert judge(body).verdict == UNSOUND
    assert judge(body, assume_barriers=True).sound


def test_arms_that_wait_for_each_other_in_a_circle_are_given_up() -> None:
    first = "T.mbarrier_wait_parity(full[0], 0)\nT.ptx_arrive_barrier(full[1])\n"
    second = first.replace("0]", "2]").replace("1]", "0]").replace("2]", "1]")
    body = init_barrier(32) + init_barrier(32, "full[1]")
    body += under("if tx < 32", first) + under("else", second)
    found = judge(body + TO_AND_FRO)
    assert found.uncovered == ("an mbarrier is waited for that nobody completes",)


def test_behind_the_arms_all_threads_go_on() -> None:
    body = under("if tx < 32", "As[tx] = 1\n") + "Bs[tx] = 1\n"
    assert judge(body).sound  # each thread its own bytes
    assert judge(body.replace("Bs[tx]", "Bs[63 - tx]")).verdict == UNSOUND


# Conditions on data -------------------------------------------------------------------------------


def test_both_outcomes_are_followed() -> None:
    for arms in (("Bs[tx] = 1\n", "O[tx] = 1\n"), ("O[tx] = 1\n", "Bs[tx] = 1\n")):
        branch = under("if D[0] < 3", arms[0]) + under("else", arms[1])
        found = judge(f"As[tx] = 1\n{SYNC}{branch}{SYNC}O[tx] = As[tx]\n")
        assert found.verdict == UNPROVED
        assert found.violations[0].rule == 2


def test_what_holds_in_both_outcomes_holds_behind_them() -> None:
    met, apart = under("if D[0] < 3", SYNC), under("if D[0] < 3", "O[tx] = 1\n")
    orelse = under("else", f"O[tx] = 1\n{SYNC}")
    assert judge(f"As[63 - tx] = 1\n{met}{orelse}Bs[tx] = 1\n").sound
    assert not judge(f"As[63 - tx] = 1\n{apart}{orelse}Bs[tx] = 1\n").sound
    assert not judge(f"As[63 - tx] = 1\n{met}Bs[tx] = 1\n").sound


def test_behind_a_condition_on_data_nothing_is_certain_any_more() -> None:
    found = judge(under("if D[0] < 3", "O[tx] = 1\nAs[tx] = 1\n") + "As[tx] = 1\nBs[63 - tx] = 1\n")
    assert found.verdict == UNPROVED


def test_if_threads_may_differ_in_a_condition_both_arms_run_at_once() -> None:
    branch = under("if D[{}] < 3", "As[tx] = 1\n") + under("else", "Bs[63 - tx] = 1\n")
    assert judge(branch.format("0")).sound
    found = judge(branch.format("tx"))
    assert found.verdict == UNPROVED
    assert found.violations[0].rule == 4


def test_if_threads_may_differ_no_write_in_the_arm_is_sure() -> None:
    body = under("if D[tx] < 3", "As[tx] = 2\n")
    before = f"As[tx] = 1\n{SYNC}Bs[tx] = D[0]\n{SYNC}"
    assert judge(f"{before}As[tx] = 2\nO[tx] = As[tx]\n").sound
    assert judge(f"{before}{body}O[tx] = As[tx]\n").verdict == UNPROVED


# Loops --------------------------------------------------------------------------------------------

CARRIED = f"O[tx] = As[tx]\n{SYNC}Bs[tx] = 1\n{SYNC}"


@pytest.mark.parametrize(
    ("rounds", "verdict"),
    [("1", SOUND), ("2", UNSOUND), ("9", UNSOUND), ("0", SOUND), ("D[0]", UNPROVED)],
)
def test_a_loop_goes_round(rounds: str, verdict: str) -> None:
    body = f"As[tx] = 1\n{SYNC}" + under(f"for k in range({rounds})", CARRIED)
    assert judge(body).verdict == verdict


def test_a_loop_has_the_values_of_its_bounds() -> None:
    body = "for k in range(2, 64, 8):\n    As[k] = 1\n"
    assert judge(body + "Bs[58] = 1\n").verdict == UNSOUND
    assert judge(body + "Bs[59] = 1\n").sound


def test_the_witness_says_in_which_round() -> None:
    found = judge(f"As[tx] = 1\n{SYNC}" + under("for k in range(9)", CARRIED))
    assert "at k = 1 reads byte 0 of As" in found.violations[0].witness
    assert "at k = 0 overwrote it" in found.violations[0].witness


def test_the_iterations_of_an_independent_loop_are_one_step() -> None:
    assert traced(kernel_of(under("for k in range(99)", "As[tx] = k\n"))).steps == 1


def test_a_while_runs_as_long_as_its_condition_is_known() -> None:
    body = f"As[tx] = 1\n{SYNC}c[0] = 0\n"
    loop = under("while c[0] < {}", f"c[0] = c[0] + 1\n{CARRIED}")
    assert judge(body + loop.format("1")).sound
    assert judge(body + loop.format("2")).verdict == UNSOUND


def test_a_while_on_data_goes_round_until_nothing_changes() -> None:
    body = f"As[tx] = 1\n{SYNC}"
    assert judge(body + under("while D[0] < 3", CARRIED)).verdict == UNPROVED
    assert judge(body + under("while D[0] < 3", f"O[tx] = As[tx]\n{SYNC}")).sound


def test_in_a_while_that_threads_leave_one_by_one_no_write_is_sure() -> None:
    before = f"As[tx] = 1\n{SYNC}Bs[tx] = D[0]\n{SYNC}"
    loop = under("while D[{}] < 3", "As[tx] = 2\nO[tx] = As[tx]\n")
    assert judge(before + loop.format("0")).sound
    assert judge(before + loop.format("tx")).verdict == UNPROVED


def test_behind_a_while_that_threads_leave_one_by_one_its_locals_may_differ() -> None:
    branch = under("if c[0] < 3", "As[tx] = 1\n") + under("else", "Bs[63 - tx] = 1\n")
    loop = under("while D[{}] < 3", "c[0] = D[1]\n")
    assert judge("c[0] = D[0]\n" + loop.format("0") + branch).sound
    found = judge("c[0] = D[0]\n" + loop.format("tx") + branch)
    assert [one.rule for one in found.violations] == [4]


def test_a_condition_on_shared_memory_is_read_in_every_round() -> None:
    loop = under("while As[0] < 3", f"{SYNC}Bs[tx] = 1\n{SYNC}")
    assert judge(f"As[tx] = 1\n{SYNC}{loop}").verdict == UNPROVED


def test_a_loop_that_does_not_settle_is_given_up() -> None:
    links = ROUNDS_ALIKE + MAX_ROUNDS
    chain = "".join(f"c{n}[0] = c{n + 1}[0]\n" for n in range(links + 1))
    declared = "\n".join(
        f'c{n} = T.alloc_buffer((1,), "int32", scope="local.var")' for n in range(links + 2)
    )
    initial = "".join(f"c{n}[0] = 0\n" for n in range(links + 2))
    deep = f"{chain}c{links + 1}[0] = D[0]\nAs[tx + c0[0] - c0[0]] = 1\n"
    found = judge(initial + under("for k in range(D[0])", deep + USE_B), declared=declared)
    assert found.verdict == UNPROVED
    assert "did not settle" in found.uncovered[0]


def test_what_is_in_flight_goes_round_too() -> None:
    rounds = "for k in range({})"
    body = f"Bs[tx] = 1\nO[tx] = Bs[tx]\n{SYNC}{COPY_A}T.ptx_commit_group()\n"
    assert judge(under(rounds.format(1), body)).sound
    assert judge(under(rounds.format(2), body)).verdict == UNSOUND
    assert judge(under(rounds.format("D[0]"), body)).verdict == UNPROVED


# Barriers that are yet to be inserted (rule 6) ----------------------------------------------------

WRITE_AND_READ = "As[63 - tx] = 1\nO[tx] = As[63 - tx]\n"


@pytest.mark.parametrize(
    ("body", "with_barriers"),
    [
        (f"{WRITE_AND_READ}Bs[tx] = 1\n", SOUND),
        # A whole warp.
        (under("if tx < 32", "As[tx] = 1\nO[tx] = As[tx]\nBs[31 - tx] = 1\n"), SOUND),
        (under("if tx < 16", "As[15 - tx] = 1\nBs[tx] = 1\n"), UNSOUND),  # part of one
        (under("if D[tx] < 3", "As[63 - tx] = 1\nBs[tx] = 1\n"), UNPROVED),  # an unknown few
        (under("if tx < 32", "As[tx] = 1\n") + under("else", "Bs[tx - 32] = 1\n"), UNSOUND),
        (under("if tx < 32", "As[tx] = 1\n") + "Bs[tx * 3 % 64] = 1\n", SOUND),
        (under("if As[63 - tx] < 3", "O[tx] = 1\n") + "Bs[tx] = 1\n", SOUND),
        (f"{COPY_A}Bs[tx] = 1\n", UNSOUND),  # a barrier waits for no copy
    ],
)
def test_a_later_pass_inserts_barriers_where_all_threads_come_by(
    body: str, with_barriers: str
) -> None:
    assert judge(body).verdict != SOUND
    found = judge(body, assume_barriers=True)
    assert found.verdict == with_barriers
    assert len(found.assumptions) == 1


# Loops that are not serial ----------------------------------------------------------------------


def test_each_statement_of_a_vectorized_loop_is_done_for_all_lanes_at_once() -> None:
    """Both elements of As are written, then Bs over the second one, then both are read."""
    loop = under("for v in T.vectorized(2)", "As[v] = v\nBs[v] = 7\nO[v] = As[v]\n")
    assert not judge(loop, threads=1, elements=2, offsets={"Bs": 4}).sound


def test_a_loop_may_count_down() -> None:
    loop = under("for k in range(3, -1, -1)", "Bs[63 - tx] = k\n")
    assert not judge(f"As[tx] = 1\n{SYNC}{loop}{SYNC}O[tx] = As[tx]\n").sound


def test_a_loop_that_counts_down_goes_through_all_its_values() -> None:
    """As[0] is written, and As[1] is, but not As[2]: so Bs[2] is still there."""
    loop = under("for k in range(1, -1, -1)", f"As[k] = k\n{SYNC}")
    assert judge(f"Bs[2] = 1\n{loop}O[0] = Bs[2]\n", threads=1, elements=4).sound
    assert not judge(f"Bs[0] = 1\n{loop}O[0] = Bs[0]\n", threads=1, elements=4).sound


def test_a_vectorized_copy_is_followed() -> None:
    copy = under("for v in T.vectorized(4)", "As[tx * 4 + v] = D[tx * 4 + v]\n")
    use = f"{copy}{SYNC}O[tx] = As[255 - tx]\n{SYNC}"
    assert judge(f"{use}{use.replace('As', 'Bs')}", elements=256).sound


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("for v in T.vectorized(4)", "As[v] = Bs[v + 1]\n"),  # whether lane by lane is not known
        ("for v in T.vectorized(4)", f"As[v] = v\n{SYNC}Bs[v] = 7\n"),
        ("for v in T.vectorized(D[0])", "As[v] = v\nBs[v] = 7\n"),
    ],
)
def test_other_vectorized_loops_are_not_followed(header: str, body: str) -> None:
    verdict = judge(under(header, body), threads=1, elements=8)
    assert verdict.verdict is UNPROVED
    assert "vectorized" in verdict.uncovered[0]


def test_a_thread_is_elected_in_every_row_of_a_block() -> None:
    """`cutlass::canonical_warp_idx` is threadIdx.x / 32: 0 in both warps here."""
    rows = 'ty = T.launch_thread("threadIdx.y", 2)\n'
    use = "As[ty] = 1\nO[ty] = As[ty]\nBs[1 - ty] = 2\nO[ty] = Bs[1 - ty]\n"
    assert judge(rows + under("if tx == 0", use), threads=32).verdict == UNSOUND
    assert not judge(rows + under("if T.tl_shuffle_elect(0)", use), threads=32).sound
