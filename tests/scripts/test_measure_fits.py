"""By what functions fit, and the levers that an ablation leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.measure_fits import summed, way_of, without_levers

LIMIT = 100
FUNCTIONS: dict[str, dict[str, Any]] = {
    "by the default merge": {"default": 90, "merged": 80},
    "by smemreuse's merge": {"default": 110, "merged": 100},
    "by levers": {
        **{"default": 120, "merged": 110, "fits": True},
        "steps": [{"kind": "stages"}, {"kind": "reload"}, {"kind": "reload"}],
    },
    "not at all": {"default": 120, "merged": 110, "fits": False, "steps": []},
    "not known: not lowered": {"error": "exit 1"},
}


@pytest.mark.parametrize("way", FUNCTIONS)
def test_by_what_a_function_fits(way: str) -> None:
    assert way_of(FUNCTIONS[way], LIMIT) == way


def test_a_kind_of_lever_counts_once_for_a_function() -> None:
    found = summed([*FUNCTIONS.values(), FUNCTIONS["by levers"]], LIMIT)
    assert found["ways"]["by levers"] == 2
    assert found["levers"] == {"reload": 2, "stages": 2}


def test_what_fitting_adds_is_counted_where_levers_are_needed() -> None:
    def timed(plain: float, fit: float) -> dict[str, Any]:
        return {**FUNCTIONS["not at all"], "seconds": {"plain": plain, "fit": fit}}

    found = summed(
        [FUNCTIONS["by the default merge"], timed(1, 2), timed(1, 4), timed(2, 2.5)], LIMIT
    )
    assert found["added_seconds"] == {"median": 1, "worst": 3}
    assert "added_seconds" not in summed([FUNCTIONS["by the default merge"]], LIMIT)


@pytest.mark.tilelang
def test_levers_are_left_out_inside_only() -> None:
    from smemreuse.compilers.tilelang.levers import search
    from tests.compilers.tilelang.levers.kernels import attention

    def kinds_of(name: str) -> list[str]:
        return [str(one.lever.kind) for one in vars(search)[name](attention())]

    with without_levers(frozenset({"slices", "direct-store"})):
        assert set(kinds_of("reload_settings")) == {"reload"}
        assert kinds_of("direct_stores") == []
    assert set(kinds_of("reload_settings")) == {"reload", "slices"}


@pytest.mark.tilelang
def test_stages_are_left_out_of_each_loop() -> None:
    from smemreuse.compilers.tilelang.levers import search
    from tests.compilers.tilelang.levers.kernels import attention

    with without_levers(frozenset({"later-loads"})):
        (stages,) = vars(search)["fewer_stages"](attention())
    assert [str(one.lever.kind) for one in stages] == ["stages"]
