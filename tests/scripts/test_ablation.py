"""Each mechanism can be switched off, and what acted is seen; a switch that went stale fails."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.ablation import _difference
from scripts.ablations.pages import ablation_table
from scripts.ablations.subjects import measured
from scripts.ablations.switches import SWITCHES, Patch, Stale, Switch, named, probed

SHARED = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def dump() -> str:
    """A kernel with a loop whose buffers share bytes."""
    return str(next(iter(sorted(SHARED.rglob("batched_gemm*.tir")))))


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda one: one.name)
def test_a_switch_applies_to_the_source_as_it_is(switch: Switch) -> None:
    before = [patch.place()[2] for patch in switch.patches]
    with switch.off():
        assert [patch.place()[2] for patch in switch.patches] == [
            patch.off for patch in switch.patches
        ]
    assert [patch.place()[2] for patch in switch.patches] == before
    assert switch.lines > 0


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda one: one.name)
def test_what_stands_for_a_function_takes_its_arguments(switch: Switch) -> None:
    for patch in switch.patches:
        real = patch.place()[2]
        real = getattr(real, "__func__", real)
        if callable(real):
            own = inspect.signature(real).parameters
            names = [name for name in own if own[name].default is inspect.Parameter.empty]
            static = isinstance(patch.place()[2], staticmethod | classmethod)
            inspect.signature(patch.off).bind(*names[static and names[0] == "cls" :])


def test_a_mechanism_that_is_gone_is_stale() -> None:
    with pytest.raises(Stale, match="no_such_function"):
        Patch("pipeline.search", "no_such_function", None).place()
    with pytest.raises(Stale, match=r"no_such_file\.py"):
        _ = Switch("gone", "", ("no_such_file.py",), ()).lines


@pytest.mark.parametrize("verb", ["plan", "lint"])
def test_probing_changes_no_decision_and_finds_what_acted(dump: str, verb: str) -> None:
    plain, probe = measured((dump, verb, "")), measured((dump, verb, "?"))
    assert probe["decided"] == plain["decided"]
    assert plain["acted"] == []
    assert set(probe["acted"]) <= {one.name for one in SWITCHES if verb in one.verbs}
    if verb == "plan":
        assert "privatization" in probe["acted"]


@pytest.mark.parametrize("verb", ["plan", "lint"])
def test_nothing_is_kept_of_what_is_measured(
    dump: str, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMEMREUSE_CACHE_DIR", str(tmp_path))
    measured((dump, verb, ""))
    assert not [*tmp_path.iterdir()]


def test_a_plan_without_privatization_is_no_smaller(dump: str) -> None:
    on, off = (measured((dump, "plan", name)) for name in ("", "privatization"))
    sizes = [sum(one["arena_bytes"] for one in each["decided"]["kernels"]) for each in (on, off)]
    assert sizes[0] <= sizes[1]


def test_a_function_acts_where_its_answer_is_another_than_off() -> None:
    class Room:
        def answer(self, number: int) -> bool:
            return number > 1

    patch = Patch("room", "Room.answer", lambda self, number: False)
    switch = Switch("a room", "", (), (patch,))

    def place() -> tuple[object, str, object]:
        return Room, "answer", inspect.getattr_static(Room, "answer")

    object.__setattr__(patch, "place", place)
    assert list(_acted(switch, Room, (0, 1))) == [False, False]
    assert list(_acted(switch, Room, (1, 2))) == [False, True]


def _acted(switch: Switch, room: type, numbers: tuple[int, ...]) -> Iterator[bool]:
    with probed((switch,)) as acted:
        for number in numbers:
            room().answer(number)
            yield switch.name in acted


def test_of_two_lists_only_what_differs_is_written() -> None:
    assert _difference([1, 2, 3], [1, 5, 3]) == ([2], [5])
    assert _difference([1], [1]) == ("offsets", "offsets")
    assert _difference([1], [1, 2]) == ([1], [1, 2])
    assert named("separation").verbs == ("plan",)


def test_the_table_has_a_row_a_mechanism_and_says_where_nothing_changes() -> None:
    def kind(acted: int, *changed: str) -> dict[str, object]:
        found = [[name, *(("offsets",) * 2 if name == "a/c" else (1, 2))] for name in changed]
        return {"acted": acted, "changed": found, "cpu": [1.0, 2.0]}

    rows = [
        {"name": "one", "lines": 1200, "kinds": {"plan": kind(9, "a/c", "a/b"), "lint": kind(0)}},
        {"name": "two", "lines": 200, "kinds": {"plan": kind(3), "lint": kind(2)}},
    ]
    total = {"count": 12, "cpu": 30.4, "failed": []}
    table = ablation_table(
        {
            "date": "2026-01-02",
            "machine": {"python": "3.12.3", "cpus": 16},
            "kinds": {"plan": total, "lint": total},
            "rows": rows,
        }
    )
    assert "16 cores, Python 3.12.3: 12 plans of dumps, 12 `lint` of dumps" in table
    assert "| one | 1,200 | **2** of 9, 1 in offsets alone |  | 2 to 4 | `b`, `c` |\n" in table
    assert "| two | 200 | 0 of 3 | 0 of 2 | 2 to 4 |  |\n" in table
