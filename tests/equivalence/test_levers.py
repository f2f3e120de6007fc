"""What levers do is accepted."""

from __future__ import annotations

import pytest

from smemreuse.equivalence import TileProgram, equivalence
from smemreuse.ir.expr import Var
from tests.equivalence.programs import (
    LENGTH,
    LOAD_A,
    LOAD_B,
    MULTIPLY,
    OWN_TILE,
    ROUNDS,
    ROWS,
    a,
    add,
    c,
    copy,
    fill,
    gemm,
    half,
    k,
    load,
    loop,
    out,
    own_rows,
    product,
    program,
    region,
    ring,
    ring_of,
    rows,
    store,
    times,
    turn,
)

N = 12


def of_unknown_length(*body: object, ahead: int = 2) -> TileProgram:
    return program(fill(c), loop(k, LENGTH, *body, ahead=ahead), copy(c, OWN_TILE))  # type: ignore[arg-type]


ACCEPTED = {
    "fewer stages": (gemm(ahead=3), gemm(ahead=1)),
    "no stages": (gemm(ahead=2), gemm(ahead=0)),
    "later loads": (
        gemm(LOAD_A, LOAD_B, product(a, a, c), MULTIPLY),
        gemm(LOAD_A, product(a, a, c), LOAD_B, MULTIPLY, ahead=0),
    ),
    "loads in another order": (gemm(), gemm(LOAD_B, LOAD_A, MULTIPLY)),
    "a direct store": (gemm(), gemm(end=(copy(c, OWN_TILE),))),
    "a store in slices": (
        gemm(),
        gemm(
            end=(
                copy(rows(c, 0), half),
                copy(half, own_rows(0)),
                copy(rows(c, ROWS // 2), half),
                copy(half, own_rows(ROWS // 2)),
            )
        ),
    ),
    "a ring with fewer tiles": (ring_of(3, 2), ring_of(2, 1)),
    "a loop of unknown length": (
        of_unknown_length(LOAD_A, LOAD_B, MULTIPLY),
        of_unknown_length(LOAD_B, LOAD_A, MULTIPLY, ahead=0),
    ),
    "a loop around, with a condition": tuple(
        program(
            loop(
                turn,
                N,
                fill(c),
                loop(k, LENGTH, LOAD_A, LOAD_B, MULTIPLY, ahead=ahead),
                *end,
            )
        )
        for ahead, end in ((2, (copy(c, out), copy(out, OWN_TILE))), (0, (copy(c, OWN_TILE),)))
    ),
    "a load of a row of its own, which the round writes": tuple(
        program(
            loop(
                k,
                ROUNDS,
                copy(region(OWN_TILE.buffer, k, 0, extents=(1, ROWS)), row),
                store(OWN_TILE.buffer, k, 0, value=load(out, 0, 0)),
                store(OWN_TILE.buffer, k, 1, value=load(row.buffer, 0, 1)),
                ahead=ahead,
            )
        )
        for ahead in (2, 0)
        for row in (region(out, extents=(1, ROWS)),)
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_levers_do_is_equivalent(case: str) -> None:
    original, changed = ACCEPTED[case]
    assert equivalence(original, changed).why == ""
    assert equivalence(changed, original).why == ""


def test_rounds_are_followed_one_by_one_only_where_that_is_needed() -> None:
    assert not equivalence(*ACCEPTED["later loads"]).unrolled
    assert equivalence(*ACCEPTED["a ring with fewer tiles"]).unrolled


def test_a_sum_has_one_number_however_it_is_written() -> None:
    at = Var("at")
    one = store(OWN_TILE.buffer, add(times(at, 2), 3), 0, value=load(ring, 0, 0, 0))
    two = store(OWN_TILE.buffer, add(add(at, 3), at), 0, value=load(ring, 0, 0, 0))
    other = store(OWN_TILE.buffer, add(add(at, 2), at), 0, value=load(ring, 0, 0, 0))
    assert equivalence(program(one), program(two)).holds
    assert not equivalence(program(one), program(other)).holds
