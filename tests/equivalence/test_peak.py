"""What the tiles of a program take at the least, and about, before it is lowered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.equivalence import (
    Branch,
    Repeat,
    Statement,
    TileProgram,
    estimated_bytes,
    least_bytes,
)
from tests.equivalence.programs import (
    BX,
    LOAD_A,
    LOAD_B,
    MULTIPLY,
    OWN_TILE,
    A,
    B,
    C,
    a,
    b,
    c,
    copy,
    expr,
    fill,
    gemm,
    k,
    load,
    loop,
    out,
    product,
    program,
    store,
    tile,
)

TILE, OUT = 64, 128
"""Bytes of a and of b, and of what goes out."""


@pytest.mark.parametrize("ahead", [0, 1, 2, 3])
def test_a_pipeline_has_a_tile_for_each_round_on_its_way(ahead: int) -> None:
    assert least_bytes(gemm(ahead=ahead)) == max(2 * TILE, OUT)
    assert estimated_bytes(gemm(ahead=ahead)) == max(2 * TILE * max(ahead, 1), OUT)


def test_a_tile_ends_where_it_is_read_last() -> None:
    first, second = tile("first", 8, 8), tile("second", 8, 8)
    one_by_one = program(copy(A, first), copy(first, C), copy(B, second), copy(second, C))
    at_once = program(copy(A, first), copy(B, second), copy(first, C), copy(second, C))
    assert (least_bytes(one_by_one), least_bytes(at_once)) == (OUT, 2 * OUT)


def test_a_write_ends_what_was_there() -> None:
    """Between its last read and its next write a tile is not live."""
    whole = program(fill(a), copy(a, c), copy(c, out), copy(out, C), fill(a), copy(a, C))
    kept = program(fill(a), copy(a, c), copy(c, out), copy(out, C), copy(a, C))
    assert (least_bytes(whole), least_bytes(kept)) == (OUT, OUT + TILE)


def test_what_a_round_hands_on_is_live_throughout() -> None:
    stored: tuple[Statement, ...] = (copy(c, out), copy(out, C))
    carried = program(fill(a), loop(k, 6, copy(a, c), LOAD_A, *stored))
    own = program(fill(a), loop(k, 6, LOAD_A, copy(a, c), *stored))
    assert least_bytes(carried) == OUT + TILE
    assert least_bytes(own) == OUT


def test_a_tile_that_is_kept_for_a_loop_is_live_in_it() -> None:
    kept = program(LOAD_A, loop(k, 6, LOAD_B, MULTIPLY, copy(c, out), copy(out, OWN_TILE)))
    assert least_bytes(kept) == TILE + OUT


def test_arms_do_not_add_up() -> None:
    other = tile("other", 8, 8)
    arms = (copy(A, out), copy(out, C)), (copy(A, other), copy(other, C))
    assert least_bytes(program(Branch(BX, *arms))) == OUT
    both = program(Branch(BX, *arms), copy(out, C))
    assert least_bytes(both) == OUT  # in the other arm nobody has written it


def test_a_condition_reads() -> None:
    flags = tile("flags", 8, 8)
    repeat = Repeat(load(flags, 0, 0), (copy(A, out), copy(out, C)))
    assert least_bytes(program(fill(flags), repeat)) == 2 * OUT
    assert least_bytes(program(fill(flags), copy(flags, C), *repeat.body)) == OUT


def test_indices_and_values_read() -> None:
    where = tile("where", 8, 8)
    gathered = store(out, load(where, 0, 0), 0, value=load(a, 0, 0))
    found = program(fill(where), LOAD_A, loop(k, 8, gathered), copy(out, C))
    assert least_bytes(found) == 2 * OUT + TILE


def test_what_is_written_element_by_element_may_take_the_place_of_what_is_read() -> None:
    other = tile("other", 8, 8)
    doubled = store(out, k, 0, value=load(other, k, 0))
    found = program(fill(other), loop(k, 8, doubled, parallel=True), copy(out, C))
    assert least_bytes(found) == OUT


def test_scopes_add_up() -> None:
    """They have no bytes in common, so that each has a peak of its own."""
    static = replace(a, scope="shared")
    found: TileProgram = program(
        *(copy(A, static), product(static, static, c), copy(c, out), copy(out, C))
    )
    assert least_bytes(found) == TILE + OUT
    assert least_bytes(program(fill(c, 1), copy(c, C))) == 0


def test_what_is_never_read_takes_its_bytes_where_it_is_written() -> None:
    assert least_bytes(program(LOAD_A, fill(b), store(out, 0, 0, value=expr(0)))) == OUT
