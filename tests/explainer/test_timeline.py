"""One axis for every policy's live ranges, with loops and barriers on it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from smemreuse.explainer.timeline import timeline_of
from smemreuse.ir.kernel import Evaluate
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.policies.attribution import POLICIES
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of
from tests.dumps import plans_of, subjects_of

SOURCE = dump(
    LAUNCH
    + BUFFERS
    + "for i in range(4):\n    As[i] = T.float32(0.0)\n"
    + 'T.tvm_storage_sync("shared.dyn")\n'
    + "for i in range(4):\n    Bs[i] = As[i]\n"
)


def test_ranges_overlap_on_the_axis_as_they_do_in_the_plan(dump_path: Path) -> None:
    for each in subjects_of(dump_path):
        timeline = timeline_of(each.kernel, each.scope)
        plans = [plan for plan, _ in plans_of(each).values()]
        for policy in POLICIES:  # with TileLang's live ranges
            plans.append(plan_kernel(each.kernel, each.scope, policy=policy, packer="tilelang"))
        for plan in plans:
            ranges = timeline.spans(plan)
            assert set(ranges) == set(plan.live)
            for one, two in combinations(ranges, 2):
                overlap = ranges[one][0] < ranges[two][1] and ranges[two][0] < ranges[one][1]
                assert overlap == plan.live[one].overlaps(plan.live[two])


def test_the_axis_is_inner_s_sequence(dump_path: Path) -> None:
    for each in subjects_of(dump_path):
        timeline = timeline_of(each.kernel, each.scope)
        plan, _ = plans_of(each)["inner"]
        assert timeline.length == len(plan.entries)
        assert timeline.spans(plan) == {
            buffer: (live.begin, live.end) for buffer, live in plan.live.items()
        }


def test_loops_and_barriers_stand_where_they_are() -> None:
    timeline = timeline_of(kernel_of(SOURCE), "shared.dyn")
    assert [step.depth for step in timeline.steps] == [0, 1, 2, 1, 1, 2, 1, 0]
    assert [(band.kind, band.begin, band.end) for band in timeline.bands] == [
        ("loop", 1, 4),
        ("loop", 4, 7),
    ]
    (mark,) = timeline.marks
    assert (mark.kind, mark.position) == ("barrier", 4)
    assert isinstance(mark.stmt, Evaluate)


def test_outer_s_ranges_are_carried_over_to_the_loops() -> None:
    kernel = kernel_of(SOURCE)
    timeline = timeline_of(kernel, "shared.dyn")
    ranges = timeline.spans(plan_kernel(kernel, "shared.dyn", policy="outer"))
    assert {timeline.names[buffer]: span for buffer, span in ranges.items()} == {
        "As": (1, 7),
        "Bs": (4, 7),
    }
