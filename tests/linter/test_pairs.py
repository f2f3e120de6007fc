"""Which threads clash in which byte."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.traced import ANYONE, TracedAccess
from smemreuse.ir.expr import Const
from smemreuse.linter.pairs import Clash, clash, touching
from smemreuse.semantics.accesses import Footprint
from tests.checker.small import SYNC, kernel_of, shared, under
from tests.linter.test_linter import report_on

A = shared("A", 256)


def by(ids: list[int], starts: list[int], *, is_write: bool = False, size: int = 1) -> TracedAccess:
    """Threads that access `size` bytes each, from where they start."""
    owners: dict[int, set[int]] = {}
    for one, start in zip(ids, starts, strict=True):
        for byte in range(start, start + size):
            owners.setdefault(byte, set()).add(one)
    where = sorted(owners)
    threads = [ANYONE if len(owners[byte]) > 1 else min(owners[byte]) for byte in where]
    each = np.array(ids)
    return TracedAccess(
        A,
        np.array(where),
        np.array(threads),
        is_write,
        True,
        each,
        np.unique(each // 32),
        0,
        footprint=Footprint(Const(0), size),
        starts=np.array(starts),
    )


def test_two_threads_of_different_warps_are_told_where_there_are() -> None:
    earlier = by([0, 1, 2], [0, 1, 2], is_write=True)
    later = by([1, 40, 3], [0, 1, 2])
    assert clash(earlier, later, in_warp=False) == Clash((0, 2), 1, 1, 40)
    assert clash(earlier, later, in_warp=True) == Clash((0, 2), 0, 0, 1)


def test_a_thread_does_not_clash_with_itself() -> None:
    one = by([0, 1], [0, 1], is_write=True)
    assert clash(one, by([0, 1], [0, 1]), in_warp=False) is None


def test_of_many_threads_one_that_differs_is_told() -> None:
    reads = by([0, 1, 40], [5, 5, 5])
    assert clash(reads, by([0], [5], is_write=True), in_warp=False) == Clash((5, 5), 5, 40, 0)


@pytest.mark.parametrize(("readers", "replicated"), [([0, 1], True), ([0, 2], False)])
def test_who_reads_what_it_wrote_with_others(readers: list[int], replicated: bool) -> None:
    writes = by([0, 1], [4, 4], is_write=True)
    found = clash(writes, by(readers, [4] * len(readers)), in_warp=False)
    assert found is not None
    assert found.replicated is replicated


def test_who_touches_a_byte() -> None:
    found = touching(by([0, 1, 2], [0, 2, 4], size=4), 4)
    assert found is not None
    assert found.tolist() == [1, 2]


FILLED = f"As[tx % 32] = D[tx % 32]\n{SYNC}"
AGAIN = "As[tx % 32] = D[tx % 32 + 5]\n"
READ = "O[tx] = As[tx % 32]\n"


@pytest.mark.parametrize(
    ("body", "clean"),
    [
        (AGAIN + READ, True),  # each has stored what it reads, and so has another
        (under("if D[tx] > 0", AGAIN + READ), True),
        (under("if D[tx] > 0", AGAIN + under("for k in range(2)", READ)), True),
        (under("if D[0] > 0", AGAIN) + READ, True),  # all have, or none has
        (under("if D[tx] > 0", AGAIN) + READ, False),  # it may read what another one stores
        (under("if D[tx] > 0", AGAIN) + under("if D[tx + 64] > 0", READ), False),
        (under("while D[tx] > c[0]", AGAIN + "c[0] = c[0] + 1\n") + READ, False),
    ],
)
def test_who_may_not_have_stored_reads_what_another_stores(body: str, clean: bool) -> None:
    assert report_on(kernel_of(FILLED + body)).clean is clean
