"""Kernels whose control flow depends on data: case by case, and for every length of a loop."""

from __future__ import annotations

import itertools

import pytest

from smemreuse.checker import CHECK_WAS_BOUNDED
from smemreuse.checker.execution.trace import Trace
from smemreuse.checker.execution.traces import BOUNDED_TRACES
from smemreuse.checker.values import cases
from smemreuse.checker.values.cases import LARGE, Cases
from smemreuse.checker.values.interned import InternTable
from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import Block
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND
from tests.checker.small import (
    SYNC,
    TO_AND_FRO,
    USE_B,
    init_barrier,
    judge,
    tma_load,
    under,
)


def init(stages: int = 2) -> str:
    """Mbarriers for full stages, and for empty ones."""
    full = "".join(init_barrier(1, f"full[{one}]") for one in range(stages))
    return full + "".join(init_barrier(32, f"full[{stages + one}]") for one in range(stages))


def pipeline(
    length: str = "D[0]",
    *,
    stages: int = 2,
    consumed: str = "",
    before: str = "",
    behind: str = "",
    producer: str = "",
    extra: str = "",
) -> str:
    """A producer's warp and a consumer's, and as many rounds as data say."""
    stage = f"k % {stages}"
    parity = f"k // {stages} % 2"
    load = f"T.ptx_arrive_barrier_expect_tx(full[{stage}], 128)\n" + tma_load(
        "As", barrier=f"full[{stage}]"
    ).replace("As.data, 0, 64", f"As.data, ({stage}) * 32, 32")
    produce = f"T.mbarrier_wait_parity(full[{stage} + {stages}], ({parity}) ^ 1)\n"
    produce += under("if tx == 0", load)
    consume = f"T.mbarrier_wait_parity(full[{stage}], {parity})\n"
    consume += f"O[tx] = As[{stage} * 32 + tx - 32]\n" + extra
    consume += f"T.ptx_arrive_barrier(full[{stage} + {stages}])\n"
    arms = under("if tx < 32", under(f"for k in range({length})", produce) + (producer or ""))
    arms += under("else", before + under(f"for k in range({consumed or length})", consume) + behind)
    return init(stages) + arms


def verdict(body: str, elements: int = 64) -> str:
    return judge(body, elements=elements).verdict


# What is proved ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "length",
    ["D[0]", "D[bx]", "(D[1] - D[0] + 31) // 32", "T.max(D[0], 3)", "D[0] & 1023", "m"],
)
def test_a_loop_may_have_any_length(length: str) -> None:
    declared = "" if length != "m" else "m = T.int32()\n"
    assert verdict(declared + pipeline(length) + SYNC + USE_B) is SOUND


@pytest.mark.parametrize("stages", [1, 2])
def test_all_stages_and_parities_are_seen(stages: int) -> None:
    assert verdict(pipeline(stages=stages) + SYNC + USE_B) is SOUND


def test_the_length_may_be_kept_in_a_variable_of_each_arm_or_in_a_local() -> None:
    assert (
        verdict(pipeline("n").replace("    for", "    n: T.int32 = D[0]\n    for") + SYNC + USE_B)
        is SOUND
    )
    assert (
        verdict(pipeline("c[0]").replace("    for", "    c[0] = D[0] + 1\n    for") + SYNC + USE_B)
        is SOUND
    )


def test_what_depends_on_the_length_behind_the_loop_is_evaluated_with_it() -> None:
    """The producer waits until the last stage has been consumed, and uses the bytes."""
    drained = under(
        "if n > 0", "T.mbarrier_wait_parity(full[(n - 1) % 2 + 2], (n - 1) // 2 % 2)\n"
    ) + under("if n > 1", "T.mbarrier_wait_parity(full[n % 2 + 2], (n - 2) // 2 % 2)\n")
    body = pipeline("n", producer=drained + "Bs[tx] = 1\n")
    assert verdict("n: T.int32 = D[0]\n" + body) is SOUND


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(n - 1) // 2 % 2", "n // 2 % 2"),
        ("n > 0", "n > 1"),
        ("n > 0", "n > 7"),
        ("full[n % 2 + 2]", "full[(n - 1) % 2 + 2]"),
    ],
)
def test_a_wrong_wait_behind_the_loop_is_noticed(right: str, wrong: str) -> None:
    drained = under(
        "if n > 0", "T.mbarrier_wait_parity(full[(n - 1) % 2 + 2], (n - 1) // 2 % 2)\n"
    ) + under("if n > 1", "T.mbarrier_wait_parity(full[n % 2 + 2], (n - 2) // 2 % 2)\n")
    assert right in drained
    body = pipeline("n", producer=drained.replace(right, wrong) + "Bs[tx] = 1\n")
    assert verdict("n: T.int32 = D[0]\n" + body) is UNPROVED


# What is not ------------------------------------------------------------------------------------


def waited_for_within(where: str) -> str:
    """A load that is waited for in a loop of `{}` rounds, in one of them."""
    first = init_barrier(1, "full[3]") + under(
        "if tx == 0",
        "T.ptx_arrive_barrier_expect_tx(full[3], 128)\n" + tma_load("Bs", 32, "full[3]"),
    )
    waited = "T.mbarrier_wait_parity(full[3], 0)\n"
    return first + under(
        "if tx >= 32", under("for k in range({})", under(where, waited)) + "As[tx - 32] = 1\n"
    )


@pytest.mark.parametrize("where", ["if k == 0", "if k == 1", "if k == 4"])
def test_a_load_that_is_waited_for_in_one_round_is_in_flight_where_there_is_none(
    where: str,
) -> None:
    """TileLang waits for what is loaded before the loop in its first round."""
    body = waited_for_within(where)
    assert verdict(body.format("5")) is SOUND
    assert verdict(body.format("D[0]")) is UNPROVED
    assert verdict(body.format("T.max(D[0], 0) + 5")) is UNPROVED  # nothing is known of a length
    assert verdict(body.replace(f"{where}:", "if True:").format("D[0]")) is UNPROVED


@pytest.mark.parametrize("consumed", ["D[1]", "D[0] + 1", "D[tx // 32]", "O[0]", "As[0]"])
def test_arms_must_go_round_as_often(consumed: str) -> None:
    assert verdict(pipeline(consumed=consumed) + SYNC + USE_B) is UNPROVED


@pytest.mark.parametrize("length", ["O[0]", "As[0]", "D[tx // 32]", "D[O[0]]"])
def test_a_length_that_may_change_or_differ_is_not_followed(length: str) -> None:
    assert verdict(pipeline(length) + SYNC + USE_B) is UNPROVED


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 12, 30, 1000, 1 << 15, 1 << 20])
@pytest.mark.parametrize("compared", ["==", ">", ">="])
def test_no_length_is_forgotten(number: int, compared: str) -> None:
    """Behind so many rounds the producer does not wait for the consumer."""
    body = "n: T.int32 = D[0]\n" + pipeline("n")
    body += under(f"if n {compared} {number}", under("if tx < 32", "Bs[tx] = 1\n")) + SYNC + USE_B
    assert verdict(body) is UNPROVED


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 8, 12, 30, 1000, 1 << 15, 1 << 20])
def test_no_round_is_forgotten(number: int) -> None:
    """In one round the consumer does something else."""
    extra = under(f"if k == {number}", "Bs[tx] = 1\n")
    assert verdict(pipeline(extra=extra) + SYNC + USE_B) is UNPROVED


def test_a_negative_length_is_none_and_may_decide_all_the_same() -> None:
    body = "n: T.int32 = D[0]\n" + pipeline("n")
    wrong = under(
        "if n < {}", under("if tx < 32", "Bs[tx] = 1\n") + under("else", "As[tx - 32] = 1\n")
    )
    assert verdict(body + SYNC + wrong.format(0) + SYNC + USE_B) is not SOUND
    assert verdict(body + SYNC + wrong.format(-9) + SYNC + USE_B) is not SOUND


# Conditions -------------------------------------------------------------------------------------


def test_a_condition_is_the_same_in_all_arms() -> None:
    load = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"))
    wait = "T.mbarrier_wait_parity(full[0], 0)\n"
    body = init_barrier(1) + under("if tx < 32", under("if D[0] > 0", load))
    assert verdict(body + under("else", under("if D[0] > 0", wait)) + SYNC + USE_B) is SOUND
    assert verdict(body + under("else", under("if D[1] > 0", wait)) + SYNC + USE_B) is UNPROVED
    assert verdict(body + under("else", under("if D[0] > 1", wait)) + SYNC + USE_B) is UNPROVED
    assert verdict(body + SYNC + USE_B) is UNPROVED


def test_rounds_may_be_left_out_as_data_say() -> None:
    """As block-sparse attention does: phases are counted, and the mask is kept in locals."""
    load = under("if tx == 0", "T.ptx_arrive_barrier_expect_tx(full[0], 256)\n" + tma_load("As"))
    produce = "T.mbarrier_wait_parity(full[1], c[0] % 2 ^ 1)\n" + load + "c[0] = c[0] + 1\n"
    consume = "T.mbarrier_wait_parity(full[0], c[0] % 2)\nO[tx] = As[tx]\n"
    consume += "T.ptx_arrive_barrier(full[1])\nc[0] = c[0] + 1\n"

    def kernel(one: str, two: str) -> str:
        def arm(mask: str, body: str) -> str:
            kept = f"mask[0:4] = T.Cast('int8x4', T.Cast('boolx4', {mask}[0:4]))\nc[0] = 0\n"
            return kept + under("for k in range(3)", under("if T.Cast('bool', mask[k])", body))

        arms = under("if tx < 32", arm(one, produce)) + under("else", arm(two, consume))
        return init(1) + arms + SYNC + USE_B

    declared = 'mask = T.alloc_buffer((4,), "int8", scope="local")\n'
    assert judge(kernel("D", "D"), declared=declared).sound
    assert judge(kernel("D", "O"), declared=declared).verdict is UNPROVED


def test_there_may_be_too_many_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    body = init_barrier(64) + "".join(
        under(f"if D[{one}] > 0", "T.mbarrier_wait_parity(full[0], 1)\n") for one in range(12)
    )
    monkeypatch.setattr(cases, "MAX_CASES", 100)
    found = judge(body + TO_AND_FRO)
    assert found.uncovered == ("data decide on too many ways through the kernel",)


# The cases themselves ---------------------------------------------------------------------------


FORMS = InternTable()
A, N = FORMS(Var("a")), FORMS(Var("n"))
KEYS = {"a": A, "n": N, "b": FORMS(Var("b"))}


def tried(*asked: str, need: tuple[int, int] = (0, 1)) -> list[dict[str, int]]:
    """The cases in which all of these are asked for; `n` is a length."""
    found = []
    for case in Cases():
        for one in asked:
            if one != "n":
                case.truth(KEYS[one])
            elif case.length(N) == LARGE:
                case.need(N, *need)
        found.append({one: case.given[KEYS[one]] for one in dict.fromkeys(asked)})
    return found


def test_conditions_are_tried_both_ways_in_all_combinations() -> None:
    assert len(tried()) == 1
    found = tried("a", "b", "a")
    assert sorted(tuple(one.values()) for one in found) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_lengths_are_tried_from_none_to_three_periods_and_one_that_stands_for_the_rest() -> None:
    assert [one["n"] for one in tried("n")] == [LARGE, 0, 1, 2]
    assert [one["n"] for one in tried("n", need=(2, 4))] == [LARGE, *range(14)]
    assert len(tried("n", "a", "b", need=(1, 2))) == 2 * 2 * (1 + 7)


def test_what_turns_out_later_to_be_needed_is_tried_too() -> None:
    lengths = []
    for case in Cases():
        length = case.length(N)
        lengths.append((length, case.truth(A)))
        if length == LARGE:
            case.need(N, 0, 1)
        if lengths[-1] == (2, 0):
            case.need(N, 4, 2, 1)
    assert sorted(set(lengths)) == [
        (length, one) for length in (*range(-3, 10), LARGE) for one in (0, 1)
    ]
    assert len(lengths) == len(set(lengths))


# In which order ---------------------------------------------------------------------------------


def test_all_cases_come_once_and_the_one_in_which_no_condition_holds_second() -> None:
    found = []
    keys = [FORMS(Var(name)) for name in "abc"]
    for case in Cases():
        found.append(tuple(case.truth(key) for key in keys))
    assert found[:2] == [(1, 1, 1), (0, 0, 0)]
    assert sorted(found) == sorted(itertools.product((0, 1), repeat=3))


def test_behind_the_long_loop_comes_the_shortest() -> None:
    found = []
    for case in Cases():
        found.append(case.length(N))
        case.need(N, 0, 1)
        case.need(N, 3, 1)  # more of them turn up
    assert found[:2] == [LARGE, 0]
    assert sorted(found) == [*range(6), LARGE]


def test_the_loop_without_a_round_may_come_before_the_long_one() -> None:
    found = []
    for case in Cases(short_first=True):
        found.append((case.length(N), case.truth(A)))
        if case.length(N) == LARGE:
            case.need(N, 1, 1)
    assert [length for length, _ in found[:2]] == [0, LARGE]
    assert sorted(found) == [(n, c) for n in (0, 1, 2, 3, LARGE) for c in (0, 1)]


def test_all_cases_come_where_one_condition_decides_whether_others_are_asked_for() -> None:
    found: list[tuple[int, ...]] = []
    first, *others = (FORMS(Var(name)) for name in "abc")
    for case in Cases():
        holds = case.truth(first)
        found.append((holds, *(case.truth(key) for key in others if not holds)))
    assert sorted(found) == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1,)]


def test_all_cases_come_where_a_length_is_asked_for_first() -> None:
    found = []
    for case in Cases():
        found.append((case.length(N), case.truth(A)))
        case.need(N, 1, 1)
    assert sorted(found) == [(n, c) for n in (0, 1, 2, 3, LARGE) for c in (0, 1)]


# Bounded checks -----------------------------------------------------------------------------------


def test_what_is_wrong_where_a_loop_has_no_round_is_seen_at_a_bounded_check() -> None:
    found = judge(waited_for_within("if k == 0").format("D[0]"), elements=64, bounded=True)
    assert found.violations
    assert found.verdict is UNPROVED


def test_what_is_right_is_not_proved_by_a_bounded_check_where_there_is_more() -> None:
    body = pipeline() + SYNC + USE_B
    assert verdict(body) is SOUND
    found = judge(body, elements=64, bounded=True)
    assert found.verdict is UNPROVED
    assert found.findings == (CHECK_WAS_BOUNDED,)


def test_what_a_bounded_check_sees_whole_is_judged() -> None:
    assert judge(TO_AND_FRO, bounded=True) == judge(TO_AND_FRO)
    assert judge("As[tx] = 1\nBs[tx] = As[63 - tx]\n", bounded=True).verdict is UNSOUND


def traced(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """What is given in each case that is traced from now on."""
    seen: list[list[int]] = []
    run = Trace.run

    def noted(trace: Trace, body: Block) -> None:
        try:
            run(trace, body)
        finally:
            seen.append([*trace.values.unknowns.case.given.values()])

    monkeypatch.setattr(Trace, "run", noted)
    return seen


def test_a_bounded_check_begins_where_a_loop_has_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = traced(monkeypatch)
    assert judge(waited_for_within("if k == 0").format("D[0]"), elements=64, bounded=True).findings
    assert seen == [[0]]


def test_a_bounded_check_asks_for_no_third_kind_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pipeline("4 + bx % 3") + SYNC + USE_B
    seen = traced(monkeypatch)
    monkeypatch.setattr("smemreuse.checker.execution.traces.LONG", 100)
    assert judge(body, elements=64, blocks=3, bounded=True).findings == (CHECK_WAS_BOUNDED,)
    assert len(seen) == BOUNDED_TRACES
    assert judge(body, elements=64, blocks=3).verdict is SOUND


def test_a_bounded_check_follows_a_trace_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it sees until then counts."""
    monkeypatch.setattr("smemreuse.checker.execution.traces.LONG", 8)
    late = TO_AND_FRO + 8 * SYNC
    assert judge(late, bounded=True).findings == (CHECK_WAS_BOUNDED,)
    assert judge(late).verdict is SOUND
    wrong = judge("As[tx] = 1\nBs[tx] = 1\nO[tx] = As[63 - tx]\n" + late, bounded=True)
    assert wrong.violations
    assert CHECK_WAS_BOUNDED in wrong.findings


# Loops that begin at data -----------------------------------------------------------------------


def _beginning(begin: str, number: str = "", length: str = "D[0]") -> str:
    body = pipeline(f"{begin}, {begin} + {length}")
    return body.replace("k %", f"({number or f'k - ({begin})'}) %").replace(
        "k //", f"({number or f'k - ({begin})'}) //"
    )


@pytest.mark.parametrize("begin", ["D[1]", "D[1] // 2 + 3", "T.max(D[1] * 64 - 511, 0) // 64", "m"])
def test_a_loop_may_begin_anywhere(begin: str) -> None:
    declared = "m = T.int32()\n" if begin == "m" else ""
    assert verdict(declared + _beginning(begin) + SYNC + USE_B) is SOUND
    assert verdict(declared + _beginning(begin, length="4") + SYNC + USE_B) is SOUND


@pytest.mark.parametrize("number", ["k", "k - D[2]", "k - D[1] + 1", "k - D[1] - 1"])
def test_the_wrong_number_of_a_round_is_noticed(number: str) -> None:
    assert verdict(_beginning("D[1]", number) + SYNC + USE_B) is not SOUND


def test_a_variable_that_is_bound_to_what_is_read_decides_nothing() -> None:
    """Nor does the local that it is made of, which a loop of any length may set."""
    computed = "v: T.int32 = c[1] + As[k % 2 * 32 + tx - 32]\nc[1] = v\n"
    assert verdict(pipeline(extra=computed) + SYNC + USE_B) is SOUND


ORDERED_ON_CONDITION = """\
As[tx] = 1
O[tx] = As[tx]
if 0 < D[0]:
    T.tvm_storage_sync("shared")
if 0 < D[1]:
    T.tvm_storage_sync("shared")
if 0 < D[0]:
    Bs[63 - tx] = 1
    O[tx] = Bs[63 - tx]
"""
"""Wrong, if one condition could be false where the barrier is, and then true; in four cases."""


def test_a_bounded_check_doubts_what_needs_one_condition_to_go_two_ways() -> None:
    found = judge(ORDERED_ON_CONDITION, elements=64, bounded=True)
    assert found.stopped_early
    assert found.findings == (CHECK_WAS_BOUNDED,)
    assert [sorted(one.name for one in pair) for pair in found.open_pairs] == [["As", "Bs"]]
    assert judge(ORDERED_ON_CONDITION, elements=64).verdict is SOUND


def test_that_a_bounded_check_stops_is_no_pairs_fault() -> None:
    found = judge(pipeline() + SYNC + USE_B, elements=64, bounded=True)
    assert found.stopped_early
    assert not found.open_pairs
