"""Which merge is in force, and the pass that carries it out."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tilelang import tvm

import smemreuse
from smemreuse.errors import BackendError
from smemreuse.model.kernel import Kernel
from smemreuse.model.sequence import Plan
from smemreuse.model.verdict import UNPROVED, Verdict
from smemreuse.planning import plan_kernel
from smemreuse.tilelang.rewrite import apply_plans
from smemreuse.tilelang.verify import verdicts, with_barriers
from smemreuse.tilelang.visitor import TirVisitor

DISABLE_SYNC = "tl.disable_thread_storage_sync"
MERGE_STATIC = "tirx.merge_static_smem"


@dataclass(frozen=True)
class AppliedPlan:
    """A plan that went into a kernel, and what the checker said of it on the synchronized IR.

    `rejected` are the tighter plans that were made before and not applied, with their verdicts.
    """

    kernel: Kernel
    plan: Plan
    verdict: Verdict
    rejected: tuple[tuple[Plan, Verdict], ...] = ()


@dataclass
class _Expected:
    """A merged function as it was checked, and what it was checked for."""

    synchronized: Any
    visitor: TirVisitor
    plans: list[list[Plan]]


class _Lowering(threading.local):
    """What one thread's lowering has merged and not yet seen synchronized."""

    def __init__(self) -> None:
        self.expected: dict[str, _Expected] = {}


@dataclass
class Session:
    """One `with merge(...)`: what it plans with, and the plans it has applied so far.

    A kernel that comes out of TileLang's cache was not lowered again and adds no plan.
    """

    policy: str
    packer: str
    objective: str
    unchecked: bool = False
    plans: list[AppliedPlan] = field(default_factory=list)
    _lowering: _Lowering = field(default_factory=lambda: _Lowering(), repr=False)

    @property
    def cache_token(self) -> str:
        """What tells this session's kernels from any other's in TileLang's caches."""
        checked = "unchecked" if self.unchecked else "checked"
        return f"smemreuse/{_code_stamp()}/{self.policy}/{self.packer}/{self.objective}/{checked}"

    def lowering_pass(self, disable_reuse: bool) -> Any:
        """The pass that takes the place of TileLang's `MergeSharedMemoryAllocations`."""

        def transform(mod: Any, ctx: Any) -> Any:
            self._lowering.expected = {}
            # Rule 6: reuse needs barriers, and with this switch no later pass inserts any
            # (TileLang issue 2416).
            may_reuse = not (disable_reuse or bool(ctx.config.get(DISABLE_SYNC, False)))
            scopes = ["shared.dyn"]
            if bool(ctx.config.get(MERGE_STATIC, False)):
                scopes.append("shared")
            for var, func in mod.functions.items():
                if isinstance(func, tvm.tirx.PrimFunc):
                    merged = self._merge(str(var.name_hint), func, scopes, may_reuse)
                    if merged is not func:
                        mod.update_func(var, merged)
            return mod

        return tvm.transform.module_pass(
            transform, opt_level=0, name="smemreuse.MergeSharedMemoryAllocations"
        )

    def _merge(self, name: str, func: Any, scopes: Sequence[str], may_reuse: bool) -> Any:
        """The function with the tightest plans applied that hold on the synchronized IR."""
        visitor = TirVisitor()
        kernels = visitor.kernels(name, func)
        wanted = [
            # A single buffer needs no arena.
            [scope for scope in scopes if len(kernel.allocations(scope)) > 1]
            for kernel in kernels
        ]
        if not any(wanted):
            return func
        rejected: list[list[tuple[Plan, Verdict]]] = [[] for launch in wanted for _ in launch]
        for options in self._attempts(may_reuse):
            plans = [
                [plan_kernel(kernel, scope, **options) for scope in launch]
                for kernel, launch in zip(kernels, wanted, strict=True)
            ]
            merged = apply_plans(func, visitor, plans)
            synchronized = with_barriers(name, merged)
            found = verdicts(name, synchronized, visitor, plans)
            flat = [plan for launch in plans for plan in launch]
            if self.unchecked or all(map(self._acceptable, flat, found)):
                break
            for earlier, plan, verdict in zip(rejected, flat, found, strict=True):
                earlier.append((plan, verdict))
        owners = [kernel for kernel, launch in zip(kernels, plans, strict=True) for _ in launch]
        for kernel, plan, verdict, earlier in zip(owners, flat, found, rejected, strict=True):
            self.plans.append(AppliedPlan(kernel, plan, verdict, tuple(earlier)))
        self._lowering.expected[name] = _Expected(synchronized, visitor, plans)
        return merged

    def confirm(self, mod: Any) -> None:
        """Called with the module as TileLang's own passes have synchronized it.

        It must be what the plans were checked on. If it is not, they are checked again, and one
        that does not hold fails the compilation.
        """
        for var, func in mod.functions.items():
            name = str(var.name_hint)
            expected = self._lowering.expected.pop(name, None)
            if expected is None or tvm.ir.structural_equal(func, expected.synchronized):
                continue
            found = verdicts(name, func, expected.visitor, expected.plans)
            flat = [plan for launch in expected.plans for plan in launch]
            for plan, verdict in zip(flat, found, strict=True):
                if not self.unchecked and not self._acceptable(plan, verdict):
                    reasons = [violation.witness for violation in verdict.violations]
                    why = "; ".join([*reasons, *verdict.uncovered])
                    raise BackendError(
                        f"{name}: the barriers that TileLang inserted do not separate the merged "
                        f"{plan.scope} buffers: {why}"
                    )

    def _attempts(self, may_reuse: bool) -> Iterator[dict[str, str]]:
        """What to plan with, tightest first; the last shares nothing and always holds."""
        if may_reuse and self.objective != "none":
            for policy in dict.fromkeys((self.policy, "dataflow", "outer")):
                yield {"policy": policy, "packer": self.packer, "objective": self.objective}
        yield {"policy": self.policy, "packer": self.packer, "objective": "none"}

    def _acceptable(self, plan: Plan, verdict: Verdict) -> bool:
        """A plan must be proved, except that the compiler's own sharing need not be."""
        if verdict.verdict == UNPROVED:
            return plan.policy == "outer" or plan.objective == "none" or bool(plan.notes)
        return verdict.sound


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
    before = (_thread.is_pinned, _thread.session)
    _thread.is_pinned, _thread.session = True, current_session()
    try:
        yield _thread.session
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
