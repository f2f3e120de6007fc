"""`lint`: turns the checker's machine on a kernel as it is, without a plan.

Every shared buffer lies at a place of its own and is its own partner. So the history with its
vector clocks finds races, the engines' queues missing waits, the lattice of values reads of what
nobody has written, the proxies missing fences, and the barriers' phases deadlocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from smemreuse.audit import BarrierStage, applied_layout, barriers_follow, inseparable_arena
from smemreuse.checker.check import DEFAULT_BUDGET, MAX_BUFFER
from smemreuse.checker.errors import Stuck, Uncovered
from smemreuse.checker.foreseen import Foreseen, seen_of
from smemreuse.checker.layout import Layout
from smemreuse.checker.relevance import Relevance, operations_of
from smemreuse.checker.setting import Setting, remembered_of
from smemreuse.checker.unfollowed import unfollowed
from smemreuse.checker.work import Work
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Kernel, unique_names
from smemreuse.ir.launch import UnknownThreads, thread_axes
from smemreuse.linter.collected import Known
from smemreuse.linter.guards import Guards
from smemreuse.linter.hazards import Hazards
from smemreuse.linter.traces import HazardTraces
from smemreuse.results.hazards import Hazard, LintReport
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.matrix_operands import precise_operands
from smemreuse.semantics.pointers import views_beyond

OF_LINT = 500_000_000
"""Units of work for one kernel."""


def lint(kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO) -> LintReport:
    """The hazards of a kernel: of each shared buffer with itself, whatever is merged.

    A kernel in which buffers have been merged is taken apart first; whether they may share their
    bytes is another question, `check`'s.
    """
    follow = barriers_follow(kernel, barriers)
    whole, doubts = _taken_apart(kernel)
    accesses = KernelAccesses.of(whole.body)
    names = unique_names(whole.allocations())
    sizes, unsized = {}, []
    for buffer in _shared(whole):
        if buffer.size is None or buffer.size > MAX_BUFFER:
            unsized.append(f"the size of {names[buffer]} is not followed")
        else:
            sizes[buffer] = buffer.size
    used = {one.buffer for found in accesses.by_statement.values() for one in found}
    doubts += [why for why, buffer in zip(unsized, _unsized(whole), strict=True) if buffer in used]
    doubts += [
        f"{view.name}, a view of {names[buffer]}, is larger than that"
        for view, buffer in views_beyond(whole.body, accesses.pointers)
        if buffer in sizes
    ]
    found, reasons, assumed = _traced(whole, Layout.alone(sizes, names), accesses, follow)
    unknown = tuple(dict.fromkeys((*doubts, *reasons)))
    return LintReport(kernel.name, follow, found, unknown, assumed)


def _shared(kernel: Kernel) -> Iterator[Buffer]:
    return (one for one in kernel.allocations() if one.scope in SHARED_SCOPES)


def _unsized(kernel: Kernel) -> Iterator[Buffer]:
    return (one for one in _shared(kernel) if one.size is None or one.size > MAX_BUFFER)


def _taken_apart(kernel: Kernel) -> tuple[Kernel, list[str]]:
    """The kernel with merged buffers apart again, and what could not be taken apart."""
    doubts: list[str] = []
    for scope in kernel.shared_scopes():
        applied = applied_layout(kernel, scope)
        if applied is not None:
            kernel = applied.kernel
            doubts += applied.beyond
        elif inseparable_arena(kernel, scope) is not None:
            doubts.append(f"the buffers merged in {scope} cannot be told apart")
    return kernel, doubts


def _traced(
    kernel: Kernel, layout: Layout, accesses: KernelAccesses, follow: bool
) -> tuple[tuple[Hazard, ...], tuple[str, ...], tuple[str, ...]]:
    """The hazards that traces find, what they do not follow, and what they assume."""
    operations = operations_of(kernel)
    precise = precise_operands(kernel.body, accesses.by_statement, accesses.pointers)
    guards = Guards(precise)
    relevance = Relevance(
        kernel.body, set(layout.partners), guards.accesses, operations, accesses.by_statement
    )
    reasons = tuple(dict.fromkeys(unfollowed(relevance)))
    if reasons or not (layout.partners or _orders(relevance)):
        return (), reasons, ()
    known: Known | None = None
    try:
        remembered = remembered_of(kernel)
        known = Known(kernel.body, guards.accesses, guards, remembered.vectors)
        work, foreseen = Work(OF_LINT), None
        if follow:  # it compares within one buffer: nobody knows yet which ones are merged
            seen = seen_of(kernel, accesses.pointers)
            foreseen = Foreseen.of(kernel.body, seen, operations, {}, {}, work)
        setting = Setting(
            relevance,
            layout,
            thread_axes(kernel.body),
            budget=DEFAULT_BUDGET,
            work=work,
            remembered=remembered,
            findings=partial(Hazards, known),
            foreseen=foreseen,
        )
        HazardTraces(setting, known).run(kernel.body)
    except Stuck as stuck:
        reasons = (str(stuck),) if known is None or not known.hazards else ()
    except (Uncovered, UnknownThreads) as reason:
        reasons = (str(reason),)
    if known is None:
        return (), reasons, ()
    hazards = sorted(known.hazards.values(), key=lambda one: (not one.certain, one.site.line or 0))
    return tuple(hazards), reasons, tuple(known.assumed)


def _orders(relevance: Relevance) -> bool:
    """Whether there are barriers in a kernel without shared buffers."""
    return relevance.synchronizes(relevance.body)
