"""What the length of a loop says of conditions in it."""

from __future__ import annotations

import operator
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.checker.values.interned import InternTable
from smemreuse.checker.values.linear import COMPARISONS, ONE, combined, distance
from smemreuse.checker.values.quotients import (
    Edges,
    Quotient,
    atoms_of,
    decided,
    difference,
    edges,
)
from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.results.verdict import SOUND, UNPROVED
from tests.checker.small import SYNC, USE_B, under
from tests.checker.values.test_cases import pipeline, verdict

BEGIN, END, K = Var("begin"), Var("end"), Var("k")


def add(*terms: Expr) -> Expr:
    found = terms[0]
    for one in terms[1:]:
        found = Call("add", (found, one))
    return found


def times(number: int, expr: Expr) -> Expr:
    return Call("mul", (Const(number), expr))


def length(divisor: int, more: int, offset: int) -> Expr:
    """`(end - begin + more) // divisor + offset`."""
    dividend = add(Call("sub", (END, BEGIN)), Const(more))
    return add(Call("floordiv", (dividend, Const(divisor))), Const(offset))


def of_atom(expr: Expr) -> dict[object, int]:
    return {expr: 1}


@given(
    divisor=st.integers(1, 9),
    more=st.integers(-9, 9),
    offset=st.integers(-2, 2),
    begin=st.integers(-3, 3),
    step=st.integers(-12, 12),
    width=st.integers(-30, 30),
    comparison=st.sampled_from(sorted(COMPARISONS)),
    swapped=st.booleans(),
    is_last_first=st.booleans(),
)
def test_no_round_between_the_edges_differs(
    divisor: int,
    more: int,
    offset: int,
    begin: int,
    step: int,
    width: int,
    comparison: str,
    swapped: bool,
    is_last_first: bool,
) -> None:
    """In no sequence, of whatever length: compared with all values of the ends in question."""
    forms = InternTable()
    quotient = Quotient.of(forms(length(divisor, more, offset)), forms)
    assert quotient is not None
    number_of_tile: Expr = K
    if is_last_first:
        number_of_tile = Call("sub", (length(divisor, more, offset), add(K, Const(1))))
    place = add(BEGIN, times(step, number_of_tile), Const(width))
    condition = Call(comparison, (END, place) if swapped else (place, END))

    def atoms(expr: Expr) -> dict[object, int]:
        if expr is K:  # in terms of the number of the round
            return combined({K: 1}, {ONE: begin}, 1)
        return dict(atoms_of(forms)(expr) or {})

    found = distance(condition, atoms)
    assert found is not None
    both = edges(quotient, found, K)
    if step != divisor:
        assert both is None  # which rounds differ depends on how many there are
        return
    assert both is not None
    assert not (both.tail if is_last_first else both.head)
    compare = COMPARISONS[comparison]
    outcomes = set()
    for size in range(-4 * divisor, 40 * divisor):
        rounds = (size + more) // divisor + offset
        for number in range(both.head, rounds - both.tail):
            tile = rounds - 1 - (begin + number) if is_last_first else begin + number
            left = step * tile + width
            outcomes.add(compare(size, left) if swapped else compare(left, size))
    assert len(outcomes) <= 1


@given(st.integers(-5, 5), st.integers(0, 9), st.sampled_from(sorted(COMPARISONS)))
def test_what_is_decided_holds_of_all_numbers_between(least: int, more: int, name: str) -> None:
    found = {COMPARISONS[name](number, 0) for number in range(least, least + more + 1)}
    assert decided(name, least, least + more) == (int(found.pop()) if len(found) == 1 else None)


def test_a_length_that_may_wrap_says_nothing() -> None:
    end = Var("end", "uint32")
    forms = InternTable()
    expr = Call("floordiv", (Call("sub", (end, BEGIN)), Const(4)))
    assert Quotient.of(forms(expr), forms) is None
    assert Quotient.of(forms(Call("floordiv", (END, BEGIN))), forms) is None
    assert Quotient.of(forms(Call("floordiv", (END, Const(-4)))), forms) is None

    twice = forms(times(2, Call("floordiv", (END, Const(4)))))
    assert Quotient.of(twice, forms) == Quotient(
        {forms(Call("floordiv", (END, Const(4)))): 2}, 1, 0
    )


def test_a_length_that_is_no_quotient_is_one_by_one() -> None:
    forms = InternTable()
    rounds = forms(Call("sub", (Call("sub", (END, BEGIN)), Const(2))))
    quotient = Quotient.of(rounds, forms)
    assert quotient == Quotient({forms(END): 1, forms(BEGIN): -1}, 1, -2)
    before_last = Call("lt", (add(BEGIN, K, Const(3)), END))  # k < rounds - 1
    found = distance(before_last, atoms_of(forms))
    assert found is not None
    number = {K if one == forms(K) else one: factor for one, factor in found.items()}
    assert edges(quotient, number, K) == Edges(tail=1)


def test_comparisons_are_those_of_python() -> None:
    assert COMPARISONS["le"] is operator.le


# In kernels -------------------------------------------------------------------------------------

SEQUENCE = "(D[1] - D[0] + 31) // 32"
RELEASE = "T.ptx_arrive_barrier(full[k % 2 + 2])\n"


def _released(condition: str, otherwise: str = "", before: str = "", length: str = SEQUENCE) -> str:
    """The consumer releases its stage where a condition holds, or `otherwise`."""
    body = pipeline(length, before=before)
    (line,) = (one for one in body.splitlines(True) if one.strip() == RELEASE.strip())
    margin = line[: len(line) - len(line.lstrip())]
    inside = under(f"if {condition}", RELEASE)
    inside += under("else", otherwise) if otherwise else ""
    body = body.replace(line, "".join(margin + one for one in inside.splitlines(True)))
    return body + SYNC + USE_B


@pytest.mark.parametrize("width", [-64, 1, 31, 32, 33, 96, 320])
def test_both_arms_may_do_what_is_due(width: int) -> None:
    assert verdict(_released(f"D[0] + k * 32 + {width} <= D[1]", RELEASE)) is SOUND


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("D[0] + k * 32 + 32 <= D[1]", SOUND),
        ("D[1] - 32 >= k * 32 + D[0]", SOUND),
        ("D[0] + k * 32 + 65 <= D[1]", SOUND),
        ("D[0] + k * 32 + 66 <= D[1]", UNPROVED),
        ("D[0] + k * 32 + 65 < D[1]", UNPROVED),
        ("D[0] + k * 32 + 96 <= D[1]", UNPROVED),
        ("D[0] + k * 32 + 32 > D[1]", UNPROVED),
        ("D[0] + k * 31 + 32 <= D[1]", UNPROVED),
        ("D[2] + k * 32 + 32 <= D[1]", UNPROVED),
        ("D[0] + T.uint32(32) * k + 32 <= D[1]", UNPROVED),
    ],
)
def test_the_last_rounds_need_not_release_a_stage(condition: str, expected: str) -> None:
    """With two stages nobody waits for what the last two release."""
    assert verdict(_released(condition)) is expected


@pytest.mark.parametrize(
    "condition",
    [
        "D[0] + ({n} - 1 - k) * 32 + 32 <= D[1]",
        "D[0] + ({n} - 1 - k) * 32 + 96 <= D[1]",
        "D[0] + ({n} - 1 - k) * 31 + 32 <= D[1]",  # of which the length tells nothing
        "D[2] + ({n} - 1 - k) * 32 + 32 <= D[1]",
    ],
)
def test_the_first_tile_that_comes_may_be_the_last_one(condition: str) -> None:
    condition = condition.format(n=SEQUENCE)
    assert verdict(_released(condition, RELEASE)) is SOUND
    assert verdict(_released(condition)) is UNPROVED  # who waits for the stage waits for ever


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("k + 1 < D[0]", SOUND),  # with two stages nobody waits for what the last two release
        ("k + 2 < D[0]", SOUND),
        ("k + 3 < D[0]", UNPROVED),
        ("k < D[0] - 1 and k + 2 < D[0]", SOUND),
        ("k < D[0] - 1 or k + 3 < D[0]", SOUND),
        ("k < D[0] - 1 and k + 3 < D[0]", UNPROVED),
        ("k * 2 + 2 < D[0]", UNPROVED),
    ],
)
def test_what_a_length_by_itself_says(condition: str, expected: str) -> None:
    body = _released(condition, length="D[0]")
    assert verdict(body) is expected


@pytest.mark.parametrize(
    "condition", ["D[9] + k < D[8]", "k + D[9] > 3 and D[k + 5] > 1", "D[k + 5] > 1"]
)
def test_what_no_round_tells_goes_both_ways_in_each(condition: str) -> None:
    """Something else than a barrier stands there."""
    stores = under(f"if {condition}", "O[tx + 512] = 1\nAs[tx + 64] = 3\n")
    body = pipeline(extra=stores) + SYNC + USE_B
    assert verdict(body, 128) is SOUND
    assert verdict(body.replace("O[tx + 512] = 1", RELEASE.strip()), 128) is UNPROVED


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [(("D[1] - D[0]",) * 2, SOUND), (("D[1] - D[0]", "D[2] - D[0]"), UNPROVED)],
)
def test_arms_may_set_the_length_for_themselves(lengths: tuple[str, str], expected: str) -> None:
    body = pipeline("m")
    for length in lengths:
        setting = f"\\1c[0] = {length}\n\\1m: T.int32 = c[0]\n\\1for k in range(m - 0):"
        body = re.sub(r"^( *)for k in range\(m\):", setting, body, count=1, flags=re.M)
    assert body.count("m - 0") == 2
    assert verdict(body + SYNC + USE_B) is expected


@pytest.mark.parametrize(
    "condition",
    [
        "D[0] + k * 32 + tx < D[1]",
        "D[0] + k * 32 + tx // 2 * 3 < D[1]",
        "3 <= (D[0] + k * 32 + tx) // 4",  # nothing tells
        "k * 32 + tx < D[1] - D[0]",
        "-4 <= (m * 32 - k * 32 + tx) // 4",
        "-4 <= ((m * 32 - k * 32 + tx) // 2 + i) // 3 - i",
    ],
)
def test_threads_may_each_leave_out_what_lies_behind_the_end(condition: str) -> None:
    stores = under(f"if {condition}", "O[tx + 512] = As[64 + tx]\n")
    stores = under("for i in range(4)", stores)
    body = f"m: T.int32 = {SEQUENCE}\n" + pipeline("m", extra="As[tx + 64] = 3\n" + stores)
    assert verdict(body + SYNC + USE_B, 128) is SOUND


ALL = "(D[1] + 31) // 32"
"""How many tiles there are, where `D[1] // 32` are whole."""


def _last_apart(length: str, whole: str, condition: str) -> str:
    """The consumer goes over the whole tiles, and then the last one."""
    body = pipeline(length)
    head, loop = body.rsplit(f"for k in range({length}):\n", 1)
    margin = head[head.rindex("\n") + 1 :]
    last = re.sub(r"\bk\b", f"({whole})", loop)
    condition = condition.format(whole=whole, length=length)
    return f"{head}for k in range({whole}):\n{loop}{margin}if {condition}:\n{last}"


@pytest.mark.parametrize(
    ("length", "whole", "condition", "expected"),
    [
        (ALL, "D[1] // 32", "{whole} < {length}", SOUND),
        (ALL, "D[1] // 32", "{length} >= {whole} + 1", SOUND),
        (ALL, "D[1] // 32", "{whole} <= {length}", UNPROVED),
        (ALL, "D[1] // 32", "0 == 0", UNPROVED),
        (ALL, "D[1] // 31", "{whole} < {length}", UNPROVED),
        (ALL, "D[2] // 32", "{whole} < {length}", UNPROVED),
        (ALL, "(D[1] - 32) // 32", "{whole} < {length}", UNPROVED),
    ],
)
def test_the_last_tile_may_come_after_the_loop(
    length: str, whole: str, condition: str, expected: str
) -> None:
    body = _last_apart(length, whole, condition) + SYNC + USE_B
    assert verdict(body) is expected


@given(
    divisor=st.integers(1, 9),
    more=st.tuples(st.integers(-30, 30), st.integers(-30, 30)),
    offset=st.integers(-2, 2),
)
def test_quotients_of_one_dividend_differ_by_one_of_two_numbers(
    divisor: int, more: tuple[int, int], offset: int
) -> None:
    forms = InternTable()
    one, other = (
        Quotient.of(forms(length(divisor, number, by)), forms)
        for number, by in zip(more, (offset, 0), strict=True)
    )
    assert one is not None
    assert other is not None
    ends = {
        (size + more[0]) // divisor + offset - (size + more[1]) // divisor
        for size in range(-2 * divisor, 2 * divisor)
    }
    assert difference(one, other) == (min(ends), max(ends))


@pytest.mark.parametrize("rounds", [2, 40, 4000])
def test_what_the_length_says_elsewhere_is_not_taken_for_all_lengths(rounds: int) -> None:
    """One more arrival where the loop is long: not in the cases that are tried, nor in the long."""
    for comparison in ("<=", ">"):
        more = under(
            f"if D[0] + {32 * rounds} {comparison} D[1]", "T.ptx_arrive_barrier(full[2])\n"
        )
        body = _released("D[0] + k * 32 + 32 <= D[1]", RELEASE, before=more)
        assert verdict(body) is UNPROVED
