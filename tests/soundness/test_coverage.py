"""What the coverage of random kernels counts, by kernels whose ways are known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.random_kernels.choices import source_of
from tests.random_kernels.text import SYNC, TextGrower, kernel_of, under
from tests.soundness.coverage import (
    DIVERGENT,
    FALSE,
    LANES,
    TRUE,
    UNIFORM,
    UNREACHED,
    WARPS,
    Counts,
    covered,
)
from tests.soundness.model.modes import NEVER, Mode

STAND = Mode("then", NEVER, assumed=False)
INPUTS = np.arange(4096)


def coverage(body: str) -> Counts:
    """Of two warps."""
    return covered(kernel_of(TextGrower(source_of(0), 64).text(body)), INPUTS, STAND)


def store(value: str = "1") -> str:
    return f"O[tx] = {value}\n"


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("D[5] > 4", TRUE),
        ("D[5] > 5", FALSE),
        ("D[k] > 1", UNIFORM),
        ("D[tx] > 31", WARPS),
        ("D[tx] > 30", LANES),
        ("D[tx + k] > 31", LANES),
        ("D[tx - tx % 32 + k] > 2", WARPS),
    ],
)
def test_a_branch_by_what_becomes_of_its_condition(condition: str, outcome: str) -> None:
    found = coverage(under("for k in range(3)", under(f"if {condition}", store())))
    assert found["branches", "data", outcome] == 1
    assert found["loops", "constants", "several"] == 1


def test_what_is_not_reached() -> None:
    found = coverage(under("if D[0] > 0", under("if D[tx] > 4", store())) + store())
    assert found["branches", "data", FALSE] == found["branches", "data", UNREACHED] == 1
    assert found["statements", "executed"] == found["statements", UNREACHED] == 1


@pytest.mark.parametrize(
    ("bound", "trips"),
    [
        ("D[0]", {"zero"}),
        ("D[1]", {"one"}),
        ("D[2]", {"several"}),
        ("D[n]", {"zero", "one", "several"}),
        ("D[tx // 32]", {"zero", "one", DIVERGENT}),
    ],
)
def test_a_loop_by_its_trip_counts(bound: str, trips: set[str]) -> None:
    inner = under(f"for k in range({bound})", store("k"))
    found = coverage(under("for n in range(4)", inner))
    assert {key[2] for key in found if key[:2] == ("loops", "data")} == {"loops", *trips}


def test_a_register_decides() -> None:
    found = coverage("c[0] = tx\n" + under("if c[0] > 2", store()) + under("if tx > 3", store()))
    assert found["branches", "registers", LANES] == found["branches", "threads", LANES] == 1


def test_guards_are_no_branches() -> None:
    found = coverage(store("T.if_then_else(D[tx] > 9, 1, 2)"))
    assert found["guards", LANES] == 1
    assert not any(key[0] == "branches" for key in found)


def test_synchronization_that_threads_skip() -> None:
    named = 'T.tvm_storage_sync("shared", 3, 32)\n'
    found = coverage(
        SYNC
        + under("if D[tx // 32] > 0", named + "T.fence_proxy_async()\n")
        + under("if tx < 32", "T.sync_warp()\n")
        + under("if D[9] > 0", SYNC)
        + under("for k in range(D[tx // 32])", "T.ptx_commit_group()\n")
    )
    skipped = {key[1:] for key in found if key[0] == "skipped"}
    assert skipped == {
        *(("data", "named barrier"), ("data", "fence"), ("indices", "warp barrier")),
        ("data", "cp.async commit"),
    }
    assert found["executed", "barrier"] == 1
