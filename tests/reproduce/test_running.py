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
    must = {"bits": ["a", "a", "b", "b", "c", "c"]}
    assert outcome_of(must, must) == VariantOutcome(3)
    other = {"bits": ["a", "a", "x", "b", "y", "y"]}
    assert outcome_of(other, must) == VariantOutcome(3, differing=2, unsteady=1)
    hung = {"bits": ["a"], "hangs": True}
    assert outcome_of(hung, must) == VariantOutcome(0, hangs=True)
    assert outcome_of({"error": "no"}, must) == VariantOutcome(error="no")
