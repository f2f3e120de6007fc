"""A live function in a compiler's lowering, and what its merge is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from smemreuse.checker import remember_from
from smemreuse.compilers.live import LiveVisitor
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.judging import held_before, judge_with_barriers
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.options import PlanOptions
from smemreuse.results.elaboration import Elaboration
from smemreuse.versions.merges import Merge

SourceNamer = Callable[[LiveVisitor, Sequence[Kernel]], None]


@dataclass
class DeviceFunction:
    """A live function, and what `visitor` reads in it: the kernels that it launches, in order.

    `elaboration` is the call that made it, as far as that is known, and `sources` writes into the
    statements of kernels which lines of it they come from.
    """

    name: str
    func: Any
    visitor: LiveVisitor
    elaboration: Elaboration = field(default_factory=Elaboration)
    sources: SourceNamer | None = None

    @cached_property
    def kernels(self) -> list[Kernel]:
        return self.visitor.kernels(self.name, self.func)

    def name_sources(self) -> None:
        """Writes into the statements of its kernels where they come from, as far as it is known."""
        if self.sources is not None:
            self.sources(self.visitor, self.kernels)

    def with_origin(self, kernel: LoweredKernel) -> LoweredKernel:
        """One of its kernels, with what is known of the Python that made it."""
        return replace(kernel, elaboration=self.elaboration, name_sources=self.name_sources)

    def judged(self, proposal: Proposal, merged: Any) -> Proposal:
        """A proposal with its verdicts, reached on the function with its plans and barriers in."""
        kernels = self.visitor.again().kernels(self.name, merged)
        for now, before in zip(kernels, self.kernels, strict=True):
            facts_of(now).learn_from(facts_of(before))
            remember_from(before, now)
        verdicts = judge_with_barriers(kernels, proposal.plans)
        judged = [
            held_before(one.kernel, one.plan, verdict)
            for one, verdict in zip(proposal, verdicts, strict=True)
        ]
        return proposal.with_verdicts(judged)


@dataclass(frozen=True)
class MergeRequest:
    """What a lowering asks of a merge: the compiler's own, which scopes, and the options."""

    stock: Merge
    scopes: Sequence[str]
    options: PlanOptions


@dataclass(frozen=True)
class PlannedFunction:
    """A function and the plans that it is merged under at first; None where nothing is merged."""

    function: DeviceFunction
    stock: Merge
    proposal: Proposal | None = None


def scopes_to_merge(kernel: Kernel, scopes: Sequence[str]) -> list[str]:
    """Those of `scopes` that are merged in a kernel: a single buffer needs no arena."""
    return [scope for scope in scopes if len(kernel.allocations(scope)) > 1]


def stock_proposal(
    kernels: Sequence[Kernel], scopes: Sequence[Sequence[str]], stock: Merge
) -> Proposal:
    """What the compiler's own merge makes of the kernels of a function, in these scopes of each."""
    pairs = zip(kernels, scopes, strict=True)
    return Proposal(
        tuple(
            tuple(Candidate(one, stock.plan(one, scope)) for scope in each) for one, each in pairs
        )
    )
