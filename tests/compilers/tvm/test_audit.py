"""`check` on what TVM's own merge left, against how those kernels ran on a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.tvm import FIXTURES
from fixtures.tvm.lowering import capture
from scripts.results import read
from tests.commands.running import run

pytestmark = pytest.mark.tvm

POINTERS = ("address_of_alias", "filled_through_pointer")
"""What is read or written through an address is in no index."""


def ran_right() -> dict[str, bool]:
    """Whether every launch of a fixture gave the right result under TVM's merge."""
    runs: list[dict[str, Any]] = read("h200-tvm")["runs"]
    stock = [one for one in runs if one["merge"] == "TVM default" and one["config"] == "small"]
    return {one["fixture"]: one["correct"] for one in stock}


@pytest.mark.parametrize("name", list(FIXTURES))
def test_the_verdict_on_tvm_s_merge_is_what_the_gpu_said(name: str, tmp_path: Path) -> None:
    fixture = FIXTURES[name]
    _, after = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
    dump = tmp_path / "merged.tir"
    dump.write_text(after.script())
    audits = json.loads(run("check", "--format", "json", dump).stdout)["kernels"]
    merged = [one for one in audits if one["plan"] == "merged in the file"]
    assert merged
    verdicts = {one["verdict"] for one in merged}
    if name in POINTERS:
        assert verdicts == {"unproved"}
    else:
        assert verdicts == ({"sound"} if ran_right()[name] else {"unsound"})


def test_a_barrier_that_is_missing_does_not_come_later(tmp_path: Path) -> None:
    """`ThreadSync` has run before the merge."""
    fixture = FIXTURES["dynamic_phases"]
    _, after = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
    dump = tmp_path / "merged.tir"
    lines = [line for line in after.script().splitlines() if "tvm_storage_sync" not in line]
    dump.write_text("\n".join(lines))
    (audit,) = json.loads(run("check", "--format", "json", dump).stdout)["kernels"]
    assert audit["verdict"] == "unsound"
    assert {violation["rule"] for violation in audit["violations"]} == {6}
