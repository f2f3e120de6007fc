"""Variants in processes of their own, and what their bits say."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from smemreuse.reproduce import running
from smemreuse.reproduce.running import Launching, outcome_of
from smemreuse.results.reproduction import VariantOutcome

SCRIPT = """
import json, sys, time, os
variant, launches, seconds = sys.argv[1:]
print("what a compiler says")
if variant == "dies":
    print("the last words", file=sys.stderr)
    os._exit(3)
if variant == "sleeps":
    time.sleep(60)
print(json.dumps({"bits": [variant] * 2 * int(launches)}))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_the_last_line_is_the_answer(script: Path) -> None:
    assert Launching(2).told(script, "fixed") == {"bits": ["fixed"] * 4}


def test_variants_run_at_the_same_time(script: Path) -> None:
    told = Launching(1).all_told(script, ("one", "two"))
    assert told == {"one": {"bits": ["one"] * 2}, "two": {"bits": ["two"] * 2}}


def test_a_process_that_dies_is_an_error_with_its_last_words(script: Path) -> None:
    told = Launching().told(script, "dies")
    assert told == {"error": "ended with 3: the last words"}


def test_a_process_that_does_not_end_is_killed(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "COMPILE_SECONDS", 0)
    begin = time.monotonic()
    told = Launching(1, 0.5).told(script, "sleeps")
    assert told == {"error": "not done in 2 s"}
    assert time.monotonic() - begin < 20


def test_bits_are_compared_launch_by_launch() -> None:
    must = {"bits": ["a", "a", "b", "b", "c", "c"], "before": "0"}
    assert outcome_of(must, must) == VariantOutcome(3)
    other = {"bits": ["a", "a", "x", "b", "y", "y"]}
    assert outcome_of(other, must) == VariantOutcome(3, differing=2, unsteady=1)
    hung = {"bits": ["a"], "hangs": True}
    assert outcome_of(hung, must) == VariantOutcome(0, hangs=True)
    assert outcome_of({"error": "no"}, must) == VariantOutcome(error="no")


def test_tensors_that_the_reference_does_not_give_twice_are_left_out() -> None:
    must = {"bits": ["x a 1", "x a 2", "x b 3", "x b 4"], "before": "x 0 0"}
    assert outcome_of(must, must) == VariantOutcome(2, left_out=1)
    same = {"bits": ["x a 7", "x a 8", "x b 9", "x b 9"]}
    assert outcome_of(same, must) == VariantOutcome(2, left_out=1)
    other = {"bits": ["x a 1", "x a 2", "x c 3", "x d 4"]}
    assert outcome_of(other, must) == VariantOutcome(2, differing=1, unsteady=1, left_out=1)


def test_where_all_that_is_written_is_unsteady_nothing_is_compared() -> None:
    must = {"bits": ["x 1", "x 2"], "before": "x 0"}
    assert outcome_of(must, must) == VariantOutcome(1, unsteady=1)
    assert outcome_of({"bits": ["x 3", "x 3"]}, must) == VariantOutcome(1)


def test_what_was_expected_is_compared_where_it_was_launched() -> None:
    told = {"bits": ["x 1", "x 2", "x 3", "x 3"], "before": "x 0", "wrong": [True, True, False, 0]}
    assert outcome_of(told, {}) == VariantOutcome(2, differing=1)
