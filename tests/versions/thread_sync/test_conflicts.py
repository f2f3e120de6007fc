"""Which accesses a later pass surely does not take for a conflict, and which it may."""

from __future__ import annotations

import pytest

from smemreuse.checker.budget import Work
from smemreuse.checker.predicted.prediction import view_of
from smemreuse.ir.kernel import For, Kernel, walk_statements
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.versions.thread_sync.conflicts import Conflict, Conflicts
from tests.checker.small import kernel_of, under

PLACES = {"As": 0, "Bs": 256}


def answers(
    kernel: Kernel,
    *,
    in_next_round: bool = False,
    placed: bool = True,
    compares_bytes: bool = True,
) -> list[Conflict]:
    """Of each access of a kernel with those after it, or with all in the next round of its loop."""
    view = view_of(kernel, KernelAccesses.of(kernel.body).pointers)
    offsets = {one: PLACES[one.name] for one in kernel.allocations("shared.dyn")} if placed else {}
    conflicts = Conflicts(
        view.ranges,
        view.collisions,
        offsets,
        Work().do,
        compares_bytes=compares_bytes,
    )
    made = [(stmt, one) for stmt, found in view.collisions.entries.items() for one in found]
    if in_next_round:
        loop = next(one for one in walk_statements(kernel.body) if isinstance(one, For))
        return [conflicts.between(one, two, loop) for one in made for two in made]
    return [
        conflicts.between(one, two, None) for at, one in enumerate(made) for two in made[at + 1 :]
    ]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("As[tx] = 1\nO[tx] = As[63 - tx]\n", Conflict.YES),
        ("As[tx] = 1\nO[tx] = As[tx]\n", Conflict.NO),
        ("As[tx % 32] = 1\nO[tx] = As[tx % 32]\n", Conflict.NO),  # taken for one thread's
        ("As[tx % 32] = 1\nO[tx] = As[tx % 32 + 32]\n", Conflict.NO),
        ("As[tx % 32] = 1\nO[tx] = As[tx // 2 + 31]\n", Conflict.YES),
        ("As[tx] = 1\nAs[tx] = 2\n", Conflict.NO),
        ("As[tx * 2 % 64] = 1\nAs[tx * 2 % 64 + 1] = 2\n", Conflict.NO),  # one thread's, one apart
        ("As[D[tx] % 64] = 1\nO[tx] = As[tx]\n", Conflict.YES),  # all of D may be alike
        ("As[tx ^ 1] = 1\nO[tx] = As[tx + 128]\n", Conflict.MAYBE),  # the pass knows no bits
        ("As[tx] = 1\nBs[63 - tx] = 2\n", Conflict.NO),
        ("As[tx + 60] = 1\nO[tx] = Bs[tx]\n", Conflict.YES),  # beyond its end, into the other
    ],
)
def test_two_elements(body: str, answer: Conflict) -> None:
    assert answers(kernel_of(body)) == [answer]


def test_conditions_decide_whether_one_index_is_one_thread() -> None:
    store, read = "As[tx % 32] = 1\n", "O[tx] = As[tx % 32]\n"
    assert answers(kernel_of(under("if D[tx] < 3", store + read))) == [Conflict.NO]
    assert answers(kernel_of(under("if D[tx] < 3", store) + read)) == [Conflict.YES]


def test_without_places_a_buffer_is_apart_while_indices_stay_inside() -> None:
    for index, answer in (("63 - tx", Conflict.NO), ("tx + 1", Conflict.MAYBE)):
        kernel = kernel_of(f"As[tx] = 1\nO[tx] = Bs[{index}]\n")
        assert answers(kernel, placed=False) == [answer]


def test_where_indices_alone_are_compared_those_of_two_buffers_are_open() -> None:
    kernel = kernel_of("As[tx] = 1\nBs[tx] = 2\n")
    assert answers(kernel) == [Conflict.NO]
    assert answers(kernel, compares_bytes=False) == [Conflict.MAYBE]


@pytest.mark.parametrize("axis", ["", 'ty = T.launch_thread("threadIdx.y", 1)\n'])
def test_in_a_branch_the_index_has_the_range_of_its_threads(axis: str) -> None:
    """Of one thread along all other axes, too, as in each of TileLang's kernels."""
    stores = under("if tx < 32", "As[tx] = 1\nBs[tx] = 1\n")
    kernel = kernel_of(axis + stores, elements=32)
    assert answers(kernel, placed=False) == [Conflict.NO]


@pytest.mark.parametrize(
    ("index", "answer"),
    [
        ("i * 64 + tx", Conflict.NO),
        ("i % 2 * 64 + tx", Conflict.NO),
        ("tx", Conflict.NO),
        ("i // 2 * 64 + tx", Conflict.MAYBE),
        ("c[0] + i // 2 * 2", Conflict.MAYBE),
        ("i // 2 * 128 + i % 2 * 64 + tx", Conflict.NO),  # as each round shows
        ("i // 2 * 128 + (tx + i) % 2 * 64 + tx // 2", Conflict.NO),
        # to other elements in each round, but it takes two remainders of more than that to show it
        ("(tx // 2 + i // 2) % 2 * 128 + (tx + i) % 2 * 64 + tx // 2", Conflict.MAYBE),
    ],
)
def test_stores_of_one_thread_in_the_next_round(index: str, answer: Conflict) -> None:
    kernel = kernel_of(under("for i in range(4)", f"As[{index}] = tx\n"), elements=512)
    assert answers(kernel, in_next_round=True)[0] is answer


@pytest.mark.parametrize(
    ("read", "answer"),
    [("k % 2 * 64 + 63", Conflict.NO), ("k % 3 * 64 + 63", Conflict.MAYBE)],
)
def test_a_read_of_another_stage_in_the_next_round(read: str, answer: Conflict) -> None:
    body = f"O[tx] = As[{read}]\n" + under("if tx < 63", "As[k % 2 * 64 + tx] = 1\n")
    kernel = kernel_of(under("for k in range(D[0])", body), elements=192)
    assert answers(kernel, in_next_round=True)[1] is answer
