"""What levers do is accepted."""

from __future__ import annotations

import pytest

from smemreuse.equivalence import TileProgram, equivalence
from smemreuse.ir.expr import Var
from tests.equivalence.programs import (
    DEEP,
    LENGTH,
    LOAD_A,
    LOAD_B,
    MULTIPLY,
    OWN_TILE,
    ROUNDS,
    ROWS,
    A,
    B,
    a,
    add,
    b,
    c,
    copy,
    deep,
    fill,
    folded,
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
    tile,
    times,
    turn,
)

N = 12
MORE = copy(region(A, 0, 0, extents=(ROWS, DEEP)), a)
LOAD_FIRST_B = copy(region(B, 0, 0, extents=(DEEP, ROWS)), b)
SCALE = product(a, a, c)
DEEP_OF_TURN = add(times(k, DEEP), times(turn, DEEP // 2))
first, second = tile("first", ROWS, DEEP // 2), tile("second", DEEP // 2, ROWS)


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
    "a product in slices": (
        gemm(LOAD_A, LOAD_B, folded(a, b, c)),
        gemm(LOAD_A, LOAD_B, folded(*deep(0), c), folded(*deep(DEEP // 2), c)),
    ),
    "a product that clears, in slices": (
        gemm(LOAD_A, LOAD_B, folded(a, b, c, clears=True)),
        gemm(LOAD_A, LOAD_B, folded(*deep(0), c, clears=True), folded(*deep(DEEP // 2), c)),
    ),
    "slices of a product, each loaded for itself": (
        gemm(LOAD_A, LOAD_B, folded(a, b, c)),
        gemm(
            loop(
                turn,
                2,
                copy(region(A, 0, DEEP_OF_TURN, extents=(ROWS, DEEP // 2)), first),
                copy(region(B, DEEP_OF_TURN, 0, extents=(DEEP // 2, ROWS)), second),
                folded(first, second, c),
            ),
            ahead=0,
        ),
    ),
    "a tile that is loaded again for each use": (
        program(fill(c), MORE, LOAD_FIRST_B, loop(k, LENGTH, SCALE, MULTIPLY), copy(c, OWN_TILE)),
        program(
            fill(c),
            loop(k, LENGTH, MORE, SCALE, MORE, LOAD_FIRST_B, MULTIPLY),
            copy(c, OWN_TILE),
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
