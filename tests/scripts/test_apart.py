"""Functions in processes of their own: what they answer, and what of those that hang or die."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import pytest

from scripts.apart import Ended, Worker, answer, command_of, doing, found_apart


def named(word: str) -> list[str]:
    print("what a compiler says")
    return [word, os.environ["GIVEN"]]


def finds(word: str) -> dict[str, str]:
    return {"word": word}


def fails(why: str) -> None:
    raise ValueError(why)


def exits(code: int) -> None:
    os._exit(code)


def hangs() -> None:
    doing("sleeping")
    time.sleep(60)


def adds(first: int) -> Generator[int, int, str]:
    total = first
    while total < 10:
        doing("waiting")
        total += yield total
    return f"{total} in all"


def stand_in() -> Generator[Any, dict[str, Any], Any]:
    """For a worker of `scripts.spaces.team`: hangs, dies, or answers for the last time."""
    job = yield None
    while True:
        doing("compiling")
        wish = job["config"]["wish"]
        if wish == 1:
            doing("launching")
            time.sleep(60)
        if wish == 2:
            os._exit(3)
        if wish == 3:
            return {"status": "ok"}
        job = yield {"status": "ok"}


def told(function: Any, *arguments: Any, seconds: float = 60) -> dict[str, Any]:
    return answer(command_of(function, *arguments), seconds, GIVEN="7")


def test_a_process_answers_with_what_its_function_returns() -> None:
    assert told(named, "one") == {"found": ["one", "7"]}


def test_a_process_that_hangs_or_fails_costs_no_more_than_itself() -> None:
    assert told(hangs, seconds=3) == {"hangs": True}
    assert told(fails, "no card") == {"error": "ended with 1, starting: ValueError: no card"}
    assert told(exits, 3) == {"error": "ended with 3, starting"}


def test_what_is_known_is_told_with_the_error_of_a_process() -> None:
    assert found_apart(command_of(fails, "no card"), 60, tile="64") == {
        "tile": "64",
        "error": "ended with 1, starting: ValueError: no card",
    }
    assert found_apart(command_of(hangs), 2, tile="64")["error"] == "not done in 2 s"
    assert found_apart(command_of(finds, "one"), 60, tile="64") == {"word": "one"}


def test_a_generator_is_asked_until_its_last_answer_and_then_started_anew() -> None:
    worker = Worker(command_of(adds, 1))
    assert [worker.ask(60), worker.ask(60, 4), worker.ask(60, 5)] == [1, 5, "10 in all"]
    assert worker.process is None
    assert worker.ask(60) == 1
    worker.end()


def test_each_step_has_a_limit_of_its_own() -> None:
    worker = Worker(command_of(hangs))
    with pytest.raises(Ended, match="not done in 0 s, sleeping") as ended:
        worker.ask({"starting": 60.0, "sleeping": 0.2}.__getitem__)
    assert (ended.value.doing, ended.value.late) == ("sleeping", True)
