"""Notes what sessions lower, for runs of many kernels in many processes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilelang import tvm
from tilelang.utils.language import get_prim_func_name

from smemreuse.compilers.functions import DeviceFunction, MergeRequest, PlannedFunction
from smemreuse.compilers.observers import SessionObserver
from smemreuse.compilers.records import Recorder, Settings, dumped
from smemreuse.compilers.text.sources import with_sources
from smemreuse.explainer.carried import carried, carried_unmerged
from smemreuse.pipeline.fallback import LeftToStock, left_to_stock
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.results.carried import ScopePlans
from smemreuse.results.mending import Mending
from smemreuse.results.suite import Judgement
from smemreuse.results.verdict import Verdict


@dataclass(frozen=True)
class _Received:
    """A function as its merge receives it: what distinguishes it, and its file, if any."""

    key: str
    dump: str | None = None


class _Noted(threading.local):
    """What one thread's lowering has received and not yet finished, and lowered and not yet
    compiled; why a function was not mended, if mending failed; and how many were received."""

    def __init__(self) -> None:
        self.received: dict[str, _Received] = {}
        self.lowered: list[tuple[str, LoweredKernel]] = []
        self.not_mended = ""
        self.count = 0


class RunRecorder(SessionObserver):
    """Notes each kernel when it is lowered, and forgets it: a suite has thousands."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.recorder = Recorder(Path(settings.folder))
        self._noted = _Noted()
        self._judged: set[str] = set()

    @property
    def received(self) -> int:
        """How many functions this thread's merges have received."""
        return self._noted.count

    def on_received(self, function: DeviceFunction, request: MergeRequest) -> None:
        """Keeps what a merge gets; what becomes of it is noted once it is lowered."""
        self._noted.not_mended = ""
        self._noted.count += 1
        text = tvm.IRModule({function.name: function.func}).script()
        options = f"{request.stock}/{request.scopes}/{request.options}"
        self.recorder.note("received", name=function.name)
        key = hashlib.sha256(f"{options}\n{text}".encode()).hexdigest()[:32]
        self._noted.received[function.name] = _Received(key)
        told = text
        if self.settings.drawn or self.settings.dump is not None:
            with self._noting_failure(function.name):
                function.name_sources()
                told = with_sources(text, function.kernels)
        if self.settings.drawn:
            with self._noting_failure(function.name):
                dumped(Path(self.settings.folder), key, told)
        if self.settings.dump is not None:
            with self._noting_failure(function.name):
                file = dumped(Path(self.settings.dump), function.name, told)
                self._noted.received[function.name] = _Received(key, file)

    def on_merged(self, functions: Sequence[PlannedFunction]) -> None:
        self._noted.lowered = []

    def on_lowered(self, function: str, kernels: Sequence[LoweredKernel]) -> None:
        """Notes the bytes first, for the judgement may take long and the process may be ended."""
        received = self._noted.received.pop(function, None) or _Received(function)
        noted: list[tuple[str, LoweredKernel]] = []
        for number, kernel in enumerate(kernels):
            with self._noting_failure(function):
                key = f"{received.key}/{number}"
                self.recorder.lowered(
                    key,
                    footprint=kernel.footprint(),
                    ours=None if self.settings.audits_only else _judgement(kernel.plans),
                    kept=any(one.plan.provenance.is_kept for one in kernel.plans),
                    elaboration=kernel.elaboration,
                    dump=received.dump,
                )
                noted.append((key, kernel))
        self._noted.lowered += noted
        for key, kernel in noted:
            if key not in self._judged:
                self._judged.add(key)
                self._note_more(key, kernel)

    def _note_more(self, key: str, kernel: LoweredKernel) -> None:
        """What takes longer to find out of a kernel, once in this process."""
        name, note = kernel.kernel.name, self.recorder.known
        with self._noting_failure(name):
            note(key, compiler=Judgement.of(list(_own_verdicts(kernel))))
        if kernel.mending is not None:
            mends, unmended = _described(kernel.mending)
            note(key, mends=mends, unmended=unmended)
        elif self.settings.mend and self._noted.not_mended:
            self.recorder.note("untold", name=name, why=self._noted.not_mended)
        if self.settings.drawn:
            with self._noting_failure(name):
                note(key, scopes=self._drawn(kernel))
        if self.settings.linted and kernel.lint is not None:
            with self._noting_failure(name):
                note(key, lint=kernel.lint())

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

    def on_compiled(self, before: LoweredKernel, after: LoweredKernel) -> None:
        for key, kernel in self._noted.lowered:
            if kernel is before:
                self.recorder.known(key, footprint=after.footprint())

    def on_reloaded(self, kernel: Any) -> None:
        name = get_prim_func_name(kernel.prim_func, "<unknown>")
        self.recorder.note("reloaded", name=name, source=source_of(kernel, kernel.prim_func))

    def on_left(self, left: LeftToStock) -> None:
        self.recorder.note("left", name=left.function, why=left.reason)

    def on_not_mended(self, function: str, why: str) -> None:
        self._noted.not_mended = why

    @contextmanager
    def _noting_failure(self, name: str) -> Iterator[None]:
        """A fault of ours in what only looks on ends nothing, and changes no kernel."""
        try:
            yield
        except Exception as error:  # whatever it is
            self.recorder.note("untold", name=name, why=left_to_stock(name, error).reason)


def source_of(kernel: Any, func: Any) -> str:
    """What distinguishes the function of a `JITKernel`, lowered for its target, from any other."""
    text = f"{kernel.target}\n{kernel.pass_configs}\n{func.script()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _judgement(plans: Sequence[AppliedPlan]) -> Judgement | None:
    return Judgement.of([each.verdict for each in plans])


def _described(mending: Mending) -> tuple[list[str], list[str]]:
    """What was put in, and what could not be fixed."""
    left = (f"{one.hazard.kind} at {one.hazard.site}: {one.why}" for one in mending.unmended)
    return [one.sentence for one in mending.mends], list(left)


def _own_verdicts(kernel: LoweredKernel) -> Iterator[Verdict]:
    """On the compiler's own merge; where it was applied, that is known already."""
    for applied in kernel.plans:
        own = kernel.stock_plan(applied.plan.scope)
        same = own.offsets == applied.plan.offsets
        yield applied.verdict if same else kernel.stock_verdict(applied.plan.scope)
