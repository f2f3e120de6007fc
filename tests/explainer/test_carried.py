"""Plans that one process applies and another shows: nothing of them changes on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from smemreuse.errors import PlanError
from smemreuse.explainer.carried import carried, carried_overview, carried_unmerged, placed
from smemreuse.explainer.overview import overview
from smemreuse.explainer.plans import judged_plan
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.judging import judge
from smemreuse.report.data import Subject
from smemreuse.report.overview import overview_entry
from smemreuse.report.page.rows import overview_row
from smemreuse.report.suite import page_title, suite_row
from smemreuse.results.carried import ScopePlans
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.serialized import as_data, from_data
from smemreuse.results.suite import SuiteKernel
from smemreuse.results.verdict import Judged
from smemreuse.targets.architectures import target_architecture, threads_of
from smemreuse.targets.registers import registers_of
from smemreuse.versions import TILELANG
from smemreuse.versions.merges import merge_of
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump
from tests.compilers.text.texts import kernel_of as text_kernel
from tests.conftest import DUMPS, ONE_OF_EACH
from tests.dumps import kernels_of

DYNAMIC = "shared.dyn"
SYMBOLIC = """\
m: T.int32 = n * 2
Ss = T.alloc_buffer((m, 8), "float16", scope="shared.dyn")
As[0] = T.float32(0.0)
Ss[0, 0] = T.float16(0.0)
Bs[0] = T.float32(0.0)
"""
NAMES = (*ONE_OF_EACH, "scratch_before_carried.sm_80", "symbolic")


def kernel_of(name: str) -> Kernel:
    if name == "symbolic":
        return text_kernel(dump(LAUNCH + BUFFERS + SYMBOLIC))
    return kernels_of(DUMPS / f"{name}.tir")[0]


def plans_of(kernel: Kernel) -> Iterator[tuple[str, Judged]]:
    """A proved one, one that is wrong here and there, and the compiler's own."""
    yield "dataflow", judged_plan(kernel, DYNAMIC, objective="speed")
    yield "inner", judged_plan(kernel, DYNAMIC, "inner")
    if kernel.version == TILELANG:
        own = merge_of(kernel).plan(kernel, DYNAMIC)
        yield "own", (own, judge(kernel, own))


def through_json(found: ScopePlans) -> ScopePlans:
    return from_data(ScopePlans, json.loads(json.dumps(as_data(found))))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_what_was_carried_as_what_was_made(name: str) -> None:
    here, there = kernel_of(name), kernel_of(name)  # two processes read it
    plans = dict(plans_of(here))
    sent = ScopePlans({name: carried(here, *one) for name, one in plans.items()}, "dataflow")
    shown = carried_overview(there, through_json(sent))
    made = overview(here, DYNAMIC, plans)
    entry = overview_entry(Subject("f", there, DYNAMIC), shown)
    assert entry == {**overview_entry(Subject("f", here, DYNAMIC), made), "before": "dataflow"}


@pytest.mark.parametrize("name", NAMES)
def test_a_row_needs_no_dump(name: str) -> None:
    kernel = kernel_of(name)
    found = ScopePlans({name: carried(kernel, *one) for name, one in plans_of(kernel)}, "inner")
    entry = overview_entry(Subject("f", kernel, DYNAMIC), carried_overview(kernel, found))
    arch = target_architecture(kernel)
    expected = registers_of(kernel)
    took = KernelFootprint(
        *(kernel.name, arch.name if arch else None, threads_of(kernel), None),
        *(0, 0, 0, None, None, None, None),
        expected_registers=expected.count if expected else None,
    )
    row = suite_row("f", kernel.name, SuiteKernel(took), through_json(found))
    whole = overview_row(entry, page_title(kernel.name, DYNAMIC))
    assert row == {**whole, "one_more": None, "one_more_bytes": None}  # which takes the kernel


def test_a_scope_in_which_nothing_is_merged_has_its_buffers_side_by_side() -> None:
    found = carried_unmerged(kernel_of("batched_gemm.sm_80"), DYNAMIC)
    assert found.arena == found.side_by_side
    assert found.verdict.sound


def test_another_kernel_is_not_drawn_in_its_place() -> None:
    kernel = kernel_of("batched_gemm.sm_80")
    found = carried(kernel, *judged_plan(kernel, DYNAMIC))
    with pytest.raises(PlanError, match="has other buffers in its dump"):
        placed(kernel_of("flash_attention.sm_90a"), found)
