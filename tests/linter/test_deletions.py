"""What the model sees go wrong in a kernel that lacks a barrier, a wait, a fence: `lint` says so.

`scripts/deletion_check.py` does the same with thousands of kernels.
"""

from __future__ import annotations

import pytest

from smemreuse.linter import lint
from smemreuse.linter.collected import LANES_TOGETHER
from tests.dumps import kernels_of
from tests.linter.deletions import deletions, differs, judged
from tests.linter.test_fixtures import FIXTURES, FOUND
from tests.soundness.model.modes import NotModelled

UNMODELLED = {"race_with_a_bulk_store", "sparse_wgmma_without_fence"}

UNORDERED = {"written_and_handed_over_with_copies"}
"""What the model has no word for: that a write is not seen yet where an arrival is."""


@pytest.mark.parametrize("name", [name for name in FOUND if name not in UNMODELLED])
def test_what_goes_wrong_without_an_operation_is_found(name: str) -> None:
    (kernel,) = kernels_of(FIXTURES / f"{name}.mended.tir")
    for deletion in deletions(kernel):
        found = judged(deletion)
        told = f"without `{deletion.what}` (line {deletion.line}): {found.differs or 'right'}"
        assert not found.is_missed, told
        assert not found.is_undecided, told
        assert not found.is_false_alarm, told


@pytest.mark.parametrize("name", [name for name in FOUND if name not in UNMODELLED | UNORDERED])
def test_the_fixtures_go_wrong_in_the_model(name: str) -> None:
    """So that what they show is no matter of opinion; a barrier that some do not come to is."""
    (wrong,) = kernels_of(FIXTURES / f"{name}.tir")
    (mended,) = kernels_of(FIXTURES / f"{name}.mended.tir")
    assert bool(differs(wrong, seed=0, tried=12)) is (name != "barrier_in_a_branch")
    by_lanes = "it hangs" if LANES_TOGETHER in lint(mended).assumptions else ""
    assert differs(mended, seed=0, tried=6) in ("", by_lanes)


@pytest.mark.parametrize("name", sorted(UNMODELLED))
def test_what_the_model_does_not_know(name: str) -> None:
    (kernel,) = kernels_of(FIXTURES / f"{name}.mended.tir")
    with pytest.raises(NotModelled):
        judged(next(deletions(kernel)))
