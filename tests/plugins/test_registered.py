"""Packers and policies of users: they plan, and what they do wrong is told, never applied."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from smemreuse import check, plan, plugins, read
from smemreuse.errors import InputError, PlanError
from smemreuse.planner import Placement, Problem
from smemreuse.planner.best import best
from smemreuse.plugins import installed
from smemreuse.plugins.registered import add_packer, add_policy
from smemreuse.semantics.rows.device_functions import DECLARED
from tests.commands.running import run, run_json
from tests.conftest import DUMPS

BATCHED = DUMPS / "batched_gemm.sm_80.tir"


def doubled(problem: Problem) -> Placement:
    """Leaves as much room again, and claims that there is no smaller one."""
    found = best(problem)
    return Placement(tuple(2 * offset for offset in found.offsets), 2 * found.arena, proved=True)


def test_a_packer_packs_and_its_claims_count_for_nothing() -> None:
    add_packer("doubled", doubled)
    (kernel,) = read(BATCHED)
    found = plan(kernel, policy="outer", packer="doubled", objective="bytes")
    assert (found.packer, found.arena_bytes) == ("doubled", 131_072)
    assert not found.optimal
    assert check(kernel, found).sound


@pytest.mark.parametrize(
    ("packer", "told"),
    [
        (lambda problem: 1, "packer wrong failed with TypeError: it gave 1, not a Placement"),
        (lambda problem: 1 // 0, "packer wrong failed with ZeroDivisionError"),
        (lambda problem: Placement((0, 0, 0), 32_768), "conflict and share bytes"),
        (lambda problem: Placement((0,), 0), "1 offsets for 3 buffers"),
    ],
)
def test_one_that_is_wrong_gives_way_to_best(packer: Callable[..., Any], told: str) -> None:
    add_packer("wrong", packer)
    (kernel,) = read(BATCHED)
    found = plan(kernel, policy="outer", packer="wrong")
    fallback = found.provenance.fallback
    assert fallback is not None
    assert (fallback.failed, fallback.used) == ("wrong", "best")
    assert told in fallback.why
    assert found.arena_bytes == 65_536


def test_a_policy_is_one_of_the_choices_and_judged_as_any() -> None:
    add_policy("eager", lambda alloc_level, open_entries: open_entries - 1)
    (kernel,) = read(DUMPS / "scratch_before_carried.sm_80.tir")
    eager = plan(kernel, policy="eager")
    assert eager.arena_bytes == plan(kernel, policy="inner").arena_bytes
    assert not check(kernel, eager).sound
    (entry,) = run_json("compare", BATCHED, "--format", "json")["kernels"]
    assert [*entry["policies"]] == ["outer", "inner", "dataflow", "eager"]


@pytest.mark.parametrize("level", [-1, 99, "x", None])
def test_a_policy_that_names_no_open_entry_is_told(level: object) -> None:
    add_policy("odd", lambda alloc_level, open_entries: level)
    (kernel,) = read(BATCHED)
    with pytest.raises(PlanError, match="policy odd gave level"):
        plan(kernel, policy="odd")


def test_two_of_a_name_are_refused() -> None:
    add_packer("own", doubled)
    add_packer("own", doubled)
    with pytest.raises(InputError, match="two of packer own"):
        add_packer("own", best)


# Entry points -----------------------------------------------------------------------------------

TABLES = {
    "mylib_nothing": {
        "arguments": ["value"],
        "asynchronous": False,
        "escapes": False,
        "barrier_at_end": False,
    }
}


def test_installed_packages_add_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "tests.plugins.test_registered"
    points = EntryPoints(
        [
            EntryPoint("doubled", f"{here}:doubled", installed.PACKERS),
            EntryPoint("mylib", f"{here}:TABLES", installed.EFFECTS),
        ]
    )
    monkeypatch.setattr(installed, "entry_points", lambda: points)
    (kernel,) = read(BATCHED)
    assert plan(kernel, policy="outer", packer="doubled", objective="bytes").arena_bytes == 131_072
    assert "mylib_nothing" in DECLARED
    assert plugins.stamp()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("tests.no_such_module:x", "smemreuse.packers of a package: tests.no_such_module:x cannot"),
        ("tests.plugins.test_registered:TABLES", "packer mylib is {'mylib_nothing'"),
    ],
)
def test_one_that_cannot_be_loaded_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, told: str
) -> None:
    points = EntryPoints([EntryPoint("mylib", value, installed.PACKERS)])
    monkeypatch.setattr(installed, "entry_points", lambda: points)
    result = run("plan", BATCHED)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
