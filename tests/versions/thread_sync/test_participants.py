"""For whom a barrier in a branch of some threads is: as the pass of TileLang 0.1.15 puts it in.

`tests/compilers/tilelang/test_barriers_in_branches.py` holds the pass itself against this table.
"""

from __future__ import annotations

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.ir.expr import Call, Var
from smemreuse.ir.kernel import If, Kernel, walk_statements
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.linter import lint
from smemreuse.results.hazards import HazardKind, HazardOrigin
from smemreuse.versions.thread_sync.participants import are_recognized
from tests.checker.small import SYNC, kernel_of, under

THREADS = 128
EXCHANGE = "As[tx] = tx\nO[tx] = As[tx // 32 * 32 + 31 - tx % 32]\n"
"""Within each warp, which the pass puts a barrier into nevertheless."""

RECOGNIZED = {
    "tx < 32": (True, True),
    "32 <= tx": (True, True),
    "tx <= 31": (True, True),
    "32 > tx": (True, True),
    "31 >= tx": (False, True),
    "tx >= 32 and tx < 64": (True, False),
    "tx < 32 or tx >= 96": (False, True),
    "31 >= tx or tx >= 96": (False, True),
    "tx // 32 == 0": (False, True),
    "0 == tx // 32": (False, True),
    "tx // 32 == 1": (False, False),
    "tx // 32 != 0": (False, True),
    "tx // 32 - 1 != 0": (False, False),
    "tx // 32 != 0 or tx // 64 != 0": (False, True),
    "1 > tx // 32": (False, True),
    "tx * 2 < 64": (False, True),
    "64 - tx > 32": (False, True),
    "(tx // 32) * 2 + 1 < 3": (False, True),
    "tx // 32 % 2 == 0": (False, False),
    "not (tx > 31)": (True, True),
    "not (31 >= tx)": (False, True),
    "not (tx * 2 < 64)": (False, True),
    "not (tx // 32 == 0)": (False, False),
    "not (tx < 32 or tx >= 96)": (False, False),
}
"""By condition: whether the pass knows the threads of the branch, and of the one beside it."""

NOT_TAKEN = {
    "not (tx // 32 != 0)": (False, True),
    "tx < 64 and tx // 32 == 0": (True, False),
}
"""The same for what is taken for unknown, though the pass knows it."""


def small(body: str) -> Kernel:
    return kernel_of(body, threads=THREADS)


def in_branch(condition: str, holds: bool, body: str) -> str:
    """A body that those threads execute for which the condition holds, or does not."""
    other = "O[tx + 200] = 3\n"
    then, orelse = (body, other) if holds else (other, body)
    return under(f"if {condition}", then) + under("else", orelse)


@pytest.mark.parametrize("condition", RECOGNIZED)
@pytest.mark.parametrize("holds", [True, False])
def test_lint_expects_a_barrier_of_the_block_where_the_threads_are_not_known(
    condition: str, holds: bool
) -> None:
    kernel = small(in_branch(condition, holds, EXCHANGE))
    hazards = lint(kernel, BarrierStage.LATER).hazards
    diverges = [one for one in hazards if one.kind is HazardKind.BARRIER_DIVERGENCE]
    assert bool(diverges) is not RECOGNIZED[condition][not holds]
    assert not any(one.certain for one in diverges)
    assert all(one.origin is HazardOrigin.COMPILER for one in diverges)


@pytest.mark.parametrize("condition", NOT_TAKEN)
def test_what_the_pass_may_know_besides_is_not_counted_on(condition: str) -> None:
    kernel = small(in_branch(condition, True, EXCHANGE))
    (branch,) = (one for one in walk_statements(kernel.body) if isinstance(one, If))
    own = {one.var for one in launches(kernel.body) if tag_of(one) in AXES}
    indices = {one for one in own if isinstance(one, Var)}
    assert isinstance(branch.condition, Call)
    assert not any(are_recognized(branch.condition, holds, indices) for holds in (True, False))


def test_the_witness_names_both_accesses_and_who_is_missing() -> None:
    body = in_branch("tx // 32 == 0", True, EXCHANGE)
    (hazard,) = lint(small(body), BarrierStage.LATER).hazards
    assert "threads 32-127 do not reach the barrier of all threads" in hazard.witness
    assert hazard.other is not None
    assert str(hazard.other.line) in hazard.witness
    assert "threadIdx.x itself" in hazard.mend.sentence


def test_a_barrier_of_ones_own_between_them_leaves_nothing_to_put_in() -> None:
    meet = 'T.tvm_storage_sync("shared", 1, 32)\n'
    exchange = EXCHANGE.replace("O[tx] =", f"{meet}O[tx] =")
    kernel = small(in_branch("tx // 32 == 0", True, exchange))
    assert not lint(kernel, BarrierStage.LATER).hazards


def test_behind_a_barrier_in_a_branch_of_some_nothing_is_proved_by_the_block_s() -> None:
    """Those who did not come there meet these at the next one (rule 12)."""
    across = f"Bs[tx] = 1\n{SYNC}O[tx] = Bs[127 - tx]\n"
    kernel = small(in_branch("tx // 32 == 0", True, EXCHANGE) + across)
    kinds = {one.kind for one in lint(kernel, BarrierStage.LATER).hazards}
    assert kinds >= {HazardKind.BARRIER_DIVERGENCE, HazardKind.RACE}
    ordered = in_branch("tx < 32", True, EXCHANGE) + across
    assert HazardKind.RACE not in {
        one.kind for one in lint(small(ordered), BarrierStage.LATER).hazards
    }
