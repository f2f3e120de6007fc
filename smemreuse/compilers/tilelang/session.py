"""A session inside TileLang, and the pass that carries it out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from tilelang import tvm
from tilelang.utils.language import get_prim_func_name

from smemreuse._version import code_stamp
from smemreuse.compilers.functions import DeviceFunction, MergeRequest, PlannedFunction
from smemreuse.compilers.observers import SessionLog
from smemreuse.compilers.session import MergeSession
from smemreuse.compilers.tilelang.elaborated import Begun
from smemreuse.compilers.tilelang.mending import Synchronized
from smemreuse.compilers.tilelang.observed import ObservedMerge
from smemreuse.compilers.tilelang.rewrite import with_plain_conditions
from smemreuse.compilers.tilelang.verify import (
    PendingMerge,
    StockAudit,
    StockMerge,
    with_barriers,
)
from smemreuse.compilers.tilelang.visitor import IN_SEQUENCE, VERSION
from smemreuse.errors import SmemReuseError
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.options import PlanOptions
from smemreuse.plugins import stamp
from smemreuse.results.fitting import Fitting, Speedup
from smemreuse.results.mending import Mending
from smemreuse.results.provenance import ObjectiveName
from smemreuse.results.trimming import Trimming
from smemreuse.versions.merges import Merge, configured

Pass: TypeAlias = Callable[[Any], Any]

PLAN_FAILS = "the plan of its buffers is not proved with the fix inserted"


class _Lowering(threading.local):
    """What one thread's lowering has merged and not yet seen synchronized, which functions it has
    left to TileLang, and what it has lowered that is not yet compiled. `objective` is that of the
    module which levers were pulled in, for its merge."""

    def __init__(self) -> None:
        self.objective: ObjectiveName | None = None
        self.begin()

    def begin(self) -> None:
        """Another module is lowered."""
        self.merged: dict[str, PendingMerge] = {}
        self.unmerged: dict[str, PlannedFunction] = {}
        self.left: set[str] = set()
        self.lowered: list[LoweredKernel] = []


@dataclass(frozen=True)
class LeverRequest:
    """What levers are pulled for: that functions fit into `limit` bytes for each block, by default
    what the GPU has; or `for_speed`."""

    limit: int | None = None
    for_speed: bool = False


@dataclass(frozen=True)
class CachedFunction:
    """A function whose kernels came out of TileLang's cache on disk: what lowers it once more."""

    func: Any
    target: Any
    pass_configs: Mapping[str, Any]

    def same_as(self, other: CachedFunction) -> bool:
        return (
            str(self.target) == str(other.target)
            and self.pass_configs == other.pass_configs
            and bool(tvm.ir.structural_equal(self.func, other.func))
        )


@dataclass(repr=False, eq=False)
class TileLangLog(SessionLog):
    """As above. A kernel that comes out of TileLang's cache was not lowered again and adds no plan:
    `cached` are the functions that came out of the one on disk, each once, and `reloaded` their
    names. `mendings` are what came of mending each kernel, merged or not, `fittings` what came of
    fitting each function, `speedups` what came of levers for speed in each, `trimmings` what came
    of trimming each kernel."""

    mendings: list[Mending] = field(default_factory=list)
    fittings: list[Fitting] = field(default_factory=list)
    speedups: list[Speedup] = field(default_factory=list)
    trimmings: list[Trimming] = field(default_factory=list)
    cached: list[CachedFunction] = field(default_factory=list)

    @property
    def reloaded(self) -> list[str]:
        """The names of the functions that came out of TileLang's cache on disk."""
        return [get_prim_func_name(each.func, "<unknown>") for each in self.cached]

    def on_mended(self, mendings: Sequence[Mending]) -> None:
        self.mendings += mendings

    def on_fitted(self, fitting: Fitting) -> None:
        self.fittings.append(fitting)

    def on_sped_up(self, speedup: Speedup) -> None:
        self.speedups.append(speedup)

    def on_trimmed(self, trimmings: Sequence[Trimming]) -> None:
        self.trimmings += trimmings

    def on_reloaded(self, kernel: Any) -> None:
        found = CachedFunction(kernel.prim_func, kernel.target, dict(kernel.pass_configs or {}))
        if not any(found.same_as(known) for known in self.cached):
            self.cached.append(found)


@dataclass(repr=False, eq=False)
class TileLangSession(MergeSession):
    """One merge in force. With `mend` the hazards of kernels themselves are mended where that takes
    no more than barriers, waits and fences; with `levers` those are pulled that make a function
    fit, or faster; with `trim` barriers and fences go that are not needed."""

    mend: bool = False
    levers: LeverRequest | None = None
    trim: bool = False
    _lowering: _Lowering = field(default_factory=lambda: _Lowering(), repr=False)

    @property
    def cache_token(self) -> str:
        """What distinguishes this session's kernels from any other's in TileLang's caches."""
        return f"smemreuse/{code_stamp()}/{self.settings_token}"

    @property
    def settings_token(self) -> str:
        """All that decides what this session makes of a kernel, beside the code."""
        checked = "unchecked" if self.unchecked else "strict" if self.strict else "checked"
        checked += "/mended" if self.mend else ""
        checked += f"/{self.levers}" if self.levers else ""
        checked += "/trimmed" if self.trim else ""
        added = stamp()
        checked += f"/{added}" if added else ""
        return f"{self.policy}/{self.packer}/{self.objective}/{checked}"

    def lowering_pass(
        self, stock_pass: Pass, *, disable_reuse: bool, aggressive: bool = False
    ) -> Any:
        """The pass that takes the place of `stock_pass`, TileLang's `MergeSharedMemoryAllocations`.

        Both options are that pass's own; `aggressive` says only what it would have done.
        """
        stock = own_merge(disable_reuse=disable_reuse, aggressive=aggressive)

        def transform(mod: Any, ctx: Any) -> Any:
            self._lowering.begin()
            begun, options = Begun.taken(), self._fitted_options()
            if disable_reuse:
                options = replace(options, objective="none")
            elif bool(ctx.config.get(VERSION.names.disable_sync, False)):
                # Rule 6: with this switch no later pass inserts the barriers that reuse needs, and
                # TileLang's own sharing is not to be believed (TileLang issue 2416).
                options = replace(options, strict=True)
            request = MergeRequest(stock, merged_scopes(ctx.config), options)

            def rewrite(name: str, var: Any, func: Any) -> Any:
                function = begun.device_function(name, func)
                return self.or_stock(
                    name,
                    lambda: self._merged(function, request, stock_pass),
                    lambda: stock_pass(tvm.IRModule({var: func}))[var],
                )

            return self.rewrite_functions(mod, rewrite)

        return tvm.transform.module_pass(
            transform, opt_level=0, name="smemreuse.MergeSharedMemoryAllocations"
        )

    def _fitted_options(self) -> PlanOptions:
        """The options, with the objective of what was fitted just before."""
        objective, self._lowering.objective = self._lowering.objective, None
        return replace(self.options, objective=objective) if objective else self.options

    def note_levers(self, outcome: Fitting | Speedup, objective: ObjectiveName) -> None:
        """Reports what came of a function's levers; its plans are made for this objective."""
        self._lowering.objective = objective
        if isinstance(outcome, Speedup):
            for observer in self.observers:
                observer.on_sped_up(outcome)
            return
        for observer in self.observers:
            observer.on_fitted(outcome)
        if not outcome.fits:
            self.warn(f"smemreuse: {outcome.sentence}")

    def _merged(self, function: DeviceFunction, request: MergeRequest, stock_pass: Pass) -> Any:
        """The function under the plans to try first; whether they hold, `confirm` finds out."""
        request = observed(request, function, stock_pass)
        attempts = self.attempts(function, request)
        if attempts is None:
            self._lowering.unmerged[function.name] = PlannedFunction(function, request.stock)
            return function.func
        pending = PendingMerge(function, attempts, StockMerge(request.stock, stock_pass))
        merged = pending.merged()
        self._lowering.merged[function.name] = pending
        return merged

    def leave(self, left: LeftToStock) -> None:
        self._lowering.left.add(left.function)
        super().leave(left)

    def after_merge(self) -> None:
        """Reports that the merge of a module has ended; an observer may end the lowering there."""
        merged = [each.planned for each in self._lowering.merged.values()]
        for observer in self.observers:
            observer.on_merged([*merged, *self._lowering.unmerged.values()])

    def synchronized(self, mod: Any, sync: Pass) -> Any:
        """What `sync`, which inserts barriers, makes of a module.

        TileLang's analysis there may fail on buffers that share bytes. A function of ours that it
        fails on stays as it is: `confirm` merges it anew.
        """
        try:
            return sync(mod)
        except Exception:  # TVM's own errors, of whatever type
            if not self._lowering.merged:
                raise

        def alone(name: str, var: Any, func: Any) -> Any:
            try:
                return sync(tvm.IRModule({var: func}))[var]
            except Exception as error:
                if name not in self._lowering.merged:
                    raise
                self._lowering.merged[name].failed = error
                return func

        return self.rewrite_functions(mod, alone)

    def confirm(self, mod: Any) -> Any:
        """Checks what was merged, in a module that now has its barriers (rule 6).

        Plans that do not hold there are taken back: the function is merged anew, with the pairs
        in conflict that are to blame, and synchronized again.
        """

        def rewrite(name: str, var: Any, func: Any) -> Any:
            pending = self._lowering.merged.pop(name, None)
            if pending is None:
                return self._unmerged(name, func)
            return self.or_stock(
                name,
                lambda: self._confirmed(pending, func),
                lambda: self._unmerged(
                    name, with_barriers(name, pending.stock.merged(pending.function))
                ),
            )

        return self.rewrite_functions(mod, rewrite)

    def _unmerged(self, name: str, func: Any) -> Any:
        """A function in which nothing of ours is merged, with its mends if that is asked."""
        known = self._lowering.unmerged.pop(name, None)
        if not known and name not in self._lowering.left:
            return func
        merged = known.function.visitor.allocated if known else {}
        sources = known.function.sources if known else None
        synchronized, mendings = self._mended(Synchronized(name, func, merged, sources))
        self._report(mendings)
        synchronized = self._trimmed(synchronized, lambda _func: True)
        if known:
            lowered = [
                known.function.with_origin(
                    LoweredKernel(
                        *(kernel, known.stock, (), None, partial(synchronized.report, number)),
                        mending=mendings[number] if mendings else None,
                    )
                )
                for number, kernel in enumerate(known.function.kernels)
            ]
            self.note_lowered(known.function, lowered)
            self._lowering.lowered += lowered
        return synchronized.func

    def _report(self, mendings: Sequence[Mending]) -> None:
        for observer in self.observers:
            observer.on_mended(mendings)

    def _mended(self, function: Synchronized) -> tuple[Synchronized, tuple[Mending, ...]]:
        """A function with its mends, and what came of its kernels; as it is if none are asked."""
        if not self.mend:
            return function, ()
        try:
            found, mendings = function.mended()
        except Exception as error:  # a fault of ours must not end a compilation
            kind = "" if isinstance(error, SmemReuseError) else f"{type(error).__name__}: "
            why = f"smemreuse: {function.name} is not fixed: {kind}{error}"
            for observer in self.observers:
                observer.on_not_mended(function.name, why)
            self.warn(why)
            return function, ()
        for mending in mendings:
            for one in mending.unmended:
                if one.hazard.certain:
                    unmended = f"{one.hazard.kind} is not fixed: {one.why}"
                    self.warn(f"smemreuse: {mending.kernel}: {unmended}")
        return found, mendings

    def _trimmed(self, function: Synchronized, accepted: Callable[[Any], bool]) -> Synchronized:
        """A function without the barriers and fences that it does not need, if that is asked."""
        if not self.trim:
            return function
        try:
            found, trimmings = function.trimmed(accepted)
        except Exception as error:  # a fault of ours must not end a compilation
            kind = "" if isinstance(error, SmemReuseError) else f"{type(error).__name__}: "
            self.warn(f"smemreuse: {function.name} is not trimmed: {kind}{error}")
            return function
        for observer in self.observers:
            observer.on_trimmed(trimmings)
        return found

    def _confirmed(self, pending: PendingMerge, func: Any) -> Any:
        """A function whose plans hold with its barriers: as it is, or merged anew."""
        function = pending.function
        choice, confirmed = pending.confirmed(func, unchecked=self.unchecked)
        config = dict(tvm.transform.PassContext.current().config)
        stock = pending.stock.merge
        merged = function.visitor.allocated
        as_planned = Synchronized(function.name, confirmed, merged, function.sources)
        synchronized, mendings = self._mended(as_planned)
        if synchronized.func is not confirmed and not self.unchecked:
            judged = function.judged(choice.proposal, synchronized.func)
            if not judged.acceptable:
                synchronized = as_planned
                mendings = tuple(one.taken_back(PLAN_FAILS) for one in mendings)
        self._report(mendings)
        if not self.unchecked:
            synchronized = self._trimmed(
                synchronized, lambda func: function.judged(choice.proposal, func).acceptable
            )
        audit = StockAudit(function, stock, choice.proposal, config)
        self._lowering.lowered += self.keep(
            function, choice, stock, audit.verdict, synchronized.report, mendings
        )
        return with_plain_conditions(synchronized.func, merged)

    def note_registers(self, registers: Mapping[str, int]) -> None:
        """What each thread of a kernel has, by the kernel's name, in what was lowered here last."""
        for known in self._lowering.lowered:
            if known.kernel.name in registers:
                found = replace(known, registers=registers[known.kernel.name])
                for observer in self.observers:
                    observer.on_compiled(known, found)
        self._lowering.lowered = []

    def note_reload(self, kernel: Any) -> None:
        """Reports a `JITKernel` that was not lowered."""
        for observer in self.observers:
            observer.on_reloaded(kernel)


def own_merge(*, disable_reuse: bool, aggressive: bool) -> Merge:
    """What TileLang's own pass does under its options."""
    return configured(VERSION, aggressive=aggressive, disable_reuse=disable_reuse)


def observed(request: MergeRequest, function: DeviceFunction, stock_pass: Pass) -> MergeRequest:
    """A request whose stock merge is what `stock_pass` does to the function, where that is seen:
    older passes write the places of buffers into all accesses."""
    if not function.kernels or not IN_SEQUENCE:
        return request
    merged = stock_pass(tvm.IRModule({function.name: function.func}))[function.name]
    return replace(request, stock=ObservedMerge.of(request.stock, function, merged))


def merged_scopes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The scopes that TileLang's own pass merges under a `PassContext`'s configuration."""
    static = bool(config.get(VERSION.names.merge_static, False))
    return (DYNAMIC_SCOPE, "shared") if static else (DYNAMIC_SCOPE,)
