"""Branches whose arms store to the same place: what is known after them is what it was."""

from __future__ import annotations

from typing import Any

import pytest

from smemreuse.checker.execution.statements import Statements
from smemreuse.checker.loops.iteration import Loops
from smemreuse.checker.machine.agent import Steps
from smemreuse.checker.machine.state import State
from smemreuse.ir.kernel import If
from smemreuse.linter import lint
from tests.checker.small import (
    COPY_A,
    SYNC,
    init_barrier,
    judge_kernel,
    kernel_of,
    statement,
    tma_load,
    trace_of,
    under,
)

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


FILL = filled("As[i * 64 + tx] = D[tx]\n", "As[i * 64 + tx] = 0\n", "")


def rounds(body: str, behind: str = f"{SYNC}O[tx] = As[191 - tx]\n") -> str:
    return under("for i in range(4)", body) + behind


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        (FILL, True),
        ("As[i * 64 + tx] = D[tx]\n", True),
        ("As[i * 64 + tx] = D[tx]\nBs[i * 64 + tx] = 0\n", True),
        ("As[i * 64 + tx] = D[tx]\nAs[i * 64 + tx] = 0\n", False),
        ("As[i * 63 + tx] = D[tx]\n", False),
        ("As[tx] = i\n", False),
        ("As[i * 64 + tx // 2] = 0\n", False),
        ("As[i * 64 + tx] = Bs[tx]\n", False),
        ("As[i * 64 + tx + D[tx]] = 0\n", False),
        (under("if Bs[tx] > 0", "As[i * 64 + tx] = 1\n"), False),
        (under("if D[tx] > 0", "As[i * 64 + tx] = 1\n"), False),
        (f"As[i * 64 + tx] = 0\n{SYNC}", False),
    ],
)
def test_iterations_that_write_bytes_of_their_own_are_executed_at_once(
    body: str, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate, seen = Loops.iterate, []

    def noted(self: Loops, *args: Any) -> Steps:
        seen.append(args)
        yield from iterate(self, *args)

    monkeypatch.setattr(Loops, "iterate", noted)
    lint(kernel_of(rounds(body), elements=320))
    assert (not seen) is at_once


EARLIER = (
    "",
    "As[191 - tx] = 5\n",
    f"As[191 - tx] = 5\n{SYNC}",
    "O[tx] = As[191 - tx]\n",
    f"O[tx] = As[191 - tx]\n{SYNC}",
    COPY_A,
    init_barrier(64) + under("if tx == 0", tma_load("As")),
    "As[256 + tx] = 5\n",
)


@pytest.mark.parametrize("before", EARLIER)
@pytest.mark.parametrize("body", [FILL, "As[i * 64 + tx] = tx\n", "As[i * 63 + tx] = tx\n"])
@pytest.mark.parametrize("behind", [f"{SYNC}O[tx] = As[191 - tx]\n", "O[tx] = As[191 - tx]\n"])
def test_that_they_are_makes_no_difference_to_what_is_found(
    before: str, body: str, behind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> set[tuple[object, ...]]:
        kernel = kernel_of(before + rounds(body, behind), elements=320)
        return {
            (one.kind, one.certain, one.site.line, one.other and one.other.line)
            for one in lint(kernel).hazards
        }

    at_once = found()
    monkeypatch.setattr(Statements, "fill_apart", lambda *args: False)
    assert found() == at_once


@pytest.mark.parametrize(("offset", "sound"), [(0, False), (768, False), (1024, True)])
def test_a_plan_is_judged_as_well(offset: int, sound: bool) -> None:
    """What fills a buffer overwrites the one that shares its bytes: 256 elements of 4 bytes."""
    text = f"Bs[tx] = 7\n{SYNC}" + rounds(FILL) + f"{SYNC}O[tx] = Bs[63 - tx] + As[tx + 192]\n"
    kernel = kernel_of(text, elements=320)
    assert judge_kernel(kernel, {"Bs": offset}).sound is sound
