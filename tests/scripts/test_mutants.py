"""Mutants are found by structure: every operator applies, and what it makes is another program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.mutants import EQUIVALENT, ROOMS, Mutant, modules, mutants_of, noticing, sampled
from scripts.mutants.operators import OPERATORS
from tests.conftest import ROOT

SOURCE = '''
from numpy import minimum

class Box:
    def holds(self, number: int) -> bool:
        """Whether it is in the box."""
        if number < self.size and number >= 0:
            self.asked += 1
            self.note(number)
        return any(one == number for one in self.inside if one)

    def inside(self) -> list[int]:
        return [max(one, 1) | 2 for one in self.all]
'''

CHANGES = {
    "negate": ("if not (number < self.size and number >= 0):", "if not one"),
    "drop": ("pass", "pass"),
    "swap": ("number < self.size or number >= 0", "self.asked -= 1", "all(", "min(one, 1)", "& 2"),
    "compare": ("number <= self.size", "number > 0", "one != number"),
    "answer": ("return True", "return False", "return []"),
}


def box(tmp_path: Path) -> list[Mutant]:
    path = tmp_path / "box.py"
    path.write_text(SOURCE)
    return mutants_of(path, "checker/box.py")


@pytest.mark.parametrize("operator", CHANGES)
def test_an_operator_changes_what_it_is_for(operator: str, tmp_path: Path) -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    made = [one.source(SOURCE) for one in box(tmp_path) if one.operator == operator]
    for text in CHANGES[operator]:
        assert any(text in source for source in made), text
    assert len({*made, plain}) == len(made) + 1
    assert all(ast.parse(source) for source in made)


def test_a_mutant_says_where_it_is_and_what_it_changes(tmp_path: Path) -> None:
    (first,) = [one for one in box(tmp_path) if one.name.endswith("Box.inside answer#0")]
    assert (first.function, first.line, first.change) == ("Box.inside", 12, "return []")
    with pytest.raises(LookupError, match=r"Box\.inside"):
        first.source("class Box: pass")


def test_rows_of_the_table_lose_one_column_each(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text("ROWS = {'sync': Effect(meeting=1, fence=True)}\n")
    found = mutants_of(path, "semantics/rows/rows.py")
    assert {one.operator for one in found} == {"column"}
    made = [one.source(path.read_text()).strip() for one in found]
    assert made == ["ROWS = {'sync': Effect(fence=True)}", "ROWS = {'sync': Effect(meeting=1)}"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_mutants_and_the_tests_that_are_to_notice(room: str) -> None:
    found = modules([f"smemreuse/{room}"])
    mutants = [one for name in found for one in mutants_of(ROOT / "smemreuse" / name, name)]
    assert {one.operator for one in mutants} >= set(OPERATORS) - {"column"}
    for test in noticing(found[-1]):
        assert (ROOT / test).exists()
    assert set(ROOMS[room]) <= {test for name in found for test in noticing(name)}


def test_the_table_of_effects_is_among_them() -> None:
    found = sampled(modules(["smemreuse/semantics/rows"]), 200, seed=2)
    assert "column" in {one.operator for one in found}


def test_a_seed_draws_the_same_sample_each_time_of_different_functions() -> None:
    chosen = modules(["smemreuse/planner"])
    first, again, other = (sampled(chosen, 30, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len({(one.module, one.function) for one in first}) == 30


def test_mutants_that_change_nothing_are_known_by_functions_that_are_there() -> None:
    for place, reason in EQUIVALENT.items():
        where, operator = place.split()
        module, _, function = where.partition(":")
        names = {one.function for one in mutants_of(ROOT / "smemreuse" / module, module)}
        assert function in names, place
        assert operator in OPERATORS, place
        assert len(reason) > 20, place
