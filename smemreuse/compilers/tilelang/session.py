"""Which merge is in force, and the pass that carries it out."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

from tilelang import tvm
from tilelang.utils.language import get_prim_func_name

import smemreuse
from smemreuse.compilers.tilelang.rewrite import apply_plans
from smemreuse.compilers.tilelang.verify import verdicts, with_barriers
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock, require_sizes
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.planning import (
    PlanOptions,
    acceptable,
    checked_options,
    plan_kernel,
    proposals,
    settled,
)
from smemreuse.results.sequence import Plan
from smemreuse.results.verdict import Verdict
from smemreuse.targets.blocks import DYNAMIC_SCOPE

Pass: TypeAlias = Callable[[Any], Any]

DISABLE_SYNC = "tl.disable_thread_storage_sync"
MERGE_STATIC = "tirx.merge_static_smem"


@dataclass
class _Merged:
    """A function that has been merged and not yet been seen with its barriers."""

    func: Any
    visitor: TirVisitor
    kernels: list[Kernel]
    proposals: Iterator[list[list[Plan]]]
    stock: PlanOptions
    stock_pass: Pass
    plans: list[list[Plan]] = field(default_factory=list)

    @property
    def flat(self) -> list[Plan]:
        return [plan for launch in self.plans for plan in launch]

    @property
    def owners(self) -> list[Kernel]:
        """The kernel of each plan."""
        pairs = zip(self.kernels, self.plans, strict=True)
        return [kernel for kernel, launch in pairs for _ in launch]

    def next_merge(self) -> Any:
        """The function under the next more cautious plans."""
        self.plans = next(self.proposals)
        return apply_plans(self.func, self.visitor, self.plans)

    def stock_merge(self, name: str) -> Any:
        """The function under TileLang's own merge, with its barriers."""
        return with_barriers(name, self.stock_pass(tvm.IRModule({name: self.func}))[name])


@dataclass
class _StockAudit:
    """What the checker says of TileLang's own merge of a function, found out when first asked.

    `config` is that of the lowering, since it may switch barriers off.
    """

    name: str
    merged: _Merged
    config: dict[str, Any]

    def verdict(self, launch: int, scope: str) -> Verdict:
        return self._verdicts[launch, scope]

    @cached_property
    def _verdicts(self) -> dict[tuple[int, str], Verdict]:
        merged = self.merged
        plans = [
            [plan_kernel(kernel, plan.scope, **merged.stock) for plan in launch]
            for kernel, launch in zip(merged.kernels, merged.plans, strict=True)
        ]
        func = apply_plans(merged.func, merged.visitor, plans)
        with tvm.transform.PassContext(opt_level=3, config=self.config):
            synchronized = with_barriers(self.name, func)
        found = verdicts(self.name, synchronized, merged.visitor, plans)
        places = [(index, plan.scope) for index, launch in enumerate(plans) for plan in launch]
        return dict(zip(places, found, strict=True))


class _Lowering(threading.local):
    """What one thread's lowering has merged and not yet seen synchronized."""

    def __init__(self) -> None:
        self.merged: dict[str, _Merged] = {}
        self.unmerged: list[LoweredKernel] = []


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


@dataclass
class Session:
    """One `with merge(...)`: what it plans with, and the plans it has applied so far.

    `kernels` are all that were lowered, those with nothing to merge among them. A kernel that
    comes out of TileLang's cache was not lowered again and adds no plan; `cached` are the functions
    that came out of the one on disk, each once, and `reloaded` their names. `left` are those on
    which our merge failed, with a warning, so that TileLang's own was taken; their kernels are not
    in `kernels`.
    """

    policy: str
    packer: str
    objective: str
    unchecked: bool = False
    plans: list[AppliedPlan] = field(default_factory=list)
    kernels: list[LoweredKernel] = field(default_factory=list)
    cached: list[CachedFunction] = field(default_factory=list, repr=False)
    left: list[LeftToStock] = field(default_factory=list)
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
        checked = "unchecked" if self.unchecked else "checked"
        return f"smemreuse/{_code_stamp()}/{self.policy}/{self.packer}/{self.objective}/{checked}"

    def lowering_pass(
        self, stock_pass: Pass, *, disable_reuse: bool, aggressive: bool = False
    ) -> Any:
        """The pass that takes the place of `stock_pass`, TileLang's `MergeSharedMemoryAllocations`.

        Both options are that pass's own; `aggressive` tells only what it would have done.
        """
        stock = _stock_options(disable_reuse=disable_reuse, aggressive=aggressive)

        def transform(mod: Any, ctx: Any) -> Any:
            self._lowering.merged, self._lowering.unmerged = {}, []
            # Rule 6: reuse needs barriers, and with this switch no later pass inserts any
            # (TileLang issue 2416).
            may_reuse = not (disable_reuse or bool(ctx.config.get(DISABLE_SYNC, False)))
            scopes = [DYNAMIC_SCOPE]
            if bool(ctx.config.get(MERGE_STATIC, False)):
                scopes.append("shared")
            for var, func in list(mod.functions.items()):
                if isinstance(func, tvm.tirx.PrimFunc):
                    name = str(var.name_hint)
                    try:
                        merged = self._merge(name, func, scopes, may_reuse, stock, stock_pass)
                    except Exception as error:  # TileLang compiles the kernel without us
                        self._lowering.merged.pop(name, None)
                        self.left.append(left_to_stock(name, error))
                        merged = stock_pass(tvm.IRModule({var: func}))[var]
                    if merged is not func:
                        mod.update_func(var, merged)
            return mod

        return tvm.transform.module_pass(
            transform, opt_level=0, name="smemreuse.MergeSharedMemoryAllocations"
        )

    def _merge(
        self,
        name: str,
        func: Any,
        scopes: Sequence[str],
        may_reuse: bool,
        stock: PlanOptions,
        stock_pass: Pass,
    ) -> Any:
        """The function with the tightest plans applied that hold on the synchronized IR."""
        visitor = TirVisitor()
        kernels = visitor.kernels(name, func)
        wanted = [
            # A single buffer needs no arena.
            [scope for scope in scopes if len(kernel.allocations(scope)) > 1]
            for kernel in kernels
        ]
        if not any(wanted):
            self._lowering.unmerged += [LoweredKernel(kernel, stock) for kernel in kernels]
            return func
        require_sizes(kernels, wanted)
        objective = self.objective if may_reuse else "none"
        options = checked_options(self.policy, self.packer, objective)
        plans = proposals(kernels, wanted, options, stock)
        merged = _Merged(func, visitor, kernels, plans, stock, stock_pass)
        self._lowering.merged[name] = merged
        return merged.next_merge()

    def confirm(self, mod: Any) -> Any:
        """Checks what was merged, in a module that now has its barriers (rule 6).

        Plans that do not hold there are taken back: the function is merged anew with the next more
        cautious ones and synchronized again, in the end with plans that share nothing.
        """
        self.kernels += self._lowering.unmerged
        self._lowering.unmerged = []
        for var, func in list(mod.functions.items()):
            name = str(var.name_hint)
            merged = self._lowering.merged.pop(name, None)
            if merged is None:
                continue
            try:
                confirmed = self._confirmed(name, func, merged)
            except Exception as error:  # TileLang compiles the kernel without us
                self.left.append(left_to_stock(name, error))
                confirmed = merged.stock_merge(name)
            if confirmed is not func:
                mod.update_func(var, confirmed)
        return mod

    def _confirmed(self, name: str, func: Any, merged: _Merged) -> Any:
        """A function whose plans hold with its barriers: as it is, or merged anew."""
        rejected: list[list[tuple[Plan, Verdict]]] = [[] for _ in merged.flat]
        found = verdicts(name, func, merged.visitor, merged.plans)
        while not self.unchecked and not all(map(acceptable, merged.flat, found)):
            for earlier, plan, verdict in zip(rejected, merged.flat, found, strict=True):
                earlier.append((plan, verdict))
            func = with_barriers(name, merged.next_merge())
            found = verdicts(name, func, merged.visitor, merged.plans)
        plans = map(settled, merged.flat, found)
        rows = zip(merged.owners, plans, found, rejected, strict=True)
        applied = [AppliedPlan(*row[:3], tuple(row[3])) for row in rows]
        self.plans += applied
        audit = _StockAudit(name, merged, dict(tvm.transform.PassContext.current().config))
        for launch, kernel in enumerate(merged.kernels):
            own = tuple(one for one in applied if one.kernel is kernel)
            judge_stock = partial(audit.verdict, launch)
            self.kernels.append(LoweredKernel(kernel, merged.stock, own, judge_stock))
        return func


def _stock_options(*, disable_reuse: bool, aggressive: bool) -> PlanOptions:
    """The options under which `plan_kernel` gives the plan of TileLang's own merge."""
    policy, objective = "inner" if aggressive else "outer", "none" if disable_reuse else "bytes"
    return checked_options(policy, "tilelang", objective)


@cache
def _code_stamp() -> str:
    """A digest of this package's source: a changed analysis never meets kernels of the old one."""
    digest = hashlib.sha256(smemreuse.__version__.encode())
    root = Path(smemreuse.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


_active: list[Session] = []
_lock = threading.Lock()


class _Thread(threading.local):
    """What this thread's compilation has settled on, if it is in the middle of one."""

    is_pinned = False
    session: Session | None = None


_thread = _Thread()


def current_session() -> Session | None:
    """The session in force for this thread's compilation, or None for TileLang's own pass."""
    if _thread.is_pinned:
        return _thread.session
    with _lock:
        return _active[-1] if _active else None


@contextmanager
def pinned_session() -> Iterator[Session | None]:
    """Holds the session still while a kernel is looked up, compiled and stored.

    Another thread may enter or leave a `with merge(...)` in between; the cache key and the lowering
    of one kernel must come from the same session all the same.
    """
    with confined(current_session()) as session:
        yield session


@contextmanager
def confined(session: Session | None) -> Iterator[Session | None]:
    """Puts `session` in force for this thread alone, whatever is in force for the others."""
    before = (_thread.is_pinned, _thread.session)
    _thread.is_pinned, _thread.session = True, session
    try:
        yield session
    finally:
        _thread.is_pinned, _thread.session = before


@contextmanager
def activated(session: Session) -> Iterator[Session]:
    """Puts `session` in force for the whole process, worker threads included."""
    with _lock:
        _active.append(session)
    try:
        yield session
    finally:
        with _lock:
            _active.remove(session)
