"""A program whose statements fail goes on, and functions that a compiler reads stay as written."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.applied.lenient import NAMES, Anything, compiled, failures


def run(source: str) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "program", **NAMES}
    exec(compiled(source, "program.py"), module)
    return module


def test_a_statement_that_fails_gives_its_names_a_value() -> None:
    failures.clear()
    module = run("first, second = 1 / 0\nthird = 3\n")
    assert isinstance(module["first"], Anything)
    assert isinstance(module["second"], Anything)
    assert module["third"] == 3
    assert failures == ["program.py:1: ZeroDivisionError: division by zero"]


def test_a_function_goes_on_behind_an_assertion_and_returns_something() -> None:
    module = run("def work(seen):\n    assert not seen\n    seen.append(1)\n    return 1 / 0\n")
    seen = [0]
    assert isinstance(module["work"](seen), Anything)
    assert seen == [0, 1]


def test_loops_end_and_conditions_that_fail_hold() -> None:
    module = run("n = 0\nfor _ in range(10 ** 9):\n    n += 1\nif 1 / 0:\n    m = n\n")
    assert module["m"] == module["n"] < 100


def test_what_a_compiler_reads_is_left_alone() -> None:
    source = "def jit(f):\n    return f\n\n@jit\ndef kernel():\n    return 1 / 0\n"
    with pytest.raises(ZeroDivisionError):
        run(source)["kernel"]()


def test_anything_takes_part_in_everything() -> None:
    value: Any = Anything()
    assert isinstance((value + 1) * value.field[3] @ value(2), Anything)
    assert int(value) == 1
    assert list(range(value)) == [0]
    assert list(value) == []
