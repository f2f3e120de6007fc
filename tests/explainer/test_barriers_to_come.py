"""Barriers that a later pass may insert, on the axis of a chart."""

from __future__ import annotations

from smemreuse.explainer.barriers_to_come import marks_to_come
from smemreuse.explainer.timeline import timeline_of
from smemreuse.pipeline.planning import plan_kernel
from tests.conftest import DUMPS
from tests.dumps import kernels_of


def test_a_buffer_in_the_bytes_of_another_may_get_a_barrier_before_it_is_filled() -> None:
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    plan = plan_kernel(kernel, "shared.dyn", objective="bytes")
    timeline = timeline_of(kernel, "shared.dyn")
    marks = marks_to_come(kernel, plan, timeline)
    assert {mark.kind for mark in marks} == {"to come"}, "all are sure"
    assert [mark.position for mark in marks] == sorted(mark.position for mark in marks)
    names = {name: buffer for buffer, name in timeline.names.items()}
    begin, _ = timeline.spans(plan)[names["Cs"]]
    _, end = timeline.spans(plan)[names["Bs"]]
    assert any(end <= mark.position <= begin for mark in marks)


def test_waits_have_theirs_after_them() -> None:
    """`ThreadSync` follows each `ptx_wait_group` with a barrier."""
    (kernel,) = kernels_of(DUMPS / "batched_gemm.sm_80.tir")
    timeline = timeline_of(kernel, "shared.dyn")
    marks = marks_to_come(kernel, plan_kernel(kernel, "shared.dyn"), timeline)
    waits = [mark.stmt for mark in timeline.marks if mark.kind == "wait"]
    after = {mark.stmt: mark.position for mark in marks}
    assert waits
    for wait in waits:
        assert after[wait] == timeline.points[wait][1]


def test_barriers_that_are_not_sure_to_come_are_told_apart() -> None:
    (kernel,) = kernels_of(DUMPS / "halo.sm_80.tir")
    timeline = timeline_of(kernel, "shared.dyn")
    marks = marks_to_come(kernel, plan_kernel(kernel, "shared.dyn", policy="outer"), timeline)
    assert [mark.kind for mark in marks] == ["to come", "to come", "may come"]
