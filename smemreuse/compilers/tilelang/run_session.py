"""The session of one process of a run: with policy `none` it audits TileLang's own merges."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tilelang import tvm

from smemreuse.compilers.functions import (
    DeviceFunction,
    MergeRequest,
    scopes_to_merge,
    stock_proposal,
)
from smemreuse.compilers.tilelang.elaborated import Begun, functions_of
from smemreuse.compilers.tilelang.mending import Synchronized
from smemreuse.compilers.tilelang.session import (
    Pass,
    TileLangSession,
    merged_scopes,
    observed,
    own_merge,
)
from smemreuse.compilers.tilelang.verify import judged_as_merged
from smemreuse.pipeline.fallback import left_to_stock, require_sizes
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel


@dataclass(repr=False, eq=False)
class RunSession(TileLangSession):
    """Merges what a run compiles, or only lowers."""

    compiles: ClassVar[bool] = True
    lower_only: bool = False

    @property
    def cache_token(self) -> str:
        """A kernel that is only lowered is another one than one that is compiled."""
        token = super().cache_token
        return f"{token}/lowered" if self.lower_only else token


class _Audited(threading.local):
    """What one thread's lowering has received and not yet seen with its barriers, by name."""

    def __init__(self) -> None:
        self.functions: dict[str, tuple[DeviceFunction, MergeRequest]] = {}


@dataclass(repr=False, eq=False)
class AuditSession(RunSession):
    """Changes nothing: TileLang's own pass merges, and what it did is judged on the IR that has its
    barriers."""

    _audited: _Audited = field(default_factory=_Audited, repr=False)

    @property
    def settings_token(self) -> str:
        """What is compiled in an audit is what is compiled without us, and yet must not come out of
        a cache: there would be nothing to judge."""
        return "none"

    def lowering_pass(
        self, stock_pass: Pass, *, disable_reuse: bool, aggressive: bool = False
    ) -> Any:
        stock = own_merge(disable_reuse=disable_reuse, aggressive=aggressive)

        def watched(mod: Any) -> Any:
            self._lowering.begin()
            self._audited.functions = {}
            begun = Begun.taken()
            scopes = merged_scopes(tvm.transform.PassContext.current().config)
            request = MergeRequest(stock, scopes, self.options)
            for name, func in functions_of(mod).items():
                with self._leaving(name):
                    function = begun.device_function(name, func)
                    if function.kernels:
                        for observer in self.observers:
                            observer.on_received(function, request)
                        seen = observed(request, function, stock_pass)
                        self._audited.functions[name] = function, seen
            return stock_pass(mod)

        return watched

    def confirm(self, mod: Any) -> Any:
        for name, func in functions_of(mod).items():
            received = self._audited.functions.pop(name, None)
            if received is not None:
                with self._leaving(name):
                    lowered = list(_as_the_compiler_merged(func, *received))
                    self.note_lowered(received[0], lowered)
                    self._lowering.lowered += lowered
        return mod

    @contextmanager
    def _leaving(self, name: str) -> Iterator[None]:
        """A fault of ours in what only looks on ends nothing."""
        try:
            yield
        except Exception as error:  # whatever it is
            self.leave(left_to_stock(name, error))


def _as_the_compiler_merged(
    func: Any, function: DeviceFunction, request: MergeRequest
) -> Iterator[LoweredKernel]:
    """The kernels of a function that the compiler has merged and given its barriers, judged."""
    stock = request.stock
    wanted = [scopes_to_merge(kernel, request.scopes) for kernel in function.kernels]
    require_sizes(function.kernels, wanted)
    made = stock_proposal(function.kernels, wanted, stock)
    judged = judged_as_merged(function, made, func) if any(wanted) else made
    merged = function.visitor.allocated
    synchronized = Synchronized(function.name, func, merged, function.sources)
    for number, launch in enumerate(judged.launches):
        kernel = function.kernels[number]
        plans = tuple(AppliedPlan(kernel, one.plan, one.verdict) for one in launch)
        lint = partial(synchronized.report, number)
        yield function.with_origin(LoweredKernel(kernel, stock, plans, lint=lint))
