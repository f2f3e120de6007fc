"""What is not followed is refused, and says why."""

from __future__ import annotations

import pytest

from smemreuse.equivalence import Branch, Marker, TileProgram, equivalence
from smemreuse.equivalence.proof import MARKERS
from smemreuse.ir.expr import Pointer
from smemreuse.ir.kernel import Buffer
from tests.equivalence.programs import (
    BX,
    LENGTH,
    OWN_TILE,
    ROWS,
    c,
    copy,
    d,
    expr,
    fill,
    i,
    k,
    load,
    loop,
    out,
    program,
    region,
    store,
    tile,
)

own = tile("own", 2, dtype="float32", scope="local")
other_view = Buffer("view", "float32", out.shape, out.scope, out)
of_symbolic_size = Buffer("open", "float16", (LENGTH,), "shared.dyn")


def points(*body: object) -> TileProgram:
    return program(loop(i, ROWS, *body, parallel=True))  # type: ignore[arg-type]


UNFOLLOWED = {
    "points of a parallel loop write to one place of out": points(
        store(out, 0, 0, value=load(c, i, 0))
    ),
    "points of a parallel loop write to one place": points(
        store(OWN_TILE.buffer, 0, 0, value=load(c, i, 0))
    ),
    "points of a parallel loop hand own on": points(
        store(own, 0, value=load(own, 0)), store(out, i, 0, value=load(own, 0))
    ),
    "a tile operation is inside a parallel loop": points(
        copy(region(c, i, 0, extents=(1, ROWS)), region(out, i, 0, extents=(1, ROWS)))
    ),
    "a parallel loop has a length that is not known": program(
        loop(i, LENGTH, store(out, i, 0, value=1), parallel=True)
    ),
    "a loop inside a parallel one has a length that is not known": points(
        loop(k, LENGTH, store(out, i, 0, value=1))
    ),
    "view is another view of out": program(fill(out), fill(other_view)),
    "it is not known where the elements of open are": program(store(of_symbolic_size, 0, value=1)),
    "a write leaves out": program(store(out, ROWS, 0, value=1)),
    "a region leaves c": program(copy(region(c, 1, 0, extents=(ROWS, ROWS)), out)),
    "an address is used as a value": program(store(out, 0, 0, value=Pointer(c))),
    "out is accessed with other dimensions than it has": program(store(out, BX, value=expr(1))),
}


@pytest.mark.parametrize("why", UNFOLLOWED)
def test_what_is_not_followed_is_refused(why: str) -> None:
    assert equivalence(UNFOLLOWED[why], UNFOLLOWED[why]).why == why


def test_a_register_of_each_point_is_its_own() -> None:
    """Each point reads what it has written itself, whatever the others did."""
    through = points(store(own, 0, value=load(c, i, 0)), store(out, i, 0, value=load(own, 0)))
    straight = points(store(out, i, 0, value=load(c, i, 0)))
    both = [program(*one.body, copy(out, OWN_TILE)) for one in (through, straight)]
    assert equivalence(*both).holds


def test_what_points_leave_in_a_register_is_not_known() -> None:
    """It depends on the layout, and on what they put there."""
    put = [loop(i, ROWS, store(own, 0, value=load(one, i, 0)), parallel=True) for one in (c, d)]
    used = store(OWN_TILE.buffer, 0, 0, value=load(own, 0))
    later = loop(i, ROWS, store(out, i, 0, value=load(own, 0)), parallel=True)
    for end in ((used,), (later, copy(out, OWN_TILE))):
        forms = [program(one, *end) for one in put]
        assert not equivalence(forms[0], forms[1]).holds
        assert not equivalence(forms[0], forms[0]).holds
    assert equivalence(program(put[0]), program(put[0])).holds


def test_markers_of_points_have_the_guards_of_these() -> None:
    one, two = (points(Branch(load(each, i, 0), (Marker("hint"),))).body for each in (c, d))
    assert equivalence(program(*one), program(*one)).holds
    assert equivalence(program(*one), program(*two)).why == MARKERS


def test_work_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smemreuse.equivalence.execution.MOST_WORK", 100)
    rounds = program(loop(k, 3, fill(c)), copy(c, OWN_TILE))
    assert equivalence(rounds, rounds).why == "it has more rounds than are followed"
