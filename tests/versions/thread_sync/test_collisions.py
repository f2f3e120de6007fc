"""Which collisions a later pass surely sees."""

from __future__ import annotations

import pytest

from smemreuse.checker.budget import Work
from smemreuse.checker.predicted.prediction import view_of
from smemreuse.ir.kernel import For, Kernel, Stmt, Store, walk_statements
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import kernel_of, under

POINTER = (
    'T.evaluate(T.ptx_ldmatrix(False, 1, T.tvm_access_ptr(T.type_annotation("int32"), '
    "{}.data, {}, 4, {}), c.data, 0))\n"
)


def collides(kernel: Kernel, one: Stmt, two: Stmt, loop: For | None = None) -> bool:
    view = view_of(kernel, KernelAccesses.of(kernel.body).pointers)
    offsets = dict.fromkeys(kernel.allocations("shared.dyn"), 0)
    return view.collisions.surely(one, two, loop, offsets, Work().do)


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


def _touching(kernel: Kernel, name: str) -> list[Stmt]:
    """The statements that access a buffer, in their order."""
    view = view_of(kernel, KernelAccesses.of(kernel.body).pointers)
    return [
        stmt
        for stmt, entries in view.collisions.entries.items()
        if any(entry.buffer.name == name for entry in entries)
    ]


@pytest.mark.parametrize("scope", ["shared.dyn", "shared"])
def test_in_the_dynamic_scope_a_pointer_collides_with_elements_of_any_buffer(scope: str) -> None:
    """The pass takes all buffers there for one, wherever they lie."""
    declared = "".join(
        f'{name} = T.alloc_buffer((64,), "int32", scope="{scope}")\n' for name in ("Cs", "Ds")
    )
    kernel = kernel_of(POINTER.format("Cs", "0", 1) + "Ds[tx] = 1\nCs[tx] = 1\n", declared=declared)
    (first, own), (other,) = _touching(kernel, "Cs"), _touching(kernel, "Ds")
    view = view_of(kernel, KernelAccesses.of(kernel.body).pointers)
    assert view.collisions.surely(first, own, None, {}, Work().do)
    assert view.collisions.surely(first, other, None, {}, Work().do) is (scope == "shared.dyn")
    assert not view.collisions.surely(other, own, None, {}, Work().do)


@pytest.mark.parametrize(
    ("condition", "found"),
    [("bx == 0", True), ("bx == 2", True), ("5 <= bx", True), ("8 <= bx", False)],
)
def test_in_one_of_the_blocks_is_enough(condition: str, found: bool) -> None:
    body = under(f"if {condition}", "As[tx] = 1\nO[tx] = As[63 - tx]\n")
    kernel = kernel_of(body, blocks=8)
    first, second = _touching(kernel, "As")
    assert collides(kernel, first, second) is found


def test_both_accesses_are_in_one_block() -> None:
    arms = under("if bx % 2 == 0", "As[tx] = 1\n") + under(
        "if bx % 2 == 1", "O[tx] = As[63 - tx]\n"
    )
    kernel = kernel_of(arms, blocks=8)
    first, second = _touching(kernel, "As")
    assert not collides(kernel, first, second)


@pytest.mark.parametrize(("condition", "found"), [("bx == 0", False), ("bx == 1", True)])
def test_a_loop_that_goes_round_once_carries_nothing(condition: str, found: bool) -> None:
    arm = under(f"if {condition}", "O[tx] = As[63 - tx]\nAs[tx] = 1\n")
    kernel = kernel_of(under("for k in range(bx + 1)", arm), blocks=8)
    read, written = _touching(kernel, "As")
    assert collides(kernel, written, read, loop_of(kernel)) is found


@pytest.mark.parametrize(("written", "found"), [("(k + 2) % 3 * 32", True), ("k * 32 + 64", False)])
def test_pointers_are_compared_in_all_rounds_of_a_loop(written: str, found: bool) -> None:
    """The last one, too: the pass does not go on to the next round with them."""
    body = POINTER.format("As", written, 2) + POINTER.format("As", "k * 32", 1)
    kernel = kernel_of(under("for k in range(2)", body), elements=128)
    first, last = _touching(kernel, "As")
    assert collides(kernel, last, first, loop_of(kernel)) is found


def test_a_loop_carries_only_what_is_in_it() -> None:
    body = POINTER.format("Bs", "0", 1) + under("for k in range(3)", "As[tx] = 1\n")
    kernel = kernel_of(body)
    (outside,), (inside,) = _touching(kernel, "Bs"), _touching(kernel, "As")
    assert collides(kernel, outside, inside)
    assert not collides(kernel, outside, inside, loop_of(kernel))


@pytest.mark.parametrize(
    ("condition", "found"), [("4 <= D[0]", False), ("4 <= D[1]", False), ("tx < 64", True)]
)
def test_conditions_within_expressions_may_exclude_each_other(condition: str, found: bool) -> None:
    """The pass proves that two accesses under contrary conditions do not collide."""
    guarded = "T.evaluate(T.if_then_else({}, {}, 0))\n"
    call = POINTER.removeprefix("T.evaluate(").removesuffix(")\n")
    body = guarded.format("D[0] < 4", call.format("As", "0", 1))
    body += guarded.format(condition, call.format("As", "0", 2))
    kernel = kernel_of(body)
    first, second = _touching(kernel, "As")
    assert collides(kernel, first, second) is found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("D[0] <= tx", True),  # where D[0] is 0, all threads write
        ("D[0] + tx < D[1]", True),  # where data rise, as the ends of sequences do
        ("D[0] + tx < D[0]", False),
        ("tx < D[0] - 1", True),
        ("D[0] * 100 + tx < bx", False),  # in no block is it 1, 2 or more
        ("c[0] <= tx and tx < D[0]", True),  # from where one says to where another does
        ("D[0] <= tx and tx < c[0]", True),
        ("tx + D[0] - c[0] == 1", True),
        ("D[0] + tx < c[0] and c[0] < D[0]", False),
        ("D[0] + tx + 200 < few[0]", False),  # of type int8
    ],
)
def test_what_threads_differ_in_for_data_is_tried_for_some_data(
    condition: str, found: bool
) -> None:
    """The pass has no proof where there are data for which threads collide."""
    body = under(f"if {condition}", "As[tx] = 1\n") + "O[tx] = As[63 - tx]\n"
    kernel = kernel_of(body, declared='few = T.alloc_buffer((4,), "int8", scope="local.var")')
    written, read = _touching(kernel, "As")
    assert collides(kernel, written, read) is found


def test_contrary_conditions_hold_for_no_data() -> None:
    body = under("if D[0] <= tx", "As[tx] = 1\n") + under("if tx < D[0]", "O[tx] = As[tx]\n")
    kernel = kernel_of(body)
    written, read = _touching(kernel, "As")
    assert not collides(kernel, written, read)


@pytest.mark.parametrize(("count", "found"), [("D[0]", True), ("1", False)])
def test_a_loop_may_begin_at_data(count: str, found: bool) -> None:
    body = "O[tx] = As[63 - tx]\nAs[tx] = 1\n"
    kernel = kernel_of(under(f"for k in range(D[1], D[1] + {count})", body))
    read, written = _touching(kernel, "As")
    assert collides(kernel, written, read, loop_of(kernel)) is found


@pytest.mark.parametrize(
    ("begin", "found"), [(-252, True), (-256, False), (252, True), (256, False)]
)
def test_accesses_whose_ranges_are_apart_are_not_compared_element_by_element(
    begin: int, found: bool
) -> None:
    """The last thread's element of the one is, or is just not, the first one's of the other."""
    declared = "".join(
        f'{name} = T.alloc_buffer((64,), "int32", scope="shared.dyn")\n' for name in ("Cs", "Ds")
    )
    kernel = kernel_of("Cs[tx % 64] = 1\nc[0] = Ds[tx % 64]\n", declared=declared)
    (one,), (two,) = _touching(kernel, "Cs"), _touching(kernel, "Ds")
    view = view_of(kernel, KernelAccesses.of(kernel.body).pointers)
    cs, ds = (next(b for b in kernel.allocations() if b.name == name) for name in ("Cs", "Ds"))
    offsets, work = {cs: 1024, ds: 1024 + begin}, Work()
    assert view.collisions.surely(one, two, None, offsets, work.do) is found
    assert (work.done > 0) is found
