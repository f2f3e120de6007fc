"""A random function and a rewrite of it: where they are called equivalent, runs leave the same."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from random import Random
from typing import Any, TypeAlias

import numpy as np

from smemreuse.compilers.tilelang.levers.programs import ProgramReader
from smemreuse.equivalence import Reference
from tests.random_kernels.choices import Pick
from tests.random_levers.edits import EDITS
from tests.random_levers.interpreter import Distance, run
from tests.random_levers.kernels import MOST_ROUNDS, KernelGrower

Inputs: TypeAlias = "tuple[list[Any], int, int]"
Results: TypeAlias = "dict[str, np.ndarray]"

RUNS = 3
"""Inputs for which both forms are run."""


def in_order(stages: int) -> int:
    return 0


def furthest(stages: int) -> int:
    return stages


class Examination:
    """A random function, and what is found of it once for all of its rewrites."""

    def __init__(self, pick: Pick, seed: int) -> None:
        self._seed = seed
        self._grower = KernelGrower(pick)
        self._func = self._grower.function()
        self._reader = ProgramReader(step=1)

    def rewritten(self, kind: str) -> Any | None:
        """The function rewritten in a way; None where it has nothing to be rewritten so. Each
        rewrite goes on with the choices behind those of the one before."""
        return EDITS[kind](self._grower, self._func)

    def examine(self, kind: str, stats: Counter[str]) -> None:
        """Raises `AssertionError` where a rewrite is accepted that changes what a run leaves."""
        changed = self.rewritten(kind)
        if changed is None:
            stats[f"{kind}: none"] += 1
            return
        proof = self._reference.equivalence(self._reader.program("main", changed))
        differs = self._difference(changed)
        way = "accepted" if proof.holds else "refused"
        stats[f"{kind}: {way}, {'other' if differs else 'same'} results"] += 1
        stats[f"{kind}: round by round"] += proof.holds and proof.unrolled
        assert not (proof.holds and differs), (
            f"{kind} is accepted, and changes {differs}\n{self._func.script()}\n{changed.script()}"
        )

    @cached_property
    def _reference(self) -> Reference:
        return Reference(self._reader.program("main", self._func))

    # Runs on numbers ----------------------------------------------------------------------------

    @cached_property
    def _runs(self) -> list[tuple[Inputs, Results]]:
        """What the function leaves as it is written, for some inputs."""
        grower, random = self._grower, Random(self._seed)
        tiles = [*grower.shared, *grower.kept, grower.ring, *grower.fragments]
        inputs = [(tiles, random.randint(0, MOST_ROUNDS), self._seed + at) for at in range(RUNS)]
        return [(one, run(self._func, *one, in_order)) for one in inputs]

    @cached_property
    def _unsteady(self) -> str:
        return self._differing(self._func, (furthest, self._somewhere(0)))

    def _difference(self, changed: Any) -> str:
        """The tensor in which runs of the function, as it is written or rewritten, leave something
        else; empty where none does."""
        ways = in_order, furthest, self._somewhere(1)
        return self._unsteady or self._differing(changed, ways)

    def _somewhere(self, number: int) -> Distance:
        random = Random(2 * self._seed + number)
        return lambda stages: random.randint(0, stages)

    def _differing(self, form: Any, ways: Iterable[Distance]) -> str:
        for way in ways:
            for inputs, wanted in self._runs:
                found = run(form, *inputs, way)
                for name, values in wanted.items():
                    if not np.array_equal(values, found[name]):
                        return name
        return ""


def examine(kind: str, pick: Pick, seed: int, stats: Counter[str]) -> None:
    """Examines one rewrite of a function, as it is after those before it."""
    examination = Examination(pick, seed)
    for before in itertools.takewhile(lambda one: one != kind, EDITS):
        examination.rewritten(before)
    examination.examine(kind, stats)
