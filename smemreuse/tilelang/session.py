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
from smemreuse.model.kernel import Kernel
from smemreuse.model.sequence import Plan
from smemreuse.planning import plan_kernel
from smemreuse.tilelang.rewrite import apply_plans
from smemreuse.tilelang.visitor import TirVisitor

DISABLE_SYNC = "tl.disable_thread_storage_sync"
MERGE_STATIC = "tirx.merge_static_smem"


@dataclass(frozen=True)
class AppliedPlan:
    """A plan that went into a kernel, with the kernel that it was made for."""

    kernel: Kernel
    plan: Plan


@dataclass
class Session:
    """One `with merge(...)`: what it plans with, and the plans it has applied so far.

    A kernel that comes out of TileLang's cache was not lowered again and adds no plan.
    """

    policy: str
    packer: str
    objective: str
    plans: list[AppliedPlan] = field(default_factory=list)

    @property
    def cache_token(self) -> str:
        """What tells this session's kernels from any other's in TileLang's caches."""
        return f"smemreuse/{_code_stamp()}/{self.policy}/{self.packer}/{self.objective}"

    def lowering_pass(self, disable_reuse: bool) -> Any:
        """The pass that takes the place of TileLang's `MergeSharedMemoryAllocations`."""

        def transform(mod: Any, ctx: Any) -> Any:
            objective = self.objective
            # Rule 6: reuse needs barriers, and with this switch no later pass inserts any
            # (TileLang issue 2416).
            if disable_reuse or bool(ctx.config.get(DISABLE_SYNC, False)):
                objective = "none"
            scopes = ["shared.dyn"]
            if bool(ctx.config.get(MERGE_STATIC, False)):
                scopes.append("shared")
            for var, func in mod.functions.items():
                if isinstance(func, tvm.tirx.PrimFunc):
                    merged = self._merge(str(var.name_hint), func, scopes, objective)
                    if merged is not func:
                        mod.update_func(var, merged)
            return mod

        return tvm.transform.module_pass(
            transform, opt_level=0, name="smemreuse.MergeSharedMemoryAllocations"
        )

    def _merge(self, name: str, func: Any, scopes: Sequence[str], objective: str) -> Any:
        visitor = TirVisitor()
        kernels = visitor.kernels(name, func)
        plans = [
            [
                plan_kernel(
                    kernel, scope, policy=self.policy, packer=self.packer, objective=objective
                )
                for scope in scopes
                if len(kernel.allocations(scope)) > 1  # a single one needs no arena
            ]
            for kernel in kernels
        ]
        if not any(plans):
            return func
        merged = apply_plans(func, visitor, plans)
        for kernel, kernel_plans in zip(kernels, plans, strict=True):
            self.plans.extend(AppliedPlan(kernel, plan) for plan in kernel_plans)
        return merged


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
