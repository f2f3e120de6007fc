"""The first proposal that may be applied: the one place that tries, judges and chooses.

A door passes in who judges. On a dump that is each candidate itself. Inside a compiler a function
is rewritten, given its barriers and read again, and what is found there is the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from smemreuse.checker.budget import limit_work
from smemreuse.checker.operations import operations_of
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.options import PlanOptions
from smemreuse.pipeline.search import APPLIED, PlanSearch
from smemreuse.results.verdict import Judged
from smemreuse.targets.architectures import Architecture
from smemreuse.versions.merges import Merge


class Verifier(Protocol):
    """Checks a proposal where it is applied, and returns it with those verdicts."""

    def __call__(self, proposal: Proposal) -> Proposal:
        """The same plans with their verdicts; some may be left out that are not worth an arena."""


def on_the_dump(proposal: Proposal) -> Proposal:
    """The verifier of dumps: each candidate is judged on the kernel as it was read."""
    return proposal


class Attempts:
    """What may be applied to a function: one search for each scope of each kernel that it launches.

    With `trusting`, the door that applies a proposal judges it again, on better IR than was read
    here.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        scopes: Sequence[Sequence[str]],
        options: PlanOptions,
        stock: Merge,
        arch: Architecture | None = None,
        *,
        trusting: bool = False,
    ):
        self._best: Proposal | None = None
        if trusting and options.objective == "speed":
            for kernel in kernels:
                limit_work(kernel, operations_of(kernel).count)
        pairs = zip(kernels, scopes, strict=True)
        self._searches = [
            [PlanSearch(kernel, scope, options, stock, arch, trusting) for scope in wanted]
            for kernel, wanted in pairs
        ]

    def best(self) -> Proposal:
        """The proposal to apply next: the best candidate of each search that was not
        refused yet.
        """
        if self._best is None:
            launches = self._searches
            self._best = Proposal(tuple(tuple(one.best() for one in each) for each in launches))
        return self._best

    def learn(self, judged: Proposal) -> None:
        """Records which candidates of a judged proposal were refused, so that `best` avoids them.

        Raises `PlanError` where a plan that shares nothing was refused, which is a fault of this
        package.
        """
        self._best = None
        for candidate in judged:
            if not candidate.acceptable:
                if candidate.plan.policy == "dataflow" and not candidate.plan.sharing_pairs():
                    raise PlanError(f"a plan that shares nothing was {candidate.verdict.refusal}")
                self._search(candidate).learn(candidate)

    def improve(self, judged: Proposal) -> bool:
        """Whether to try another proposal before this one, which keeps an unproved layout of the
        compiler.
        """
        doubted = [self._search(one).doubt(one) for one in judged]
        if not any(doubted):
            return False
        self._best = None
        found = [one.plan.offsets for one in self.best()]
        return found != [one.plan.offsets for one in judged]

    def refused_for(self, chosen: Candidate) -> tuple[Candidate, ...]:
        """Why a chosen plan is not smaller: what was refused in its place."""
        return tuple(self._search(chosen).refused_below(chosen.plan))

    def _search(self, candidate: Candidate) -> PlanSearch:
        return next(
            one
            for launch in self._searches
            for one in launch
            if one.kernel is candidate.kernel and one.scope == candidate.scope
        )


@dataclass(frozen=True)
class Choice:
    """The proposal to apply, and for each of its candidates those that were refused before it."""

    proposal: Proposal
    refused: Mapping[Candidate, tuple[Candidate, ...]]

    def refused_for(self, chosen: Candidate) -> tuple[Judged, ...]:
        """What was refused in the place of a candidate, with the verdicts."""
        return tuple((one.plan, one.verdict) for one in self.refused[chosen])


def choose(
    attempts: Attempts, verify: Verifier = on_the_dump, *, unchecked: bool = False
) -> Choice:
    """The first proposal that may be applied; with `unchecked` the very first.

    Raises `PlanError` where none may, which would be a fault of ours: the last shares nothing.
    """
    for _ in range(MOST_TRIED):
        judged = verify(attempts.best())
        if unchecked or (judged.acceptable and not attempts.improve(judged)):
            return Choice(judged, {one: attempts.refused_for(one) for one in judged})
        if not judged.acceptable:
            attempts.learn(judged)
    raise PlanError("no plan may be applied, not even one that shares nothing")


MOST_TRIED = 2 * APPLIED + 4
"""Proposals for one function; each search comes to its end on the way."""
