"""The evidence in the package is what the committed measurements say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.render_evidence import (
    AT_WITNESS,
    BUSY,
    EVIDENCE,
    PLAIN,
    QUEUED,
    SOURCES,
    WITNESSES,
    outcomes_of_reproduced,
    rendered,
)
from scripts.results import RESULTS
from smemreuse.reproduce.in_flight import ENGINES
from smemreuse.results.reproduction import AS_IT_IS, DELAYED, Shown


def reproduced() -> Iterator[dict[str, Any]]:
    for program in json.loads((RESULTS / "reproduce-h200.json").read_text())["programs"]:
        yield from program["findings"]


def test_the_data_of_the_package_are_up_to_date() -> None:
    assert EVIDENCE.read_text() == rendered()


def test_every_source_is_counted() -> None:
    assert {row["result"] for row in json.loads(rendered())} == {*SOURCES}


def test_what_tells_nothing_of_one_finding_is_not_counted() -> None:
    telling = [
        one["mechanism"]
        for one in reproduced()
        if one["shown"] in {str(Shown.BY_ITSELF), str(Shown.DELAYED), str(Shown.NOT_SHOWN)}
    ]
    counted = {
        row["mechanism"] for row in json.loads(rendered()) if row["result"] == "reproduce-h200.json"
    }
    assert counted == {*telling}
    assert "barrier of the block" not in counted  # launched, and not comparable


LATE, STORES = "threads 0-31 wait 20,000 cycles", "threads 0-31 store to one bank of shared memory"


def outcomes(shown: Shown, tried: list[str], **gave: object) -> list[tuple[str, int, int]]:
    told = {"launches": 20, "differing": 0, "hangs": False, "error": "", **gave}
    finding = {"kind": "race", "mechanism": "", "shown": str(shown), "tried": tried}
    about = {
        "kernel": "late_kernel",
        "finding": "0" * 8,
        "script": f"kernel-{'0' * 8}.py",
        "attempt": tried[-1],
    }
    right = {**told, "differing": 0, "error": ""}
    found = {**finding, **about, "outcomes": {AS_IT_IS: right, DELAYED: told}}
    study = {"launches": 20, "programs": [{"program": "late", "findings": [found]}]}
    return [(one.how, one.launches, one.wrong) for one in outcomes_of_reproduced(study)]


def test_every_attempt_is_counted_by_what_it_did() -> None:
    busy = [f"threads 0-31 {words} 64 times" for _, _, words in ENGINES.values()]
    tried = ["nothing is delayed", LATE, *busy, STORES]
    ways = [PLAIN, AT_WITNESS, *[BUSY] * len(busy), QUEUED]
    assert outcomes(Shown.NOT_SHOWN, tried) == [(how, 20, 0) for how in ways]
    assert outcomes(Shown.DELAYED, tried, differing=7) == [
        *((how, 20, 0) for how in ways[:-1]),
        (QUEUED, 20, 7),
    ]


def test_what_was_not_launched_is_not_counted() -> None:
    assert not outcomes(Shown.NOT_SHOWN, [LATE], launches=0, error="ValueError: too many")


@pytest.mark.tilelang
def test_the_witnesses_have_the_mechanisms_that_they_are_counted_for() -> None:
    from fixtures.field.lowered import lowered
    from fixtures.witnesses.kernels import WITNESSES as KERNELS
    from smemreuse.audit import BarrierStage
    from smemreuse.compilers.text.reader import parse_dump
    from smemreuse.linter import lint

    for one in KERNELS:
        (kernel,) = parse_dump(lowered(one.make(False), "sm_90a"), one.name).kernels
        found = {
            hazard.mechanism
            for hazard in lint(kernel, BarrierStage.PRESENT).hazards
            if hazard.certain and str(hazard.kind) == one.kind
        }
        assert found == {WITNESSES[one.name][0]}, one.name
