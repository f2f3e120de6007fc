"""Where `ThreadSync` puts barriers under a plan, for pictures of a dump without them."""

from __future__ import annotations

from smemreuse.checker.budget import OF_CHECK, Work, work_of
from smemreuse.checker.errors import Uncovered
from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.ir.kernel import Kernel, unique_names
from smemreuse.ir.launch import UnknownThreads
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import SyncMark, Timeline
from smemreuse.semantics.accesses import KernelAccesses


def marks_to_come(kernel: Kernel, plan: Plan, timeline: Timeline) -> tuple[SyncMark, ...]:
    """A mark before each statement, or after each wait, where the pass inserts a barrier into a
    kernel that it is to see, surely or perhaps; none where it cannot be followed."""
    sizes = {buffer: buffer.size or 0 for buffer in plan.offsets}
    layout = ByteLayout(plan.offsets, sizes, unique_names(kernel.allocations(plan.scope)))
    pointers = KernelAccesses.of(kernel.body).pointers
    work = Work(OF_CHECK, work_of(kernel))
    try:
        prediction = Prediction.under(kernel, plan.scope, layout, pointers, work)
    except (UnknownThreads, Uncovered):
        return ()
    found = [
        SyncMark("to come" if is_sure else "may come", timeline.points[stmt][0], stmt)
        for inserted in prediction.inserted.values()
        for stmt, is_sure in inserted.items()
    ]
    found += [SyncMark("to come", timeline.points[one][1], one) for one in prediction.view.followed]
    return tuple(sorted(dict.fromkeys(found), key=lambda mark: mark.position))
