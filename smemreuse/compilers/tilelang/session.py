"""A session inside TileLang, and the pass that carries it out."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from tilelang import tvm
from tilelang.utils.language import get_prim_func_name

from smemreuse import _version
from smemreuse.compilers.session import DeviceFunction, MergeSession
from smemreuse.compilers.tilelang.mending import Synchronized, mended_or_as_it_is
from smemreuse.compilers.tilelang.verify import (
    PendingMerge,
    StockAudit,
    StockMerge,
    with_barriers,
)
from smemreuse.compilers.tilelang.visitor import VERSION, TirVisitor
from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.options import PlanOptions
from smemreuse.plugins import stamp
from smemreuse.results.mending import Mending
from smemreuse.versions.merges import Merge, configured

Pass: TypeAlias = Callable[[Any], Any]

PLAN_FAILS = "the plan of its buffers is not proved with the mend in"


class _Lowering(threading.local):
    """What one thread's lowering has merged and not yet seen synchronized, and what it has lowered
    that is not yet compiled."""

    def __init__(self) -> None:
        self.merged: dict[str, PendingMerge] = {}
        self.unmerged: dict[str, tuple[DeviceFunction, Merge]] = {}
        self.lowered: list[LoweredKernel] = []


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


@dataclass(repr=False)
class Session(MergeSession):
    """One `with merge(...)`.

    A kernel that comes out of TileLang's cache was not lowered again and adds no plan; `cached` are
    the functions that came out of the one on disk, each once, and `reloaded` their names. `left`
    are those on which our merge failed, with a warning. With `mend` the hazards of kernels
    themselves are mended where that takes no more than barriers, waits and fences; `mendings` tell
    what came of each kernel, merged or not.
    """

    compiles: ClassVar[bool] = False
    """Whether what it lowers is on its way to being compiled, and not only looked at."""

    mend: bool = False
    mendings: list[Mending] = field(default_factory=list)
    cached: list[CachedFunction] = field(default_factory=list, repr=False)
    _lowering: _Lowering = field(default_factory=lambda: _Lowering(), repr=False)

    @property
    def reloaded(self) -> list[str]:
        """The names of the functions that came out of TileLang's cache on disk."""
        return [get_prim_func_name(each.func, "<unknown>") for each in self.cached]

    def note_reload(self, kernel: Any) -> None:
        """Keeps what tells of a `JITKernel` that was not lowered."""
        found = CachedFunction(kernel.prim_func, kernel.target, dict(kernel.pass_configs or {}))
        if not any(found.same_as(known) for known in self.cached):
            self.cached.append(found)

    @property
    def cache_token(self) -> str:
        """What tells this session's kernels from any other's in TileLang's caches."""
        checked = "unchecked" if self.unchecked else "strict" if self.strict else "checked"
        checked += "/mended" if self.mend else ""
        added = stamp()
        checked += f"/{added}" if added else ""
        return f"smemreuse/{code_stamp()}/{self.policy}/{self.packer}/{self.objective}/{checked}"

    def lowering_pass(
        self, stock_pass: Pass, *, disable_reuse: bool, aggressive: bool = False
    ) -> Any:
        """The pass that takes the place of `stock_pass`, TileLang's `MergeSharedMemoryAllocations`.

        Both options are that pass's own; `aggressive` tells only what it would have done.
        """
        stock = own_merge(disable_reuse=disable_reuse, aggressive=aggressive)

        def transform(mod: Any, ctx: Any) -> Any:
            self._lowering.merged, self._lowering.unmerged = {}, {}
            self._lowering.lowered = []
            options = self.options
            if disable_reuse:
                options = replace(options, objective="none")
            elif bool(ctx.config.get(VERSION.names.disable_sync, False)):
                # Rule 6: with this switch no later pass inserts the barriers that reuse needs, and
                # TileLang's own sharing is not to be believed (TileLang issue 2416).
                options = replace(options, strict=True)
            scopes = merged_scopes(ctx.config)

            def rewrite(name: str, var: Any, func: Any) -> Any:
                if not isinstance(func, tvm.tirx.PrimFunc):
                    return func
                function = DeviceFunction(name, func, TirVisitor())
                wanted = Wanted(stock, stock_pass, scopes, options)
                return self.or_stock(
                    name,
                    lambda: self._merged(function, wanted),
                    lambda: wanted.stock_pass(tvm.IRModule({var: func}))[var],
                )

            return self.rewrite_functions(mod, rewrite)

        return tvm.transform.module_pass(
            transform, opt_level=0, name="smemreuse.MergeSharedMemoryAllocations"
        )

    def _merged(self, function: DeviceFunction, wanted: Wanted) -> Any:
        """The function under the plans that are wanted; whether they hold, `confirm` finds out."""
        attempts = self.attempts(function, wanted.scopes, wanted.stock, wanted.options)
        if attempts is None:
            self._lowering.unmerged[function.name] = (function, wanted.stock)
            return function.func
        stock = StockMerge(wanted.stock, wanted.stock_pass)
        pending = PendingMerge(function, attempts, stock)
        merged = pending.merged()
        self._lowering.merged[function.name] = pending
        return merged

    def after_merge(self) -> None:
        """Called behind the merge of a module; who has seen enough by then may raise."""

    def confirm(self, mod: Any) -> Any:
        """Checks what was merged, in a module that now has its barriers (rule 6).

        Plans that do not hold there are taken back: the function is merged anew, with the pairs
        apart that are to blame, and synchronized again.
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
        is_left = any(left.function == name for left in self.left)
        if not isinstance(func, tvm.tirx.PrimFunc) or not (known or is_left):
            return func
        merged = known[0].visitor.allocated if known else {}
        synchronized, mendings = self._mended(Synchronized(name, func, merged))
        self.mendings += mendings
        if known:
            function, stock = known
            lowered = [
                LoweredKernel(
                    *(kernel, stock, (), None, partial(synchronized.report, number)),
                    mending=mendings[number] if mendings else None,
                )
                for number, kernel in enumerate(function.kernels)
            ]
            self.note_kernels(name, lowered)
            self._lowering.lowered += lowered
        return synchronized.func

    def _mended(self, function: Synchronized) -> tuple[Synchronized, tuple[Mending, ...]]:
        """A function with its mends, and what came of its kernels; as it is if none are asked."""
        if not self.mend:
            return function, ()
        return mended_or_as_it_is(function, self.warn)

    def _confirmed(self, pending: PendingMerge, func: Any) -> Any:
        """A function whose plans hold with its barriers: as it is, or merged anew."""
        function = pending.function
        choice, confirmed = pending.confirmed(func, unchecked=self.unchecked)
        config = dict(tvm.transform.PassContext.current().config)
        stock = pending.stock.merge
        merged = function.visitor.allocated
        synchronized, mendings = self._mended(Synchronized(function.name, confirmed, merged))
        if synchronized.func is not confirmed and not self.unchecked:
            judged = function.judged(choice.proposal, synchronized.func)
            if not judged.acceptable:
                synchronized = Synchronized(function.name, confirmed, merged)
                mendings = tuple(one.taken_back(PLAN_FAILS) for one in mendings)
        self.mendings += mendings
        audit = StockAudit(function, stock, choice.proposal, config)
        self._lowering.lowered += self.keep(
            function, choice, stock, audit.verdict, synchronized.report, mendings
        )
        return synchronized.func

    def note_registers(self, registers: Mapping[str, int]) -> None:
        """What each thread of a kernel has, by the kernel's name, in what was lowered here last."""
        for known in self._lowering.lowered:
            if known.kernel.name in registers:
                found = replace(known, registers=registers[known.kernel.name])
                place = next(at for at, each in enumerate(self.kernels) if each is known)
                self.kernels[place] = found
        self._lowering.lowered = []


@dataclass(frozen=True)
class Wanted:
    """What a lowering asks of a merge: in whose place, of which scopes, and with what options."""

    stock: Merge
    stock_pass: Pass
    scopes: Sequence[str]
    options: PlanOptions


def own_merge(*, disable_reuse: bool, aggressive: bool) -> Merge:
    """What TileLang's own pass does under its options."""
    return configured(VERSION, aggressive=aggressive, disable_reuse=disable_reuse)


def merged_scopes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The scopes that TileLang's own pass merges under a `PassContext`'s configuration."""
    static = bool(config.get(VERSION.names.merge_static, False))
    return (DYNAMIC_SCOPE, "shared") if static else (DYNAMIC_SCOPE,)


@cache
def code_stamp() -> str:
    """A digest of this package's source: a changed analysis never meets kernels of the old one."""
    digest = hashlib.sha256(_version.__version__.encode())
    root = Path(_version.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
