"""Guesses that are checked until one passes, each without the pairs that failed before."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.pipeline.candidate import Candidate
from smemreuse.pipeline.refinement import Check, Refinement
from smemreuse.policies.packing import Pair
from smemreuse.results.verdict import SOUND, UNPROVED, Verdict
from smemreuse.versions.merges import merge_of
from tests.pipeline.kernels import DYN, dumped

KERNEL = dumped("flash_attention.sm_90a")
PLAN = merge_of(KERNEL).plan(KERNEL, DYN)
FIRST, SECOND = (frozenset(pair) for pair in zip(PLAN.buffers[:2], PLAN.buffers[1:3], strict=True))
PASSES = Verdict(SOUND)
WRONG = Verdict(UNPROVED, uncovered=("who knows",), open_pairs=frozenset({SECOND}))
DOUBTED = Verdict(UNPROVED, (), ("more",), (), frozenset({FIRST}), stopped_early=True)


class Guesses:
    """Guesses whose arenas have given sizes, by the number of conflicts, and what was asked."""

    def __init__(self, *arenas: int):
        self.arenas = arenas
        self.refused: list[int] = []
        self.settled: list[int] = []

    def guess(self, conflicts: frozenset[Pair]) -> Candidate:
        return Candidate(KERNEL, replace(PLAN, arena_bytes=self.arenas[len(conflicts)]))

    def refuse(self, candidate: Candidate) -> frozenset[Pair]:
        self.refused.append(candidate.plan.arena_bytes)
        return candidate.verdict.open_pairs

    def first_to_pass(self, check: Check, without_doubt: Check, below: int = 1000) -> int | None:
        """The arena of the guess that is found."""

        def is_wanted(candidate: Candidate) -> bool:
            return candidate.plan.arena_bytes < below

        found = Refinement(self.guess, is_wanted, self.refuse, frozenset(), 4)
        passed = found.first_to_pass(check, self.noting(without_doubt))
        return None if passed is None else passed.plan.arena_bytes

    def noting(self, check: Check) -> Check:
        def noted(candidate: Candidate) -> Candidate:
            self.settled.append(candidate.plan.arena_bytes)
            return check(candidate)

        return noted


def says(*verdicts: Verdict) -> Check:
    """A check that says these of the candidates that it is given, one after the other."""
    left = list(verdicts)
    return lambda candidate: candidate.with_verdict(left.pop(0))


def test_the_pair_to_blame_is_kept_apart_in_the_next_guess() -> None:
    guesses = Guesses(100, 200)
    assert guesses.first_to_pass(says(WRONG, PASSES), says()) == 200
    assert guesses.refused == [100]


def test_a_doubted_pair_is_avoided_where_that_costs_no_byte() -> None:
    guesses = Guesses(100, 100)
    assert guesses.first_to_pass(says(DOUBTED, PASSES), says()) == 100
    assert not guesses.refused
    assert not guesses.settled


def test_where_it_costs_bytes_the_doubt_is_looked_into() -> None:
    guesses = Guesses(100, 200)
    assert guesses.first_to_pass(says(DOUBTED), says(PASSES)) == 100
    assert guesses.settled == [100]


def test_a_doubt_that_was_right_costs_the_bytes_of_its_pair() -> None:
    guesses = Guesses(100, 200)
    assert guesses.first_to_pass(says(DOUBTED), says(WRONG, PASSES)) == 200
    assert guesses.refused == [100]


def test_what_is_not_wanted_is_not_checked() -> None:
    assert Guesses(100, 200).first_to_pass(says(WRONG), says(), below=150) is None
    assert Guesses(100, 200).first_to_pass(says(), says(), below=100) is None


def test_a_pair_that_is_apart_already_ends_it() -> None:
    guesses = Guesses(100, 200)
    assert guesses.first_to_pass(says(WRONG, WRONG), says()) is None
    assert guesses.refused == [100, 200]
