"""Hazards of one cause: what is the same about them, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smemreuse.results.hazard_groups import HazardCause, by_cause
from smemreuse.results.hazards import Contention, Hazard, HazardKind, HazardOrigin, Mend, Remedy
from smemreuse.results.sites import Site
from smemreuse.results.undecided import Undecided, UndecidedKind


def undecided(kind: UndecidedKind, statement: str, line: int = 3) -> Undecided:
    return Undecided(kind, Site(statement, line))


POSSIBLE = Hazard(
    HazardKind.RACE,
    False,
    Site("As_1[tx] = 1", 9),
    ("As",),
    "they race",
    Mend(Remedy.BARRIER, "put in a barrier."),
    mechanism="read after write",
    undecided=undecided(UndecidedKind.BRANCH, "if i_s_5 <= 4 * D[1]"),
)
CERTAIN = replace(POSSIBLE, certain=True, undecided=None)
COPY = replace(
    POSSIBLE,
    site=Site("Bs_1[tx] = 1", 29),
    buffers=("Bs",),
    mechanism="write after read",
    undecided=undecided(UndecidedKind.BRANCH, "if i_s <= 8 * D[1]", 23),
)


@pytest.mark.parametrize(
    "other",
    [
        COPY,
        replace(POSSIBLE, site=Site("x", 1)),
        replace(POSSIBLE, undecided=undecided(UndecidedKind.BRANCH, "if i_s_16 <= 4 * D[1]")),
    ],
)
def test_copies_of_one_branch_are_one_cause(other: Hazard) -> None:
    assert HazardCause.of(other) == HazardCause.of(POSSIBLE)
    assert HazardCause.of(other).identity("k") == HazardCause.of(POSSIBLE).identity("k")
    assert HazardCause.of(other).identity("k") != HazardCause.of(POSSIBLE).identity("other")


@pytest.mark.parametrize(
    "other",
    [
        CERTAIN,
        replace(POSSIBLE, kind=HazardKind.MISSING_FENCE),
        replace(POSSIBLE, origin=HazardOrigin.COMPILER),
        replace(POSSIBLE, contention=Contention.ELEMENTS),
        replace(POSSIBLE, undecided=None),
        replace(POSSIBLE, undecided=undecided(UndecidedKind.BRANCH, "if D[0] < 3")),
        replace(POSSIBLE, undecided=undecided(UndecidedKind.LOOP, "if i_s_5 <= 4 * D[1]")),
    ],
)
def test_what_differs_in_any_of_these_has_another_cause(other: Hazard) -> None:
    assert HazardCause.of(other) != HazardCause.of(POSSIBLE)
    assert HazardCause.of(other).identity("k") != HazardCause.of(POSSIBLE).identity("k")


def test_accesses_by_one_operation_are_one_cause() -> None:
    one, two, store = (
        HazardCause.of(replace(POSSIBLE, undecided=undecided(UndecidedKind.ACCESS, statement)))
        for statement in ("ptx_cp_async(As[0], 16)", "ptx_cp_async(Bs[4], 8)", "As[D[0]] = 1")
    )
    assert one == two != store


@pytest.mark.parametrize(
    ("changed", "is_one"),
    [
        ({"site": Site("Bs_1[tx] = 1", 29), "buffers": ("Bs",)}, True),
        ({"mechanism": "write after read"}, False),
        ({"if_long": ("k",)}, False),
    ],
)
def test_certain_ones_are_one_mistake_under_one_condition(
    changed: dict[str, object], is_one: bool
) -> None:
    assert (HazardCause.of(replace(CERTAIN, **changed)) == HazardCause.of(CERTAIN)) == is_one  # type: ignore[arg-type]


def test_causes_come_in_the_order_of_their_first_hazards() -> None:
    groups = by_cause([(CERTAIN, 1), (POSSIBLE, 2), (COPY, 3), (CERTAIN, 4)])
    assert [[number for _, number in group] for group in groups] == [[1, 4], [2, 3]]
