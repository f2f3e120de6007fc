"""Whose a hazard is, and which hazards make `lint` end in 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.linter import lint
from smemreuse.results.gate import FailOn, Gate
from smemreuse.results.hazards import Hazard, HazardKind, HazardOrigin, Mend, Remedy
from smemreuse.results.sites import Site
from tests.commands.running import run
from tests.conftest import DUMPS, ROOT

SPECIALIZED = (DUMPS / "gemm.sm_90a.tir").read_text()
"""The compiler has specialized it: warps of its producer arm may miss a phase."""
MARK = '"kWarpSpecializationScope"'
BARRIERS = 'scope="shared.barrier")\n'
RACE = ROOT / "fixtures" / "lint" / "race_between_threads.tir"
UNFENCED = ROOT / "fixtures" / "lint" / "refilled_without_fence.tir"


def origins(text: str) -> list[tuple[str, str]]:
    """The kind and the origin of each hazard of the only kernel."""
    (kernel,) = parse_dump(text).kernels
    return [(str(one.kind), str(one.origin)) for one in lint(kernel).hazards]


def test_a_wait_of_the_compiler_s_own_arm_is_the_compiler_s() -> None:
    found = origins(SPECIALIZED)
    assert found
    assert set(found) == {("missed-phase", "compiler")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MARK, '"warp_specialize"'),
        ("mbarrier = T.alloc_buffer(", "ready = T.alloc_buffer("),
        ("mbarrier = T.alloc_buffer(", "own = T.alloc_buffer((1,), {dtype}, {scope})\n        {0}"),
    ],
    ids=["specialized by hand", "mbarriers of another name", "mbarriers beside them"],
)
def test_what_is_not_surely_the_compiler_s_is_the_author_s(old: str, new: str) -> None:
    assert SPECIALIZED.count(old) == 1
    new = new.format(old, dtype='"uint64"', scope='scope="shared.barrier"')
    text = SPECIALIZED.replace(old, new)
    if new.startswith("ready"):
        text = text.replace("data=mbarrier.data", "data=ready.data")
    assert {origin for _, origin in origins(text)} == {"author"}


def test_accesses_are_the_author_s() -> None:
    for path in (RACE, UNFENCED):
        assert {origin for _, origin in origins(path.read_text())} == {"author"}


def test_a_fence_that_lacks_between_the_compiler_s_own_arms_is_the_compiler_s() -> None:
    """The source has no place for it."""
    branch = "        if tx < 32:\n"
    text = UNFENCED.read_text()
    assert text.count(branch) == 1
    marked = text.replace(branch, f"        T.attr([32, 128], {MARK}, 0)\n{branch}")
    assert ("missing-fence", "compiler") in origins(marked)
    assert ("missing-fence", "author") not in origins(marked)
    other = marked.replace(MARK, '"warp_specialize"')
    assert ("missing-fence", "author") in origins(other)


def hazard(*, certain: bool, origin: HazardOrigin) -> Hazard:
    mend = Mend(Remedy.CODE, "mend it.")
    kind = HazardKind.BARRIER_DEADLOCK
    return Hazard(kind, certain, Site("wait"), ("m",), "why", mend, origin=origin)


AUTHOR, COMPILER = HazardOrigin.AUTHOR, HazardOrigin.COMPILER


@pytest.mark.parametrize(
    ("certain", "origin", "failing"),
    [
        (True, AUTHOR, [FailOn.AUTHOR, FailOn.COMPILER, FailOn.POSSIBLE]),
        (True, COMPILER, [FailOn.COMPILER, FailOn.POSSIBLE]),
        (False, AUTHOR, [FailOn.POSSIBLE]),
        (False, COMPILER, [FailOn.POSSIBLE]),
    ],
)
def test_which_hazards_fail(certain: bool, origin: HazardOrigin, failing: list[FailOn]) -> None:
    found = hazard(certain=certain, origin=origin)
    assert [one for one in FailOn if Gate(fail_on=one).stops(found)] == failing
    for one in FailOn:
        assert Gate(strict=True, fail_on=one).stops(found)
        assert Gate(fail_on=one).fails([found], ()) is (one in failing)
        assert not Gate(fail_on=one).fails((), ["something"])
        assert Gate(strict=True, fail_on=one).fails((), ["something"])


POSSIBLE = ROOT / "fixtures" / "lint" / "parity_that_never_comes.tir"


@pytest.mark.parametrize(
    ("path", "options", "code"),
    [
        (DUMPS / "gemm.sm_90a.tir", [], 0),
        (DUMPS / "gemm.sm_90a.tir", ["--fail-on", "compiler"], 1),
        (DUMPS / "gemm.sm_90a.tir", ["--fail-on", "possible"], 1),
        (DUMPS / "gemm.sm_90a.tir", ["--strict"], 1),
        (RACE, ["--fail-on", "author"], 1),
        (POSSIBLE, ["--fail-on", "compiler"], 0),
        (POSSIBLE, ["--fail-on", "possible"], 1),
    ],
)
def test_lint_ends_in_1_by_the_rule_that_is_chosen(
    path: Path, options: list[str], code: int
) -> None:
    result = run("lint", path, *options, "--format", "json")
    assert result.exit_code == code
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert kernel["fails"] is bool(code)
    found = run("lint", path, *options, "--format", "github").stdout
    assert found.startswith("::error " if code else "::warning ")


def test_a_hazard_of_the_compiler_s_is_told_as_such() -> None:
    told = " ".join(run("lint", DUMPS / "gemm.sm_90a.tir").stdout.split())
    assert "missed-phase (certain by PTX; generated by the compiler): " in told
