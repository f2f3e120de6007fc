"""Kernels that a program compiles, merged by a plan that is refuted, with delays or without.

The plan is applied unchecked, in TileLang's own lowering. A file that stands by itself begins with
the same kernel without any reuse: that has room for any plan, and what it gives is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from smemreuse.compilers.tilelang.mending import Synchronized
from smemreuse.compilers.tilelang.reproducing import CompiledKernel, LaunchedKernel, lowered_in
from smemreuse.compilers.tilelang.session import TileLangSession
from smemreuse.compilers.tilelang.verify import PendingMerge
from smemreuse.ir.kernel import Stmt
from smemreuse.pipeline.candidate import Proposal
from smemreuse.pipeline.judging import judge_with_barriers
from smemreuse.pipeline.options import checked_options
from smemreuse.reproduce.refuted import hazards_of
from smemreuse.reproduce.snippet import Snippet
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Mended
from smemreuse.results.verdict import Verdict

NO_REUSE = {"tl.disable_shared_memory_reuse": True}


@dataclass(repr=False, eq=False)
class UncheckedSession(TileLangSession):
    """Merges by its policy whatever the checker says, and keeps each function that has its
    barriers; puts another one in its place where `replaced` has one of its name."""

    replaced: Mapping[str, Any] = field(default_factory=dict)
    seen: list[tuple[Synchronized, Proposal]] = field(default_factory=list)

    def _confirmed(self, pending: PendingMerge, func: Any) -> Any:
        choice, confirmed = pending.confirmed(func, unchecked=True)
        function = pending.function
        merged = function.visitor.allocated
        found = Synchronized(function.name, confirmed, merged, function.sources)
        self.seen.append((found, choice.proposal))
        return self.replaced.get(function.name, confirmed)


@dataclass(eq=False)
class CompiledByPlan(CompiledKernel):
    """A compiled kernel, lowered by a policy's plans; `base` is the same without any reuse."""

    base: CompiledKernel | None = None
    policy: str = ""

    @classmethod
    def of(cls, made: CompiledKernel, policy: str) -> tuple[CompiledByPlan, list[Proposal]]:
        """The kernel by that policy, with the plans of each function that it launches."""
        base = replace(made, pass_configs={**made.pass_configs, **NO_REUSE})
        base.source = base.lowered({})
        session = _session(policy)
        source = lowered_in(session, made.func, made.target, made.pass_configs)
        functions = [function for function, _ in session.seen]
        about = (made.elaboration, made.arguments, base, policy)
        found = cls(made.func, made.target, made.pass_configs, source, functions, *about)
        return found, [proposal for _, proposal in session.seen]

    def lowered(self, replaced: Mapping[str, Any], func: Any = None) -> str:
        session = _session(self.policy)
        session.replaced = replaced
        func = self.func if func is None else func
        return lowered_in(session, func, self.target, self.pass_configs)


def _session(policy: str) -> UncheckedSession:
    options = checked_options(policy, "best", "speed", strict=False)
    return UncheckedSession.of(options, unchecked=True)


@dataclass(eq=False)
class RefutedKernel(LaunchedKernel):
    """One kernel as a plan merges it, with what refutes the plan for its hazards."""

    verdicts: Sequence[Verdict] = ()

    @cached_property
    def report(self) -> LintReport:
        """What its plans do to it, where an execution shows that."""
        found = (one for verdict in self.verdicts for one in hazards_of(verdict, self.kernel))
        return LintReport(self.kernel.name, False, tuple(found))

    @property
    def mends(self) -> tuple[Mended, ...]:
        return ()

    @property
    def unfixed(self) -> frozenset[str]:
        return frozenset()

    @property
    def _base(self) -> CompiledKernel:
        assert isinstance(self.made, CompiledByPlan)
        assert self.made.base is not None
        return self.made.base

    @property
    def base(self) -> str:
        return self._base.source

    @property
    def apart(self) -> str | None:
        return self._base.source

    @property
    def func(self) -> str | None:
        return self._base.as_json

    @property
    def snippet(self) -> Snippet | None:
        return self._base.snippet

    @property
    def pass_configs(self) -> Mapping[str, Any]:
        return self._base.pass_configs

    def _live(self, stmt: Stmt) -> Stmt:
        return stmt


def refuted_kernels(made: CompiledKernel, policy: str) -> Iterator[RefutedKernel]:
    """The kernels that a compiled one launches, merged by a policy's plans."""
    planned, proposals = CompiledByPlan.of(made, policy)
    for function, proposal in zip(planned.functions, proposals, strict=True):
        verdicts = iter(judge_with_barriers(function.kernels, proposal.plans))
        for number, launch in enumerate(proposal.plans):
            of_kernel = [next(verdicts) for _ in launch]
            yield RefutedKernel(planned, function, number, verdicts=of_kernel)
