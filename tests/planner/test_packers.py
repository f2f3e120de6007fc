"""Every packer on random problems, and in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import example, given, settings

from smemreuse.planner import PACKERS, Problem, validate, without_reuse
from smemreuse.planner.problem import arena_of
from tests.planner.problems import HOLES, problems

BEST, TILELANG = PACKERS["best"], PACKERS["tilelang"]
SOUND_PACKERS = ("best", "tilelang")  # for the third, see test_tvm.py


@pytest.mark.parametrize("packer", SOUND_PACKERS, ids=lambda name: f"packer-{name}")
@given(problem=problems())
@example(problem=Problem.from_intervals([], [], []))
@example(problem=Problem.from_intervals([0, 0], [1024, 1], [(0, 2), (0, 2)]))
@example(problem=HOLES)
@settings(max_examples=100)
def test_a_packer_keeps_to_the_problem(packer: str, problem: Problem) -> None:
    for asked in (problem, without_reuse(problem)):
        placement = PACKERS[packer](asked)
        validate(asked, placement)
        assert placement.arena >= asked.lower_bound
        assert PACKERS[packer](asked) == placement, "packing twice gives the same"


@given(problem=problems(most=14))
@settings(max_examples=100)
def test_best_is_never_larger_than_tilelang(problem: Problem) -> None:
    """TileLang rounds its arena up to 16 bytes; compared is where its last buffer ends."""
    assert BEST(problem).arena <= arena_of(problem, TILELANG(problem).offsets)


# Determinism ----------------------------------------------------------------------------------

_SCRIPT = """
import random
from smemreuse.planner import PACKERS, Problem
choices = random.Random(7)
for _ in range(40):
    count = choices.randrange(1, 12)
    spans = [(b, b + choices.randrange(1, 6)) for b in (choices.randrange(9) for _ in range(count))]
    sizes = [choices.choice((0, 3, 16, 100, 4096)) for _ in range(count)]
    alignments = [choices.choice((1, 16, 128, 1024)) for _ in range(count)]
    names = [choices.choice("abc") for _ in range(count)]
    problem = Problem.from_intervals(sizes, alignments, spans, names)
    print([PACKERS[name](problem) for name in sorted(PACKERS)])
"""


def test_results_do_not_depend_on_the_process() -> None:
    outputs = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert outputs.pop().count("Placement") == 40 * len(PACKERS)
