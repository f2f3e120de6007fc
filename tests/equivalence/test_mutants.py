"""What changes which write a read sees is refused."""

from __future__ import annotations

import pytest

from smemreuse.equivalence import Branch, Marker, Repeat, Statement, TileProgram, equivalence
from tests.equivalence.programs import (
    BX,
    DEEP,
    LENGTH,
    LOAD_A,
    LOAD_B,
    MULTIPLY,
    OWN_TILE,
    ROUNDS,
    ROWS,
    A,
    C,
    D,
    a,
    add,
    b,
    c,
    call,
    copy,
    d,
    deep,
    fill,
    folded,
    gemm,
    half,
    i,
    j,
    k,
    load,
    load_ring,
    loop,
    narrow,
    of_ring,
    out,
    own_rows,
    product,
    program,
    region,
    ring_of,
    rows,
    store,
    times,
    turn,
)

Pair = tuple[TileProgram, TileProgram]
MORE = copy(region(A, 0, 0, extents=(ROWS, DEEP)), a)
CHANGE = store(A, 0, 0, value=load(b, 0, 0))
FILL_AND_STORE = (copy(c, out), copy(out, OWN_TILE))


def between(*statements: Statement) -> TileProgram:
    """Tile a of the first round, used at last."""
    return program(fill(c), *statements, copy(c, OWN_TILE))


def slices(*, across: bool) -> tuple[Statement, ...]:
    """The tile in two slices; across, the first is stored from what the second left."""
    one = copy(rows(c, 0), half), copy(half, own_rows(0))
    two = copy(rows(c, ROWS // 2), half), copy(half, own_rows(ROWS // 2))
    return (one[0], two[0], one[1], two[1]) if across else (*one, *two)


def in_place(ahead: int) -> TileProgram:
    """Each round loads what the one before has written."""
    row = region(out, extents=(1, ROWS))
    source = region(C, k, 0, extents=(1, ROWS))
    target = region(C, add(k, 1), 0, extents=(1, ROWS))
    return program(loop(k, ROUNDS, copy(source, row), copy(row, target), ahead=ahead))


def partly_filled(ahead: int) -> TileProgram:
    """A pipelined tile of which a round fills a part; the rest is from before the loop."""
    part = copy(region(A, 0, k, extents=(ROWS, 1)), region(a, extents=(ROWS, 1)))
    return program(
        fill(c), fill(a), loop(k, ROUNDS, part, LOAD_B, MULTIPLY, ahead=ahead), copy(c, OWN_TILE)
    )


def read_before(ahead: int) -> TileProgram:
    """A tile that a round uses before it loads the next one."""
    return program(
        *(fill(c), MORE, LOAD_B),
        loop(k, ROUNDS, MULTIPLY, LOAD_A, LOAD_B, ahead=ahead),
        copy(c, OWN_TILE),
    )


def read_behind(ahead: int) -> TileProgram:
    """The last round's tile is read once more behind the loop."""
    body = loop(k, ROUNDS, LOAD_A, LOAD_B, MULTIPLY, ahead=ahead)
    return program(fill(c), body, product(a, a, c), copy(c, OWN_TILE))


def perhaps_no_round(*end: Statement) -> TileProgram:
    """A loop of unknown length fills a tile; `end` is what a round of the loop around does last."""
    filling = loop(k, LENGTH, copy(region(A, 0, k, extents=(ROWS, DEEP)), a))
    stored = copy(a, region(D, 0, 0, extents=(ROWS, DEEP)))
    return program(fill(a), loop(turn, LENGTH, filling, stored, *end))


def perhaps_carried(*end: Statement) -> TileProgram:
    """As above, with a tile that the inner loop adds to."""
    adding = loop(k, ROUNDS, product(a, b, c))
    return program(fill(c), loop(turn, LENGTH, adding, copy(c, OWN_TILE), *end))


def on_condition(*arms: Statement, last: tuple[Statement, ...] = ()) -> TileProgram:
    """A tile that a round fills if a condition holds, and stores; `last` is what it does then."""
    condition = call("lt", load(D, turn, 0), 1)
    branch = Branch(condition, (copy(region(A, 0, turn, extents=(ROWS, DEEP)), a), *arms))
    stored = copy(a, region(D, turn, 0, extents=(ROWS, DEEP)))
    return program(fill(a), loop(turn, LENGTH, branch, stored, *last))


def at_points(*, turned: bool) -> TileProgram:
    indices = (j, i) if turned else (i, j)
    body = store(out, i, j, value=load(c, *indices))
    return program(
        loop(i, ROWS, loop(j, ROWS, body, parallel=True), parallel=True), copy(out, OWN_TILE)
    )


def until(*body: Statement) -> TileProgram:
    return program(fill(c), Repeat(call("lt", load(c, 0, 0), 1), body), copy(c, OWN_TILE))


def in_slices(*begins: int) -> TileProgram:
    """A product of which slices from these places on are added up."""
    return between(MORE, LOAD_B, *(folded(*deep(one), c) for one in begins))


SCALE = product(a, a, c)
IN_SLICES = between(MORE, LOAD_B, folded(a, b, c))
MUTANTS: dict[str, Pair] = {
    "a ring that is too short for its loads": (ring_of(3, 2), ring_of(2, 2)),
    "a ring of which another round is read": (
        ring_of(3, 2),
        program(
            *(fill(c), load_ring(0, of_ring(0)), load_ring(1, of_ring(1))),
            loop(
                k,
                ROUNDS,
                load_ring(add(k, 2), of_ring(add(k, 2))),
                LOAD_B,
                product(of_ring(add(k, 1)), b, c),
            ),
            copy(c, OWN_TILE),
        ),
    ),
    "a load behind a write of its source": (
        between(MORE, LOAD_B, CHANGE, MULTIPLY),
        between(LOAD_B, CHANGE, MORE, MULTIPLY),
    ),
    "a load before a write of its source": (
        between(LOAD_B, CHANGE, MORE, MULTIPLY),
        between(MORE, LOAD_B, CHANGE, MULTIPLY),
    ),
    "a tile that is loaded again behind a write of its source": (
        between(MORE, LOAD_B, CHANGE, MULTIPLY, MULTIPLY),
        between(MORE, LOAD_B, CHANGE, MULTIPLY, MORE, MULTIPLY),
    ),
    "a load behind the first use of its tile": (
        gemm(LOAD_A, LOAD_B, MULTIPLY),
        gemm(LOAD_A, MULTIPLY, LOAD_B, ahead=0),
    ),
    "a load out of its loop": (
        gemm(ahead=0),
        program(
            *(fill(c), LOAD_B),
            loop(k, ROUNDS, LOAD_A, MULTIPLY),
            *FILL_AND_STORE,
        ),
    ),
    "a direct store of a later tile": (
        gemm(end=(copy(c, out), fill(c), copy(out, OWN_TILE))),
        gemm(end=(fill(c), copy(c, OWN_TILE))),
    ),
    "a direct store of an earlier tile": (
        gemm(end=(fill(c), copy(c, out), copy(out, OWN_TILE))),
        gemm(end=(copy(c, OWN_TILE), fill(c))),
    ),
    "a direct store of what was rounded": (
        gemm(end=(copy(c, narrow), copy(narrow, OWN_TILE))),
        gemm(end=(copy(c, OWN_TILE),)),
    ),
    "a slice that is read across": (gemm(end=slices(across=False)), gemm(end=slices(across=True))),
    "a slice that is left out": (gemm(), gemm(end=slices(across=False)[:2])),
    "a slice in another place": (
        gemm(),
        gemm(end=(*slices(across=False)[:3], copy(half, own_rows(ROWS // 2 - 1)))),
    ),
    "two writes of one place in another order": (
        program(copy(c, OWN_TILE), copy(d, OWN_TILE)),
        program(copy(d, OWN_TILE), copy(c, OWN_TILE)),
    ),
    "two writes of places that may be the same": (
        program(store(C, BX, 0, value=load(c, 0, 0)), store(C, 3, 0, value=load(c, 1, 0))),
        program(store(C, 3, 0, value=load(c, 1, 0)), store(C, BX, 0, value=load(c, 0, 0))),
    ),
    "another order of a sum": (
        gemm(LOAD_A, LOAD_B, MULTIPLY, SCALE),
        gemm(LOAD_A, LOAD_B, SCALE, MULTIPLY),
    ),
    "a round less": (
        gemm(ahead=0),
        program(fill(c), loop(k, ROUNDS - 1, LOAD_A, LOAD_B, MULTIPLY), *FILL_AND_STORE),
    ),
    "other operands of a loop of unknown length": (
        until(LOAD_A, LOAD_B, MULTIPLY),
        until(LOAD_A, LOAD_B, product(b, a, c)),
    ),
    "stages of loads that a round before writes": (in_place(2), in_place(0)),
    "stages for loads that a round before writes": (in_place(0), in_place(2)),
    "stages for a tile that is filled in part": (partly_filled(0), partly_filled(1)),
    "stages for a tile that is read before its load": (read_before(0), read_before(1)),
    "stages for a tile that is read behind the loop": (read_behind(0), read_behind(2)),
    "a tile that a loop without a round leaves": (
        perhaps_no_round(),
        perhaps_no_round(fill(a, 1)),
    ),
    "a tile that a loop adds to": (perhaps_carried(), perhaps_carried(fill(c))),
    "a tile that a condition leaves": (on_condition(), on_condition(last=(fill(a, 1),))),
    "a condition on another arm": (on_condition(), on_condition(fill(a))),
    "slices of a product in another order": (IN_SLICES, in_slices(DEEP // 2, 0)),
    "a slice of a product that is left out": (IN_SLICES, in_slices(0)),
    "slices of a product that overlap": (IN_SLICES, in_slices(0, 1, DEEP // 2)),
    "a slice that clears what another one added": (
        between(MORE, LOAD_B, folded(a, b, c, clears=True)),
        between(*(MORE, LOAD_B), *(folded(*deep(one), c, clears=True) for one in (0, DEEP // 2))),
    ),
    "a product that clears nothing": (
        between(MORE, SCALE, LOAD_B, folded(a, b, c, clears=True)),
        between(MORE, SCALE, LOAD_B, folded(a, b, c)),
    ),
    "a product in other steps": (IN_SLICES, between(MORE, LOAD_B, folded(a, b, c, 2))),
    "slices that are no whole steps": (
        between(MORE, LOAD_B, folded(a, b, c, 4)),
        between(MORE, LOAD_B, folded(*deep(0), c, 4), folded(*deep(DEEP // 2), c, 4)),
    ),
    "a tile that is loaded again after it was written": (
        between(MORE, SCALE, CHANGE, SCALE),
        between(MORE, SCALE, CHANGE, MORE, SCALE),
    ),
    "a tile that is loaded again from elsewhere": (
        between(MORE, loop(k, ROUNDS, SCALE)),
        between(loop(k, ROUNDS, LOAD_A, SCALE)),
    ),
    "points in another place": (at_points(turned=False), at_points(turned=True)),
    "markers in another order": (
        between(MORE, Marker("fence"), Marker("barrier"), LOAD_B, MULTIPLY),
        between(MORE, Marker("barrier"), Marker("fence"), LOAD_B, MULTIPLY),
    ),
    "a place by another symbol": (
        between(copy(c, OWN_TILE)),
        program(fill(c), copy(c, region(C, times(LENGTH, ROWS), 0, extents=(ROWS, ROWS)))),
    ),
}


@pytest.mark.parametrize("case", MUTANTS)
def test_a_mutant_is_refused(case: str) -> None:
    original, mutant = MUTANTS[case]
    assert equivalence(original, mutant).why


@pytest.mark.parametrize(
    "case", sorted(MUTANTS.keys() - {"stages of loads that a round before writes"})
)
def test_what_a_mutant_is_made_of_is_equivalent_to_itself(case: str) -> None:
    original, _ = MUTANTS[case]
    assert equivalence(original, original).holds


def test_it_says_which_memory_may_differ() -> None:
    assert equivalence(*MUTANTS["a slice that is left out"]).why == "C may get other values"
    assert "another order" in equivalence(*MUTANTS["markers in another order"]).why
    assert "before any change" in equivalence(in_place(2), in_place(2)).why
