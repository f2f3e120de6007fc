"""A session that keeps nothing and notes everything, for runs of many kernels in many processes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tilelang import tvm
from tilelang.utils.language import get_prim_func_name

from smemreuse.baselines import Baseline
from smemreuse.compilers.records import Recorder, Settings, dumped
from smemreuse.compilers.session import DeviceFunction, scopes_to_merge
from smemreuse.compilers.tilelang.session import (
    Pass,
    Session,
    Wanted,
    code_stamp,
    merged_scopes,
    own_merge,
)
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock, require_sizes
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.options import checked_options
from smemreuse.results.suite import Judgement
from smemreuse.results.verdict import Verdict


@dataclass(frozen=True)
class _Received:
    """A function as its merge receives it: what tells it from others, and its file, if any."""

    key: str
    dump: str | None = None


class _Now(threading.local):
    """What one thread's lowering has seen and not yet done with."""

    def __init__(self) -> None:
        self.received: dict[str, _Received] = {}
        self.audited: dict[str, tuple[DeviceFunction, Baseline, tuple[str, ...]]] = {}
        self.noted: list[tuple[str, LoweredKernel]] = []


@dataclass(repr=False)
class SuiteSession(Session):
    """Notes each kernel when it is lowered, and forgets it: a suite has thousands.

    With policy `none` it changes nothing: TileLang's own pass merges, and what it did is judged on
    the IR that has its barriers.
    """

    settings: Settings = field(default_factory=lambda: Settings(""))
    _now: _Now = field(default_factory=_Now, repr=False)
    _judged: set[str] = field(default_factory=set, repr=False)

    @classmethod
    def under(cls, settings: Settings) -> SuiteSession:
        policy = "dataflow" if settings.audits_only else settings.policy
        options = checked_options(
            policy, settings.packer, settings.objective, strict=settings.strict
        )
        session = cls.of(options)
        session.settings, session.mend = settings, settings.mend
        return session

    @property
    def recorder(self) -> Recorder:
        return Recorder(Path(self.settings.folder))

    @property
    def cache_token(self) -> str:
        """What is compiled under policy `none` is what is compiled without us, and yet must not
        come out of a cache: there would be nothing to judge."""
        token = super().cache_token
        if self.settings.audits_only:
            token = f"smemreuse/{code_stamp()}/none"
        return f"{token}/lowered" if self.settings.lower_only else token

    # What the merge receives ----------------------------------------------------------------------

    def lowering_pass(
        self, stock_pass: Pass, *, disable_reuse: bool, aggressive: bool = False
    ) -> Any:
        if not self.settings.audits_only:
            return super().lowering_pass(
                stock_pass, disable_reuse=disable_reuse, aggressive=aggressive
            )
        stock = own_merge(disable_reuse=disable_reuse, aggressive=aggressive)

        def watched(mod: Any) -> Any:
            self._now.audited = {}
            scopes = merged_scopes(tvm.transform.PassContext.current().config)
            for name, func in _functions(mod):
                with self._noting_failure(name):
                    function = DeviceFunction(name, func, TirVisitor())
                    if function.kernels:
                        self._receive(function, Wanted(stock, stock_pass, scopes, self.options))
                        self._now.audited[name] = function, stock, scopes
            return stock_pass(mod)

        return watched

    def _merged(self, function: DeviceFunction, wanted: Wanted) -> Any:
        if function.kernels:
            self._receive(function, wanted)
        return super()._merged(function, wanted)

    def _receive(self, function: DeviceFunction, wanted: Wanted) -> None:
        text = tvm.IRModule({function.name: function.func}).script()
        options = f"{wanted.stock}/{wanted.scopes}/{wanted.options}"
        key = hashlib.sha256(f"{options}\n{text}".encode()).hexdigest()[:32]
        self._now.received[function.name] = _Received(key)
        if self.settings.dump is not None:
            with self._noting_failure(function.name):
                file = dumped(Path(self.settings.dump), function.name, text)
                self._now.received[function.name] = _Received(key, file)

    # What comes of it -----------------------------------------------------------------------------

    def confirm(self, mod: Any) -> Any:
        if not self.settings.audits_only:
            return super().confirm(mod)
        for name, func in _functions(mod):
            audited = self._now.audited.pop(name, None)
            if audited is not None:
                with self._noting_failure(name):
                    self.note_kernels(name, list(_as_the_compiler_merged(func, *audited)))
        return mod

    def note_kernels(self, function: str, lowered: Sequence[LoweredKernel]) -> None:
        """Notes the bytes first, for the judgement may take long and the process may be ended."""
        received = self._now.received.pop(function, None)
        self._now.noted = []
        with self._noting_failure(function):
            for number, kernel in enumerate(lowered):
                key = f"{received.key if received else function}/{number}"
                ours = None if self.settings.audits_only else _judgement(kernel.plans)
                kept = any(one.plan.provenance.is_kept for one in kernel.plans)
                dump = received.dump if received else None
                self.recorder.lowered(key, kernel.footprint(), ours, kept, dump)
                self._now.noted.append((key, kernel))
            for key, kernel in self._now.noted:
                if key not in self._judged:
                    self._judged.add(key)
                    self.recorder.judged(key, Judgement.of(list(_own_verdicts(kernel))))
        self.plans.clear()
        self.mendings.clear()
        self.functions.clear()

    def note_registers(self, registers: Mapping[str, int]) -> None:
        for key, kernel in self._now.noted:
            if kernel.kernel.name in registers:
                compiled = replace(kernel, registers=registers[kernel.kernel.name])
                self.recorder.compiled(key, compiled.footprint())
        self._now.noted, self._lowering.lowered = [], []

    def note_reload(self, kernel: Any) -> None:
        name = get_prim_func_name(kernel.prim_func, "<unknown>")
        self.recorder.note("reloaded", name=name, source=source_of(kernel, kernel.prim_func))

    def leave(self, left: LeftToStock) -> None:
        self.recorder.note("left", name=left.function, why=left.reason)

    def warn(self, text: str) -> None:
        """The table tells it: a warning is an error in many a suite."""

    @contextmanager
    def _noting_failure(self, name: str) -> Iterator[None]:
        """A fault of ours in what only looks on ends nothing, and changes no kernel."""
        try:
            yield
        except Exception as error:  # whatever it is
            self.leave(left_to_stock(name, error))


def source_of(kernel: Any, func: Any) -> str:
    """What tells the function of a `JITKernel`, lowered for its target, from any other."""
    text = f"{kernel.target}\n{kernel.pass_configs}\n{func.script()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _functions(mod: Any) -> Iterator[tuple[str, Any]]:
    for var, func in list(mod.functions.items()):
        if isinstance(func, tvm.tirx.PrimFunc):
            yield str(var.name_hint), func


def _as_the_compiler_merged(
    func: Any, function: DeviceFunction, stock: Baseline, scopes: tuple[str, ...]
) -> Iterator[LoweredKernel]:
    """The kernels of a function that the compiler has merged and given its barriers, judged."""
    wanted = [scopes_to_merge(kernel, scopes) for kernel in function.kernels]
    require_sizes(function.kernels, wanted)
    made = tuple(
        tuple(Candidate(kernel, stock.plan(kernel, scope)) for scope in each)
        for kernel, each in zip(function.kernels, wanted, strict=True)
    )
    judged = function.judged(Proposal(made), func) if any(made) else Proposal(made)
    for kernel, launch in zip(function.kernels, judged.launches, strict=True):
        plans = tuple(AppliedPlan(kernel, one.plan, one.verdict) for one in launch)
        yield LoweredKernel(kernel, stock, plans)


def _judgement(plans: Sequence[AppliedPlan]) -> Judgement | None:
    return Judgement.of([each.verdict for each in plans])


def _own_verdicts(kernel: LoweredKernel) -> Iterator[Verdict]:
    """On the compiler's own merge; where it was applied, that is known already."""
    for applied in kernel.plans:
        own = kernel.stock_plan(applied.plan.scope)
        same = own.offsets == applied.plan.offsets
        yield applied.verdict if same else kernel.stock_verdict(applied.plan.scope)
