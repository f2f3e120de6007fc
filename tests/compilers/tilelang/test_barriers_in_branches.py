"""For whom `ThreadSync` puts a barrier into a branch, by the pass itself."""

from __future__ import annotations

from functools import cache

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.ir.kernel import Kernel, walk_statements
from smemreuse.linter import lint
from smemreuse.semantics.table import evaluated_effect, is_block_barrier
from tests.compilers.tilelang.synchronized import Shared, synchronized
from tests.versions.thread_sync.test_participants import (
    EXCHANGE,
    NOT_TAKEN,
    RECOGNIZED,
    THREADS,
    in_branch,
)

pytestmark = pytest.mark.tilelang

BUFFER = (Shared("As", "float32", THREADS),)
KNOWN = RECOGNIZED | NOT_TAKEN


@cache
def both(condition: str, holds: bool) -> tuple[Kernel, Kernel]:
    """A kernel that exchanges values in a branch, as a dump and behind the passes."""
    body = in_branch(condition, holds, EXCHANGE.replace("= tx", "= D[tx]", 1))
    kernel, _, behind = synchronized(BUFFER, body.replace("= 3\n", "= D[3]\n"), THREADS)
    return kernel, behind


@pytest.mark.parametrize("condition", KNOWN)
@pytest.mark.parametrize("holds", [True, False])
def test_the_pass_knows_the_threads_of_these_branches(condition: str, holds: bool) -> None:
    _, behind = both(condition, holds)
    barriers = [
        stmt
        for stmt in walk_statements(behind.body)
        if (effect := evaluated_effect(stmt)) is not None and effect.meeting is not None
    ]
    assert len(barriers) == 1
    assert is_block_barrier(barriers[0]) is not KNOWN[condition][not holds]


@pytest.mark.parametrize("condition", RECOGNIZED)
@pytest.mark.parametrize("holds", [True, False])
def test_lint_says_the_same_of_the_dump_as_behind_the_pass(condition: str, holds: bool) -> None:
    kernel, behind = both(condition, holds)
    reports = lint(kernel, BarrierStage.LATER), lint(behind, BarrierStage.PRESENT)
    dump, synchronized_ = ([(one.kind, one.certain) for one in each.hazards] for each in reports)
    assert dump == synchronized_
    assert reports[0].status is reports[1].status
