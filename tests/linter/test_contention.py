"""When a possible race is none, where its bytes do not say it."""

from __future__ import annotations

import pytest

from smemreuse.ir.kernel import Store, walk_statements
from smemreuse.linter.contention import touches_one_element
from smemreuse.results.hazards import Contention, Hazard, HazardKind
from tests.checker.small import kernel_of, under
from tests.linter.test_linter import report_on

SOME, OTHERS = "if D[tx] == 3", "if D[tx] == 4"
BY_DATA = "for example by an atomic that hands out the places"


def race(body: str) -> Hazard:
    (found,) = (one for one in report_on(kernel_of(body)).hazards if one.kind is HazardKind.RACE)
    return found


@pytest.mark.parametrize(
    ("body", "contention", "by_data"),
    [
        (under(SOME, "As[0] = tx\n"), Contention.ONE_ELEMENT, False),
        (under(SOME, "As[D[tx] % 64] = tx\n"), Contention.ELEMENTS, True),
        (
            under(SOME, "As[0] = 1\n") + under(OTHERS, "O[tx] = As[0]\n"),
            Contention.TWO_STATEMENTS,
            False,
        ),
        (under(SOME, "As[tx] = 1\n") + under(OTHERS, "O[tx] = As[63 - tx]\n"), None, False),
    ],
)
def test_what_makes_a_race_none(body: str, contention: Contention | None, *, by_data: bool) -> None:
    found = race(body)
    assert (found.certain, found.contention) == (False, contention)
    assert (BY_DATA in found.mend.sentence) is by_data


@pytest.mark.parametrize(
    ("stmt", "is_one"),
    [
        ("As[3] = As[3] + 1\n", True),
        ("As[3] = As[4]\n", False),
        ("As[tx] = 1\n", False),
        ("O[3] = 1\n", False),
    ],
)
def test_a_statement_of_one_element(stmt: str, *, is_one: bool) -> None:
    kernel = kernel_of(stmt)
    (buffer,) = (one for one in kernel.allocations("shared.dyn") if one.name == "As")
    (store,) = (one for one in walk_statements(kernel.body) if isinstance(one, Store))
    assert touches_one_element(store, buffer) is is_one
