"""Loops that set locals to what is loaded: they repeat themselves once these are settled."""

from __future__ import annotations

import pytest

from smemreuse.checker.loops.stored import settles
from smemreuse.ir.kernel import For, walk_statements
from smemreuse.results.verdict import SOUND
from tests.checker.loops.test_periods import COUNT, executed, window
from tests.checker.small import SYNC, judge, kernel_of, relevance_of, statement, under

LOAD = "c[0] = D[k]\n"
UNROLLED = under("for j in T.unroll(2)", "c[j] = D[k * 2 + j]\n")
USE = under("if c[0] > 0", "As[tx] = 1\n")


def is_settled(body: str) -> bool:
    kernel = kernel_of(under(f"for k in range({COUNT})", body), elements=192)
    loop = statement(kernel, "for k")
    assert isinstance(loop, For)
    storages = {
        stmt.buffer.storage
        for stmt in walk_statements(kernel.body)
        if hasattr(stmt, "buffer") and stmt.buffer.name == "c"
    }
    return settles(loop, storages, relevance_of(kernel))


@pytest.mark.parametrize("load", [LOAD, UNROLLED, "c[0:2] = D[k * 2:k * 2 + 2]\n"])
@pytest.mark.parametrize("start", [None, 0])
def test_what_is_loaded_does_not_keep_a_loop_from_repeating_itself(
    load: str, start: int | None
) -> None:
    found = window(load + USE, start=start)
    assert found is not None
    assert (found.first, found.period, found.end) == (1, 1, COUNT)
    assert [one.name for one in found.stored] == ["c"]


def test_a_period_that_is_in_the_indices_is_seen() -> None:
    found = window(LOAD + under("if c[k % 3] > 0", "As[tx] = 1\n") + "As[tx + k % 2] = 2\n")
    assert found is not None
    assert (found.first, found.period) == (6, 6)


@pytest.mark.parametrize(
    "body",
    [
        "c[0] = c[0] + D[k]\n" + USE,  # a sum
        "c[1] = c[0]\nc[0] = D[k]\n" + under("if c[1] > 0", "As[tx] = 1\n"),
        LOAD + under("if c[0] > 0", "c[1] = D[k + 1]\n") + USE,
        LOAD + "v: T.int32 = c[0]\n" + under("if v > 0", "c[1] = D[k]\n") + USE,
        LOAD + under("for j in range(c[0])", "c[1] = D[k]\n") + USE,
        under("if c[0] > 0", "T.evaluate(T.thread_return())\n") + LOAD + USE,
    ],
)
def test_what_depends_on_what_such_a_local_holds_is_not_settled(body: str) -> None:
    assert not is_settled(body)
    assert window(body, start=None) is None


def test_what_a_loop_sets_to_its_own_variable_is_not_alike() -> None:
    assert is_settled("c[0] = D[k] + k\n" + USE)
    assert window("c[0] = D[k] + k\n" + USE, start=None) is None


def test_few_iterations_are_executed() -> None:
    assert executed(LOAD + USE) == 4
    assert executed(UNROLLED + under("if c[1] > 0", "As[tx] = 1\n")) < 20


def test_what_was_loaded_first_is_not_what_was_loaded_last() -> None:
    """After iterations were left out it is not known what the local holds. In the last one that was
    executed it was `D[3]`: A would then be written only where B is not read."""
    loop = under("for k in range(100)", f"{LOAD}As[tx] = 1\n{SYNC}O[tx] = As[c[0]]\n{SYNC}")
    written = under("if c[0] > 0", "As[tx] = 2\n")
    decided = under("if D[3] > 0", "O[tx] = 1\n" + SYNC)
    read = decided + under("else", "O[tx] = Bs[tx]\n")
    after = f"Bs[tx] = 1\n{SYNC}{decided}{written}{SYNC}{read}"
    assert judge(after.replace("c[0]", "D[3]")).verdict is SOUND
    assert judge(after.replace("c[0]", "D[99]")).verdict is not SOUND
    assert judge(loop.replace("100", "4") + after).verdict is SOUND
    assert judge(loop + after).verdict is not SOUND


def test_what_an_earlier_iteration_left_is_found() -> None:
    """The first iteration reads what nobody has written to B since A was; a later one does not."""
    read = under("if c[0] > 0", "O[tx] = Bs[tx]\n")
    body = under("for k in range(100)", read + SYNC + LOAD + "Bs[tx] = 1\n" + SYNC)
    assert judge("Bs[tx] = 7\n" + SYNC + body).verdict is SOUND
    clobbered = under("for k in range(100)", LOAD + read + SYNC + "As[tx] = 1\n" + SYNC)
    assert judge("Bs[tx] = 7\n" + SYNC + clobbered).verdict is not SOUND
