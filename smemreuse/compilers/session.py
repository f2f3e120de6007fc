"""What the sessions of all compilers have in common: a merge in force, and what came of it.

A door to a further compiler needs a folder here beside `tilelang` and `tvm`:

- a `LiveVisitor` that reads its live TIR, and a function that writes a proposal's plans into it;
- a module in `smemreuse.versions`, with the object that says what the compiler does;
- a `MergeSession` whose pass does, for each function,

      function = DeviceFunction(name, func, Visitor())
      attempts = self.attempts(function, SHARED_SCOPES, merge_of(function.kernels[0]))

      def verify(proposal):  # apply the plans, have the barriers inserted, look at what is there
          return function.judged(proposal, with_barriers(rewritten(function, proposal.plans)))

      self.keep(function, choose(attempts, verify, unchecked=self.unchecked), stock)

  inside `or_stock`, so that a fault of ours leaves the function to the compiler's own pass;
- a hook that puts the pass in the place of the compiler's own.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from smemreuse.checker import remember_from
from smemreuse.checker.budget import renew_work
from smemreuse.compilers.live import LiveVisitor
from smemreuse.compilers.outcomes import FunctionOutcome, Outcome
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.candidate import Proposal
from smemreuse.pipeline.choice import Attempts, Choice
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock, require_sizes
from smemreuse.pipeline.judging import judge_with_barriers
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.options import PlanOptions
from smemreuse.plugins import ensure
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Mending
from smemreuse.results.provenance import ObjectiveName, PackerName, PolicyName
from smemreuse.results.verdict import UNSOUND, Verdict
from smemreuse.versions.merges import Merge

S = TypeVar("S", bound="MergeSession")


@dataclass
class DeviceFunction:
    """A live function, and what `visitor` reads in it: the kernels that it launches, in order."""

    name: str
    func: Any
    visitor: LiveVisitor

    @cached_property
    def kernels(self) -> list[Kernel]:
        return self.visitor.kernels(self.name, self.func)

    def judged(self, proposal: Proposal, merged: Any) -> Proposal:
        """A proposal with its verdicts, reached on the function with its plans and barriers in."""
        kernels = self.visitor.again().kernels(self.name, merged)
        for now, before in zip(kernels, self.kernels, strict=True):
            facts_of(now).learn_from(facts_of(before))
            remember_from(before, now)
        return proposal.with_verdicts(judge_with_barriers(kernels, proposal.plans))


@dataclass(repr=False)
class MergeSession:
    """One merge in force: what it plans with, and the plans it has applied so far.

    `kernels` are all that were lowered, those with nothing to merge among them. `left` are the
    functions that the compiler's own pass has merged instead; their kernels are not in `kernels`.
    `functions` says of each function that was looked at, in order, what became of it. `seconds` of
    CPU time is what all that has added to the compiler's own work.
    """

    policy: PolicyName = "dataflow"
    packer: PackerName = "best"
    objective: ObjectiveName = "speed"
    strict: bool = False
    unchecked: bool = False
    plans: list[AppliedPlan] = field(default_factory=list)
    kernels: list[LoweredKernel] = field(default_factory=list)
    left: list[LeftToStock] = field(default_factory=list)
    functions: list[FunctionOutcome] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        ensure()

    def __repr__(self) -> str:
        """One line: how many kernels, plans and functions that were left there are."""
        counts = f"{len(self.kernels)} kernels, {len(self.plans)} plans, {len(self.left)} left"
        return f"{type(self).__name__}({self.policy}, {self.objective}: {counts})"

    @classmethod
    def of(cls: type[S], options: PlanOptions, *, unchecked: bool = False) -> S:
        return cls(options.policy, options.packer, options.objective, options.strict, unchecked)

    @property
    def options(self) -> PlanOptions:
        """What its plans are made with."""
        return PlanOptions(self.policy, self.packer, self.objective, self.strict)

    def attempts(
        self,
        function: DeviceFunction,
        scopes: Sequence[str],
        stock: Merge,
        options: PlanOptions | None = None,
    ) -> Attempts | None:
        """What may be tried for a function; None where there is nothing to merge.

        `options` are by default those of the session.

        Raises `PlanError` where buffers may reach behind the bytes that they allocate.
        """
        wanted = [scopes_to_merge(kernel, scopes) for kernel in function.kernels]
        if not any(wanted):
            has_kernels = bool(function.kernels)
            outcome = Outcome.NOTHING_TO_MERGE if has_kernels else Outcome.NO_KERNEL
            self.functions.append(FunctionOutcome(function.name, outcome))
            return None
        require_sizes(function.kernels, wanted)
        options = options or self.options
        return Attempts(function.kernels, wanted, options, stock, trusting=not self.unchecked)

    def keep(
        self,
        function: DeviceFunction,
        choice: Choice,
        stock: Merge,
        judge_stock: Callable[[int, str], Verdict],
        lint: Callable[[int], LintReport] | None = None,
        mendings: Sequence[Mending] = (),
    ) -> list[LoweredKernel]:
        """Notes what was chosen for a function: its kernels, as they were lowered.

        `judge_stock` gives the verdict on the compiler's own plan for a launch and scope, `lint`
        the hazards of a launch itself; `mendings` are what came of mending each, if that was asked.
        """
        merged = any(choice.proposal.launches)
        outcome = Outcome.MERGED if merged else Outcome.NOTHING_TO_GAIN
        self.functions.append(FunctionOutcome(function.name, outcome))
        lowered = []
        for number, kernel in enumerate(function.kernels):
            renew_work(kernel)
            launch = choice.proposal.launches[number]
            barriers = len(frozenset[object]().union(*(one.barriers for one in launch)))
            applied = tuple(
                AppliedPlan(kernel, one.settled, one.verdict, choice.told_for(one), barriers)
                for one in launch
            )
            self.plans += applied
            for one in applied:
                self._warn_of_refuted(one, stock)
            audit = _Asked(judge_stock, number)
            hazards = partial(lint, number) if lint is not None else None
            mending = mendings[number] if mendings else None
            lowered.append(LoweredKernel(kernel, stock, applied, audit, hazards, mending))
        self.note_kernels(function.name, lowered)
        return lowered

    def note_kernels(self, function: str, lowered: Sequence[LoweredKernel]) -> None:
        """Notes the kernels of a function, in the order of its launches, once they are lowered."""
        self.kernels += lowered

    def rewrite_functions(self, mod: Any, rewrite: Callable[[str, Any, Any], Any]) -> Any:
        """A live module in which each function is what `rewrite(name, var, func)` gives for it."""
        begin = time.thread_time()
        for var, func in list(mod.functions.items()):
            rewritten = rewrite(str(var.name_hint), var, func)
            if rewritten is not func:
                mod.update_func(var, rewritten)
        self.seconds += time.thread_time() - begin
        return mod

    def or_stock(self, name: str, ours: Callable[[], Any], stock: Callable[[], Any]) -> Any:
        """What our merge makes of a function, or with a warning what the compiler's own does."""
        try:
            return ours()
        except Exception as error:  # whatever it is, the compiler compiles the kernel without us
            left = left_to_stock(name, error)
            self.warn(f"smemreuse leaves {name} to the compiler's own merge: {left.reason}")
            self.leave(left)
            return stock()

    def leave(self, left: LeftToStock) -> None:
        """Notes a function that the compiler's own pass merges."""
        self.left.append(left)
        self.functions.append(FunctionOutcome(left.function, Outcome.LEFT, left.reason))

    def warn(self, text: str) -> None:
        """Tells whoever compiles of what they would not expect."""
        warnings.warn(text, RuntimeWarning, stacklevel=3)

    def _warn_of_refuted(self, applied: AppliedPlan, stock: Merge) -> None:
        """Where the compiler's own merge takes fewer bytes, and is wrong: that is a bug of it."""
        own = stock.plan(applied.kernel, applied.plan.scope)
        for plan, verdict in applied.rejected:
            if verdict.verdict is UNSOUND and plan.offsets == own.offsets:
                self.warn(
                    f"{stock.name}'s own merge of {applied.kernel.name} is wrong, and not applied: "
                    f"{verdict.first_finding}"
                )


@dataclass(frozen=True)
class _Asked:
    """The verdict on the compiler's own plans of one launch."""

    judge: Callable[[int, str], Verdict]
    launch: int

    def __call__(self, scope: str) -> Verdict:
        return self.judge(self.launch, scope)


def scopes_to_merge(kernel: Kernel, scopes: Sequence[str]) -> list[str]:
    """Those of `scopes` that are merged in a kernel: a single buffer needs no arena."""
    return [scope for scope in scopes if len(kernel.allocations(scope)) > 1]
