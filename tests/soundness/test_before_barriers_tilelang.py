"""Random kernels as dumps, before TileLang's passes have put their fences and barriers in.

Some hundred; `scripts/random_kernels.py --before-barriers` runs tens of thousands.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from smemreuse.checker.machine.proxies import Proxies
from smemreuse.checker.predicted.prediction import Prediction
from smemreuse.ir.kernel import Kernel, walk_statements
from smemreuse.semantics.table import evaluated_call
from tests.random_kernels.choices import run_seed, source_of
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.incomplete import without_some
from tests.random_kernels.text import FENCE, TextGrower, Tile, under
from tests.soundness.before_barriers import both, examine_before, examine_dump
from tests.soundness.linted import Missed, NotShown

pytestmark = pytest.mark.tilelang

EACH = 5


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_said_of_a_dump_holds_behind_the_passes(family: str) -> None:
    stats: Counter[str] = Counter()
    for seed in range(EACH):
        run_seed(seed, partial(examine_before, family, seed=seed, stats=stats))
    assert sum(count for one, count in stats.items() if "lint says" in one) > EACH // 3


def operations_in(kernel: Kernel, name: str) -> int:
    calls = (evaluated_call(stmt) for stmt in walk_statements(kernel.body))
    return sum(call is not None and call.op == name for call in calls)


@pytest.mark.parametrize(
    ("family", "operation"), [("branches", "tvm_storage_sync"), ("stores", "fence_proxy_async")]
)
def test_the_passes_put_back_what_was_taken_out(family: str, operation: str) -> None:
    more = 0
    for seed in range(EACH):
        pick = source_of(seed)
        before, behind = both(without_some(FAMILIES[family](pick), pick))
        assert operations_in(behind, operation) >= operations_in(before, operation)
        more += operations_in(behind, operation) > operations_in(before, operation)
    assert more > EACH // 3


def dump(body: str, threads: int, tiles: int = 2) -> str:
    grow = TextGrower(lambda low, high: low, threads)
    for _ in range(tiles):
        grow.tile(64)
    return grow.text(body)


STORED = "T.tma_store_arrive()\nT.tma_store_wait(0)\n"
HANDED_ON = f"A[tx] = D[tx]\n{FENCE}" + under(
    "if tx == 0", f"T.tma_store({Tile('A', 64).pointer(1)}, X, 0)\n{STORED}"
)
"""The barrier that hands the fences on to thread 0 is yet to come."""


def test_a_fence_that_a_barrier_to_come_hands_on_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without that, `lint` is certain of a missing fence that the real barrier makes none."""
    examine_dump("stores", dump(HANDED_ON, 64), 0, Counter())
    monkeypatch.setattr(Proxies, "may_be_fenced", lambda *given: False)
    with pytest.raises(NotShown, match="missing-fence"):
        examine_dump("stores", dump(HANDED_ON, 64), 0, Counter())


TAKEN = under(
    "if tx < 64",
    'A[tx] = D[tx]\nT.tvm_storage_sync("shared", 3, 64)\nO[tx] = A[63 - tx]\n',
) + under("if 64 <= tx", "B[tx - 64] = D[tx]\nO[tx] = B[127 - tx]\n")
"""The pass gives the barrier of the second branch the number of that in the first."""


def test_a_number_that_the_pass_gives_twice_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, a kernel is called clean whose groups let each other go."""
    examine_dump("arms", dump(TAKEN, 128), 0, Counter())
    monkeypatch.setattr(Prediction, "shared_number", lambda self: None)
    with pytest.raises(Missed, match="called clean"):
        examine_dump("arms", dump(TAKEN, 128), 0, Counter())


def reduced(size: int, first: int, tile: str) -> str:
    run = f"tl::AllReduce<tl::MaxOp, {size}, 1, {first}, tl::NamedBarrier<64>>::run"
    scratch = Tile(tile, 64).pointer(3)
    return f'c[2] = T.call_extern("int32", "{run}", D[tx], {scratch})\n'


FORGOTTEN = (
    under("if tx < 64", f"C[tx % 32] = tx % 32\nO[tx] = C[31 - tx % 32]\n{reduced(64, 0, 'A')}")
    + under(
        "if 64 <= tx", f"{reduced(32, 64, 'B')}B[tx - 64] = tx\nO[tx] = B[(tx - 64) * 3 % 64]\n"
    )
    + "A[tx % 64] = D[tx % 64]\nO[tx] = A[63 - tx % 64]\n"
)
"""For the barriers in the second arm the pass forgets what the first one ends with. That its
threads have met between `C` and what collides with that tells of nothing that they did later."""
UNHEARD = (
    under(
        "if 64 <= tx",
        under(
            "for k in range(2)",
            "C[(tx - 64) % 32] = D[(tx - 64) % 32] + k\nO[tx] = C[(tx - 64) * 3 % 32]\n"
            "B[tx - 64] = D[tx]\nO[tx] = B[(tx - 64) ^ 32]\n"
            "B[tx - 64] = (tx - 64) * 5 + k\nO[tx] = B[(tx - 64 + 21) % 64]\n",
        ),
    )
    + under(
        "if tx < 64",
        under(
            "for k in range(2)",
            f"{reduced(64, 0, 'A')}E[tx % 32] = tx % 32 + k\nO[tx] = E[31 - tx % 32]\n",
        ),
    )
    + "C[tx % 32] = tx % 32 * 5\nT.tvm_storage_sync('shared')\nO[tx] = C[(tx + 21) % 32]\n"
)
"""The second arm's threads meet without those of the first, and hear nothing of what these read."""


@pytest.mark.parametrize("body", [FORGOTTEN, UNHEARD], ids=["forgotten", "unheard"])
def test_who_meets_in_an_arm_learns_of_these_alone(body: str) -> None:
    examine_dump("arms", dump(body, 128, 4), 0, Counter())
