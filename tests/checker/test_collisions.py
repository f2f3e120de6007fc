"""Which collisions a later pass surely sees."""

from __future__ import annotations

import pytest

from smemreuse.checker.foreseen import seen_of
from smemreuse.checker.work import Work
from smemreuse.ir.kernel import For, Kernel, Stmt, Store, walk_statements
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import kernel_of, under

POINTER = (
    'T.evaluate(T.ptx_ldmatrix(False, 1, T.tvm_access_ptr(T.type_annotation("int32"), '
    "{}.data, {}, 4, {}), c.data, 0))\n"
)


def collides(kernel: Kernel, one: Stmt, two: Stmt, loop: For | None = None) -> bool:
    seen = seen_of(kernel, KernelAccesses.of(kernel.body).pointers)
    offsets = dict.fromkeys(kernel.allocations("shared.dyn"), 0)
    return seen.collisions.surely(one, two, loop, offsets, Work())


def stores(kernel: Kernel, name: str) -> list[Store]:
    found = (one for one in walk_statements(kernel.body) if isinstance(one, Store))
    return [one for one in found if one.buffer.name == name]


def loop_of(kernel: Kernel) -> For:
    return next(one for one in walk_statements(kernel.body) if isinstance(one, For))


@pytest.mark.parametrize(
    ("read", "written", "found"),
    [
        ("k % 2 * 32", "(k + 1) % 2 * 32", True),  # which is first depends on the round
        ("k % 2 * 8", "32 + (k + 1) % 2 * 8", False),
        ("tx % 4", "8 + tx % 4", False),
        ("tx % 4", "3", True),
    ],
)
def test_two_pointers_are_apart_only_if_they_are_in_one_order(
    read: str, written: str, found: bool
) -> None:
    body = POINTER.format("As", read, 1) + POINTER.format("As", written, 2)
    kernel = kernel_of(under("for k in range(4)", body))
    first, second = (
        one
        for one in walk_statements(kernel.body)
        if not isinstance(one, Store) and "ptx_ldmatrix" in str(getattr(one, "value", ""))
    )
    assert collides(kernel, first, second) is found


@pytest.mark.parametrize(
    ("index", "moves"),
    [
        ("i * 64 + tx", True),
        ("i // 2 * 128 + i % 2 * 64 + tx", True),  # as written it might go back
        ("i % 2 * 64 + tx", True),
        ("i // 2 * 64 + tx", False),
        ("c[0] + i // 2 * 2", False),
    ],
)
def test_a_thread_goes_to_other_elements_in_the_next_round(index: str, moves: bool) -> None:
    kernel = kernel_of(under("for i in range(4)", f"As[{index}] = tx\n"), elements=512)
    (store,) = stores(kernel, "As")
    seen = seen_of(kernel, KernelAccesses.of(kernel.body).pointers)
    assert seen.collisions.moves_on(store, loop_of(kernel)) is moves
