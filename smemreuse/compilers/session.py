"""What the sessions of all compilers have in common: a merge in force, and what came of it.

A door to a further compiler needs a folder here beside `tilelang` and `tvm`:

- a `LiveVisitor` that reads its live TIR, and a function that writes a proposal's plans into it;
- a module in `smemreuse.versions`, with the object that says what the compiler does;
- a `MergeSession` whose pass does, for each function,

      function = DeviceFunction(name, func, Visitor())
      request = MergeRequest(merge_of(function.kernels[0]), SHARED_SCOPES, self.options)
      attempts = self.attempts(function, request)

      def verify(proposal):  # apply the plans, have the barriers inserted, read what is there
          return function.judged(proposal, with_barriers(rewritten(function, proposal.plans)))

      self.keep(function, choose(attempts, verify, unchecked=self.unchecked), stock)

  inside `or_stock`, so that a fault of ours leaves the function to the compiler's own pass;
- a hook that puts the pass in the place of the compiler's own.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

from smemreuse.checker.budget import renew_work
from smemreuse.compilers.functions import DeviceFunction, MergeRequest, scopes_to_merge
from smemreuse.compilers.observers import SessionObserver, observers_of_process
from smemreuse.compilers.outcomes import FunctionOutcome, Outcome
from smemreuse.pipeline.choice import Attempts, Choice
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock, require_sizes
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.options import PlanOptions
from smemreuse.plugins import ensure
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Mending
from smemreuse.results.provenance import ObjectiveName, PackerName, PolicyName
from smemreuse.results.verdict import UNSOUND, Verdict
from smemreuse.versions.merges import Merge

S = TypeVar("S", bound="MergeSession")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Python's garbage collector rests for as long as a merge takes.

    What a trace allocates would set it off, and it then looks at all objects of the process, which
    a compiler has millions of. What is left of a merge is collected with the next objects.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(repr=False, eq=False)
class MergeSession:
    """One merge in force: what it plans with, and who hears what comes of it.

    `seconds` of CPU time is what it has added to the compiler's own work.
    """

    compiles: ClassVar[bool] = False
    """Whether what it lowers is on its way to being compiled, and not only looked at."""

    policy: PolicyName = "dataflow"
    packer: PackerName = "best"
    objective: ObjectiveName = "speed"
    strict: bool = False
    unchecked: bool = False
    own_observers: list[SessionObserver] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        ensure()
        if isinstance(self, SessionObserver):
            self.own_observers.append(self)

    @classmethod
    def of(
        cls: type[S], options: PlanOptions, *observers: SessionObserver, unchecked: bool = False
    ) -> S:
        session = cls(options.policy, options.packer, options.objective, options.strict, unchecked)
        session.own_observers += observers
        return session

    @property
    def options(self) -> PlanOptions:
        """What its plans are made with."""
        return PlanOptions(self.policy, self.packer, self.objective, self.strict)

    @property
    def observers(self) -> Sequence[SessionObserver]:
        """Its own, and those of the process if its kernels are compiled."""
        return (*self.own_observers, *(observers_of_process() if self.compiles else ()))

    def attempts(self, function: DeviceFunction, request: MergeRequest) -> Attempts | None:
        """What may be tried for a function; None where there is nothing to merge.

        Raises `PlanError` where buffers may reach past the bytes that they allocate.
        """
        if function.kernels:
            for observer in self.observers:
                observer.on_received(function, request)
        wanted = [scopes_to_merge(kernel, request.scopes) for kernel in function.kernels]
        if not any(wanted):
            self._finish(
                function, Outcome.NOTHING_TO_MERGE if function.kernels else Outcome.NO_KERNEL
            )
            return None
        require_sizes(function.kernels, wanted)
        trusting = not self.unchecked
        return Attempts(function.kernels, wanted, request.options, request.stock, trusting=trusting)

    def keep(
        self,
        function: DeviceFunction,
        choice: Choice,
        stock: Merge,
        judge_stock: Callable[[int, str], Verdict],
        lint: Callable[[int], LintReport] | None = None,
        mendings: Sequence[Mending] = (),
    ) -> list[LoweredKernel]:
        """Reports what was chosen for a function: its kernels, as they were lowered.

        `judge_stock` gives the verdict on the compiler's own plan for a launch and scope, `lint`
        the hazards of a launch itself; `mendings` are what came of mending each, if that was asked.
        """
        merged = any(choice.proposal.launches)
        self._finish(function, Outcome.MERGED if merged else Outcome.NOTHING_TO_GAIN)
        lowered = []
        for number, kernel in enumerate(function.kernels):
            renew_work(kernel)
            launch = choice.proposal.launches[number]
            barriers = len(frozenset[object]().union(*(one.barriers for one in launch)))
            applied = tuple(
                AppliedPlan(kernel, one.settled, one.verdict, choice.refused_for(one), barriers)
                for one in launch
            )
            for one in applied:
                self._warn_of_refuted(one, stock)
            audit = partial(judge_stock, number)
            hazards = partial(lint, number) if lint is not None else None
            mending = mendings[number] if mendings else None
            found = LoweredKernel(kernel, stock, applied, audit, hazards, mending)
            lowered.append(function.with_origin(found))
        self.note_lowered(function, lowered)
        return lowered

    def note_lowered(self, function: DeviceFunction, lowered: Sequence[LoweredKernel]) -> None:
        """Reports the kernels of a function, in the order of its launches."""
        for observer in self.observers:
            observer.on_lowered(function.name, lowered)

    def rewrite_functions(self, mod: Any, rewrite: Callable[[str, Any, Any], Any]) -> Any:
        """A live module in which each PrimFunc is what `rewrite(name, var, func)` gives for it."""
        begin = time.thread_time()
        with collector_paused():
            for var, func in list(mod.functions.items()):
                if type(func).__name__ != "PrimFunc":
                    continue
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
        """Reports a function that the compiler's own pass merges."""
        for observer in self.observers:
            observer.on_left(left)

    def warn(self, text: str) -> None:
        for observer in self.observers:
            observer.on_warning(text)

    def _finish(self, function: DeviceFunction, outcome: Outcome) -> None:
        for observer in self.observers:
            observer.on_finished(FunctionOutcome(function.name, outcome))

    def _warn_of_refuted(self, applied: AppliedPlan, stock: Merge) -> None:
        """Where the compiler's own merge takes fewer bytes, and is wrong: that is a bug of it."""
        own = stock.plan(applied.kernel, applied.plan.scope)
        for plan, verdict in applied.rejected:
            if verdict.verdict is UNSOUND and plan.offsets == own.offsets:
                self.warn(
                    f"{stock.name}'s own merge of {applied.kernel.name} is wrong, and not applied: "
                    f"{verdict.first_finding}"
                )
