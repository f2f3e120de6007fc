"""Where a proxy fence is said to belong: after which wait, before which barrier."""

from __future__ import annotations

import numpy as np

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import lint, mends
from smemreuse.linter.fence_places import FencePlace, fence_place
from smemreuse.results.hazards import HazardKind, Site
from smemreuse.versions import version_of
from smemreuse.versions.thread_sync.after_waits import followed_by_barriers
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures" / "lint"
STORED = (FIXTURES / "stored_without_fence.tir").read_text()
COPIED = (FIXTURES / "copied_without_fence.tir").read_text()
SYNC = 'T.tvm_storage_sync("shared.dyn")'


def fix_of(text: str) -> str:
    """How the one missing fence is to be fixed."""
    (kernel,) = parse_dump(text).kernels
    (hazard,) = lint(kernel, BarrierStage.PRESENT).hazards
    assert hazard.kind is HazardKind.MISSING_FENCE
    return hazard.mend.sentence


def copied(text: str, *, own: bool = True) -> tuple[FencePlace, str]:
    """The place between the copies of line 24 and the product, and how it is told."""
    (kernel,) = parse_dump(text).kernels
    by_line = {stmt.line: stmt for stmt in walk_statements(kernel.body)}
    followed = [*followed_by_barriers(kernel.body, version_of(kernel).thread_sync)]
    one, two = by_line[24], by_line[text[: text.index("T.ptx_wgmma_ss")].count("\n") + 1]
    place = fence_place(StatementTree(kernel.body), followed, one, two)
    mend = mends.fence(Site.of(one), Site.of(two), np.arange(128), place, own=own)
    return place, mend.sentence


def test_a_barrier_that_the_kernel_has_is_named() -> None:
    assert fix_of(STORED).endswith(" after line 20, before the barrier at line 21.")


def test_a_barrier_of_some_threads_is_not_taken_for_it() -> None:
    told = fix_of(STORED.replace(SYNC, 'T.tvm_storage_sync("shared.dyn", 1, 128)'))
    assert told.endswith(" after line 20, before the barrier or mbarrier for which line 23 waits.")


def test_the_wait_for_copies_is_named_and_the_barrier_after_it() -> None:
    place, told = copied(COPIED)
    assert place.wait is not None
    assert place.barrier is not None
    assert (place.wait.line, place.barrier.line) == (26, 27)
    assert told.endswith(
        " after they have waited at line 26 for the copies of line 24, before the barrier at line "
        "27."
    )


def test_a_barrier_that_the_compiler_inserts_after_the_wait_is_told() -> None:
    """It leaves no place before it, so that the readers fence; others cannot do that for them."""
    text = COPIED.replace('        T.tvm_storage_sync("shared")\n', "", 1)
    place, told = copied(text)
    assert (place.barrier, place.follows) == (None, True)
    assert told.endswith(
        " at line 26 for the copies of line 24, where the compiler will insert a barrier, and "
        "before line 30."
    )
    assert copied(text, own=False)[1].endswith(
        " before the barrier or mbarrier for which line 30 waits."
    )
