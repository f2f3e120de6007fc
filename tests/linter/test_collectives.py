"""Hazards of barriers that may be passed without those whom they are for (rule 12)."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.preconditions import Assumption, Preconditions
from tests.checker.small import SYNC, kernel_of, under
from tests.linter.test_linter import report_on

CLUSTER, GRID = "T.cluster_sync()\n", "T.sync_grid()\n"
ARRIVE, WAIT = "T.cluster_arrive()\n", "T.cluster_wait()\n"
LANES = "T.sync_warp({})\n"


def _hazards(body: str, threads: int = 64) -> list[Hazard]:
    return list(report_on(kernel_of(body, threads=threads)).hazards)


def _found(body: str, threads: int = 64) -> list[tuple[str, bool]]:
    return [(hazard.kind.value, hazard.certain) for hazard in _hazards(body, threads)]


def _lower(body: str) -> str:
    return under("if tx < 32", body)


def _upper(body: str) -> str:
    return under("if tx >= 32", body)


DIVERGES = "barrier-divergence"
M = "{}\n"


@pytest.mark.parametrize("meet", [SYNC, CLUSTER, GRID])
@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (M, []),
        (_lower(M), [(DIVERGES, False)]),  # the others may have ended
        (_lower(M) + M, [(DIVERGES, True)]),
        (_lower(M) + M + M + M, [(DIVERGES, True)]),  # told once
        (_lower(M) + _upper(M), []),
        (_lower(M) + _upper(M) + M, []),
        (_lower(M + M) + _upper(M) + M, [(DIVERGES, True)]),
        (under("if D[0] > 0", M) + M, []),
        (under("if D[tx] > 0", M) + M, [(DIVERGES, False)]),
        (_lower(under("if D[0] > 0", M)), [(DIVERGES, False)]),
        (_lower(under("if D[0] > 0", M)) + M, [(DIVERGES, False)]),
        (under("if tx < 16", M) + M, [(DIVERGES, True)]),
    ],
)
def test_all_threads_come_equally_often(
    meet: str, body: str, hazards: list[tuple[str, bool]]
) -> None:
    assert _found(body.replace("{}", meet.rstrip())) == hazards


def test_the_witness_names_who_waits_where_for_whom() -> None:
    (hazard,) = _hazards(_lower(CLUSTER) + CLUSTER)
    assert "threads 32-63 do not come to the barrier `cluster_sync()`" in hazard.witness
    assert hazard.site.line is not None
    assert f"line {hazard.site.line}" in hazard.mend.sentence
    assert hazard.agents == ("threads 32-63",)


def test_barriers_are_counted_apart() -> None:
    """Of the cluster, of the grid, by number."""
    assert len(_found(_lower(CLUSTER) + _upper(SYNC))) == 2
    named = 'T.tvm_storage_sync("shared", {}, 64)\n'
    assert len(_found(_lower(named.format(1)) + _upper(named.format(2)))) == 2
    assert not _found(_lower(named.format(1)) + _upper(named.format(1)))


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (ARRIVE + WAIT, []),
        (ARRIVE, []),
        (ARRIVE + ARRIVE + WAIT, [("barrier-deadlock", True)]),
        (WAIT, [("barrier-deadlock", True)]),
        (ARRIVE + CLUSTER, [("barrier-deadlock", True)]),
        (_lower(ARRIVE) + WAIT, [("barrier-deadlock", True)]),
        (_lower(ARRIVE + WAIT), [(DIVERGES, False)]),
        (_lower(ARRIVE + WAIT) + _upper(CLUSTER), []),
        (under("if D[0] > 0", ARRIVE) + WAIT, [(DIVERGES, False)]),
    ],
)
def test_each_arrival_is_waited_for_once(body: str, hazards: list[tuple[str, bool]]) -> None:
    assert _found(body) == hazards


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (LANES.format(""), []),
        (_lower(LANES.format("")), []),
        (under("if tx % 32 < 16", LANES.format("0xFFFF")), []),
        (under("if tx % 32 < 16", LANES.format("")), [(DIVERGES, False)]),
        (under("if tx % 32 < 8", LANES.format("0xFFFF")), [(DIVERGES, False)]),
        (under("if tx % 32 < 16", LANES.format("0xFF")), [(DIVERGES, True)]),
        (under("if D[tx] > 0", LANES.format("")), [(DIVERGES, False)]),
    ],
)
def test_the_lanes_of_a_mask_come_to_a_barrier_of_a_warp(
    body: str, hazards: list[tuple[str, bool]]
) -> None:
    assert _found(body) == hazards


def test_lanes_that_their_mask_does_not_name() -> None:
    (hazard,) = _hazards(under("if tx % 32 < 16", LANES.format("0xFF")), threads=32)
    assert hazard.witness.startswith("threads 8-15 come to `sync_warp(255)`")
    assert "the mask does not name them" in hazard.witness


def test_a_plan_on_such_a_kernel_rests_on_an_open_assumption() -> None:
    report = report_on(kernel_of(_lower(CLUSTER) + CLUSTER))
    (open_one,) = Preconditions(report).open
    assert open_one.assumption is Assumption.MEETING
    assert open_one.refuted
    assert HazardKind.BARRIER_DIVERGENCE.value in open_one.why
    assert not Preconditions(report).proved
