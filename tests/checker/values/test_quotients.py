"""What the length of a loop says of conditions in it."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.checker.values.interned import InternTable
from smemreuse.checker.values.linear import COMPARISONS, ONE, combined, distance
from smemreuse.checker.values.quotients import Quotient, atoms_of, decided, tail
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
)
def test_no_round_before_the_tail_differs(
    divisor: int,
    more: int,
    offset: int,
    begin: int,
    step: int,
    width: int,
    comparison: str,
    swapped: bool,
) -> None:
    """In no sequence, of whatever length: compared with all values of the ends in question."""
    forms = InternTable()
    quotient = Quotient.of(forms(length(divisor, more, offset)), forms)
    assert quotient is not None
    place = add(BEGIN, times(step, K), Const(width))
    condition = Call(comparison, (END, place) if swapped else (place, END))

    def atoms(expr: Expr) -> dict[object, int]:
        if expr is K:  # in terms of the number of the round
            return combined({K: 1}, {ONE: begin}, 1)
        return dict(atoms_of(forms)(expr) or {})

    found = distance(condition, atoms)
    assert found is not None
    last = tail(quotient, found, K)
    if step != divisor:
        assert last is None  # which rounds differ depends on how many there are
        return
    assert last is not None
    compare = COMPARISONS[comparison]
    outcomes = set()
    for size in range(-4 * divisor, 40 * divisor):
        rounds = (size + more) // divisor + offset
        for number in range(rounds - last):
            left = step * (begin + number) + width
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
    assert Quotient.of(forms(times(2, Call("floordiv", (END, Const(4))))), forms) is None


def test_comparisons_are_those_of_python() -> None:
    assert COMPARISONS["le"] is operator.le


# In kernels -------------------------------------------------------------------------------------

SEQUENCE = "(D[1] - D[0] + 31) // 32"
RELEASE = "T.ptx_arrive_barrier(full[k % 2 + 2])\n"


def _released(condition: str, otherwise: str = "", before: str = "") -> str:
    """The consumer releases its stage where a condition holds, or `otherwise`."""
    body = pipeline(SEQUENCE, before=before)
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


@pytest.mark.parametrize("rounds", [2, 40, 4000])
def test_what_the_length_says_elsewhere_is_not_taken_for_all_lengths(rounds: int) -> None:
    """One more arrival where the loop is long: not in the cases that are tried, nor in the long."""
    for comparison in ("<=", ">"):
        more = under(
            f"if D[0] + {32 * rounds} {comparison} D[1]", "T.ptx_arrive_barrier(full[2])\n"
        )
        body = _released("D[0] + k * 32 + 32 <= D[1]", RELEASE, before=more)
        assert verdict(body) is UNPROVED
