"""A session that keeps nothing and notes everything, for runs of many kernels in many processes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tilelang import tvm
from tilelang.utils.language import get_prim_func_name

from smemreuse.compilers.records import Recorder, Settings, dumped
from smemreuse.compilers.session import DeviceFunction, scopes_to_merge
from smemreuse.compilers.tilelang.mending import Synchronized
from smemreuse.compilers.tilelang.session import (
    Pass,
    Session,
    Wanted,
    code_stamp,
    merged_scopes,
    own_merge,
)
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.explainer.carried import carried, carried_unmerged
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock, require_sizes
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.pipeline.options import checked_options
from smemreuse.results.carried import ScopePlans
from smemreuse.results.mending import Mending
from smemreuse.results.suite import Judgement
from smemreuse.results.verdict import Verdict
from smemreuse.versions.merges import Merge


@dataclass(frozen=True)
class _Received:
    """A function as its merge receives it: what tells it from others, and its file, if any."""

    key: str
    dump: str | None = None


class _Now(threading.local):
    """What one thread's lowering has seen and not yet done with."""

    def __init__(self) -> None:
        self.received: dict[str, _Received] = {}
        self.audited: dict[str, tuple[DeviceFunction, Merge, tuple[str, ...]]] = {}
        self.noted: list[tuple[str, LoweredKernel]] = []
        self.warning = ""


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
                with self._noting_failure(name, "left"):
                    function = DeviceFunction(name, func, TirVisitor())
                    if function.kernels:
                        self.receive(function, Wanted(stock, stock_pass, scopes, self.options))
                        self._now.audited[name] = function, stock, scopes
            return stock_pass(mod)

        return watched

    def _merged(self, function: DeviceFunction, wanted: Wanted) -> Any:
        self._now.warning = ""
        if function.kernels:
            self.receive(function, wanted)
        return super()._merged(function, wanted)

    def receive(self, function: DeviceFunction, wanted: Wanted) -> None:
        """Keeps what a merge gets; what becomes of it is noted by `note_kernels`."""
        text = tvm.IRModule({function.name: function.func}).script()
        options = f"{wanted.stock}/{wanted.scopes}/{wanted.options}"
        self.recorder.note("received", name=function.name)
        key = hashlib.sha256(f"{options}\n{text}".encode()).hexdigest()[:32]
        self._now.received[function.name] = _Received(key)
        if self.settings.drawn:
            with self._noting_failure(function.name):
                dumped(Path(self.settings.folder), key, text)
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
                with self._noting_failure(name, "left"):
                    self.note_kernels(name, list(_as_the_compiler_merged(func, *audited)))
        return mod

    def note_kernels(self, function: str, lowered: Sequence[LoweredKernel]) -> None:
        """Notes the bytes first, for the judgement may take long and the process may be ended."""
        received = self._now.received.pop(function, None) or _Received(function)
        self._now.noted = []
        for number, kernel in enumerate(lowered):
            with self._noting_failure(function):
                key = f"{received.key}/{number}"
                ours = None if self.settings.audits_only else _judgement(kernel.plans)
                kept = any(one.plan.provenance.is_kept for one in kernel.plans)
                self.recorder.lowered(key, kernel.footprint(), ours, kept, received.dump)
                self._now.noted.append((key, kernel))
        for key, kernel in self._now.noted:
            if key not in self._judged:
                self._judged.add(key)
                self._note_more(key, kernel)
        self.plans.clear()
        self.mendings.clear()
        self.functions.clear()

    def _note_more(self, key: str, kernel: LoweredKernel) -> None:
        """What takes longer to find out of a kernel, once in this process."""
        name = kernel.kernel.name
        with self._noting_failure(name):
            self.recorder.judged(key, Judgement.of(list(_own_verdicts(kernel))))
        if kernel.mending is not None:
            self.recorder.mended(key, *_told_of(kernel.mending))
        elif self.settings.mend and self._now.warning:
            self.recorder.note("untold", name=name, why=self._now.warning)
        if self.settings.drawn:
            with self._noting_failure(name):
                self.recorder.drawn(key, self._drawn(kernel))
        if self.settings.linted and kernel.lint is not None:
            with self._noting_failure(name):
                self.recorder.linted(key, kernel.lint())

    def _drawn(self, kernel: LoweredKernel) -> list[ScopePlans]:
        """What a page shows of a kernel's scopes."""
        model, whose, found = kernel.kernel, f"{kernel.stock.compiler}'s own", []
        for applied, verdict in zip(kernel.plans, _own_verdicts(kernel), strict=True):
            own = carried(model, kernel.stock_plan(applied.plan.scope), verdict)
            if self.settings.audits_only:
                found.append(ScopePlans({whose: own}))
            else:
                ours = carried(model, applied.plan, applied.verdict)
                found.append(ScopePlans({whose: own, "applied": ours}, before=whose))
        merged = {one.scope for one in found}
        rest = [scope for scope in model.shared_scopes() if scope not in merged]
        alone = [ScopePlans({"not merged": carried_unmerged(model, scope)}) for scope in rest]
        return [*found, *alone]

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
        self._now.warning = text

    @contextmanager
    def _noting_failure(self, name: str, event: str = "untold") -> Iterator[None]:
        """A fault of ours in what only looks on ends nothing, and changes no kernel."""
        try:
            yield
        except Exception as error:  # whatever it is
            self.recorder.note(event, name=name, why=left_to_stock(name, error).reason)


def source_of(kernel: Any, func: Any) -> str:
    """What tells the function of a `JITKernel`, lowered for its target, from any other."""
    text = f"{kernel.target}\n{kernel.pass_configs}\n{func.script()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _functions(mod: Any) -> Iterator[tuple[str, Any]]:
    for var, func in list(mod.functions.items()):
        if isinstance(func, tvm.tirx.PrimFunc):
            yield str(var.name_hint), func


def _as_the_compiler_merged(
    func: Any, function: DeviceFunction, stock: Merge, scopes: tuple[str, ...]
) -> Iterator[LoweredKernel]:
    """The kernels of a function that the compiler has merged and given its barriers, judged."""
    wanted = [scopes_to_merge(kernel, scopes) for kernel in function.kernels]
    require_sizes(function.kernels, wanted)
    made = tuple(
        tuple(Candidate(kernel, stock.plan(kernel, scope)) for scope in each)
        for kernel, each in zip(function.kernels, wanted, strict=True)
    )
    judged = function.judged(Proposal(made), func) if any(made) else Proposal(made)
    synchronized = Synchronized(function.name, func, function.visitor.allocated)
    for number, launch in enumerate(judged.launches):
        kernel = function.kernels[number]
        plans = tuple(AppliedPlan(kernel, one.plan, one.verdict) for one in launch)
        yield LoweredKernel(kernel, stock, plans, lint=partial(synchronized.report, number))


def _judgement(plans: Sequence[AppliedPlan]) -> Judgement | None:
    return Judgement.of([each.verdict for each in plans])


def _told_of(mending: Mending) -> tuple[list[str], list[str]]:
    """What was put in, and what could not be mended."""
    left = (f"{one.hazard.kind} at {one.hazard.site}: {one.why}" for one in mending.unmended)
    return [one.sentence for one in mending.mends], list(left)


def _own_verdicts(kernel: LoweredKernel) -> Iterator[Verdict]:
    """On the compiler's own merge; where it was applied, that is known already."""
    for applied in kernel.plans:
        own = kernel.stock_plan(applied.plan.scope)
        same = own.offsets == applied.plan.offsets
        yield applied.verdict if same else kernel.stock_verdict(applied.plan.scope)
