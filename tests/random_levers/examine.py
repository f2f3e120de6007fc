"""A random function and a rewrite of it: where they are called equivalent, runs leave the same."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np

from smemreuse.compilers.tilelang.levers.programs import ProgramReader
from smemreuse.equivalence import equivalence
from tests.random_kernels.choices import Pick
from tests.random_levers.edits import EDITS
from tests.random_levers.interpreter import Distance, run
from tests.random_levers.kernels import MOST_ROUNDS, KernelGrower

RUNS = 3
"""Inputs for which both forms are run."""


def in_order(stages: int) -> int:
    return 0


def furthest(stages: int) -> int:
    return stages


def examine(kind: str, pick: Pick, seed: int, stats: Counter[str]) -> None:
    """Raises `AssertionError` where a rewrite is accepted that changes what a run leaves."""
    grower = KernelGrower(pick)
    func = grower.function()
    changed = EDITS[kind](grower, func)
    if changed is None:
        stats[f"{kind}: none"] += 1
        return
    reader = ProgramReader(step=1)
    proof = equivalence(reader.program("main", func), reader.program("main", changed))
    differs = difference(grower, func, changed, seed)
    way = "accepted" if proof.holds else "refused"
    stats[f"{kind}: {way}, {'other' if differs else 'same'} results"] += 1
    stats[f"{kind}: round by round"] += proof.holds and proof.unrolled
    assert not (proof.holds and differs), (
        f"{kind} is accepted, and changes {differs}\n{func.script()}\n{changed.script()}"
    )


def difference(grower: KernelGrower, func: Any, changed: Any, seed: int) -> str:
    """The tensor in which runs of two forms leave something else; empty where none does. The
    reference is the function as it is written."""
    random = Random(seed)
    tiles = [*grower.shared, *grower.kept, grower.ring, *grower.fragments]
    for number in range(RUNS):
        inputs = tiles, random.randint(0, MOST_ROUNDS), seed + number
        wanted = run(func, *inputs, in_order)
        somewhere = lambda stages: random.randint(0, stages)  # noqa: E731
        distances: list[Distance] = [in_order, furthest, somewhere]
        for form in (func, changed):
            for distance in distances:
                found = run(form, *inputs, distance)
                for name, values in wanted.items():
                    if not np.array_equal(values, found[name]):
                        return name
    return ""
