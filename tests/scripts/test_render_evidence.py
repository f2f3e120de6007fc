"""The evidence in the package is what the committed measurements say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.render_evidence import EVIDENCE, SOURCES, WITNESSES, rendered
from scripts.results import RESULTS
from smemreuse.results.reproduction import Shown


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
