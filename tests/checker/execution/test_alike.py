"""Branches whose arms store to the same place: what is known after them is what it was."""

from __future__ import annotations

import pytest

from smemreuse.checker.execution.statements import Statements
from smemreuse.checker.machine.state import State
from smemreuse.ir.kernel import If
from smemreuse.linter import lint
from tests.checker.small import SYNC, kernel_of, statement, trace_of, under

READ = f"{SYNC}O[tx] = As[63 - tx]\n"


def filled(then: str, other: str, behind: str = READ) -> str:
    return under("if D[tx] > 0", then) + under("else", other) + behind


@pytest.mark.parametrize(
    ("then", "other", "alike"),
    [
        ("As[tx] = D[tx]\n", "As[tx] = 0\n", True),
        ("As[tx + 0] = 1\n", "As[tx] = 0\n", True),
        ("As[tx] = 1\n", "As[63 - tx] = 0\n", False),
        ("As[tx // 2] = 1\n", "As[tx // 2] = 0\n", False),
        ("As[tx] = 1\n", "Bs[tx] = 0\n", False),
        ("As[tx] = Bs[tx]\n", "As[tx] = 0\n", False),
        ("As[tx] = 1\n", "As[tx] = 0\nBs[tx] = 0\n", False),
        ("As[D[tx]] = 1\n", "As[D[tx]] = 0\n", False),
    ],
)
def test_arms_are_alike_that_write_the_same_bytes_and_do_nothing_else(
    then: str, other: str, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, found = kernel_of(filled(then, other)), []
    judge = Statements.write_alike

    def noted(self: Statements, *args: object) -> bool:
        found.append(judge(self, *args))  # type: ignore[arg-type]
        return bool(found[-1])

    monkeypatch.setattr(Statements, "write_alike", noted)
    trace_of(kernel).run(kernel.body)
    assert isinstance(statement(kernel, "if"), If)
    assert found == [alike]


@pytest.mark.parametrize("before", ["", "As[63 - tx] = 5\n", "O[tx] = As[63 - tx]\n"])
@pytest.mark.parametrize("behind", [READ, "O[tx] = As[tx]\n", "O[tx] = As[63 - tx]\n"])
def test_it_makes_no_difference_to_what_is_found(
    before: str, behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = before + filled("As[tx] = D[tx]\n", "As[tx] = 0\n", behind)
    found = lint(kernel_of(text)).hazards
    monkeypatch.setattr(Statements, "write_alike", lambda *args: False)
    assert lint(kernel_of(text)).hazards == found


def test_nothing_is_copied_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    copies, copy = [], State.copy

    def counted(self: State) -> State:
        copies.append(self)
        return copy(self)

    monkeypatch.setattr(State, "copy", counted)
    for other, count in (("As[tx] = 0\n", 0), ("As[63 - tx] = 0\n", 1)):
        copies.clear()
        kernel = kernel_of(filled("As[tx] = 1\n", other))
        trace_of(kernel).run(kernel.body)
        assert len(copies) == count
