"""Which statements the byte trace must execute."""

from __future__ import annotations

import pytest

from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Allocate, Declare, For, walk_statements
from smemreuse.ir.labels import label
from tests.checker.small import (
    COPY_A,
    DESCRIBE_A,
    DESCRIPTORS,
    SYNC,
    WGMMA_A,
    kernel_of,
    relevance_of,
    statement,
    tma_load,
    under,
)


def relevant(body: str, *names: str, declared: str = "") -> list[str]:
    """The labels of the statements of a body that matter, scopes included."""
    kernel = kernel_of(body, declared=declared)
    program_slice = relevance_of(kernel, *names)
    inside = next(i for i, one in enumerate(walk_statements(kernel.body)) if _is_tx(label(one)))
    return [
        label(one)
        for one in list(walk_statements(kernel.body))[inside + 1 :]
        if program_slice(one) and not isinstance(one, (Allocate, Declare))
    ]


def _is_tx(text: str) -> bool:
    return "threadIdx.x" in text


def test_what_touches_a_buffer_that_shares_bytes_matters() -> None:
    assert relevant("As[tx] = 1\nBs[tx] = 2\nO[tx] = As[tx]\n", "As") == [
        "As[tx] = 1",
        "O[tx] = As[tx]",
    ]


def test_a_scope_matters_with_what_is_in_it() -> None:
    body = under("for k in range(4)", "As[tx] = k\nO[tx] = k\n")
    body += under("if tx < 3", "O[tx] = 1\n")
    assert relevant(body) == ["for k in serial(4)", "As[tx] = k"]


@pytest.mark.parametrize(
    "operation",
    [
        'T.tvm_storage_sync("shared")',
        "T.ptx_commit_group()",
        "T.ptx_wait_group(0)",
        "T.ptx_arrive_barrier(full[0])",
        "T.mbarrier_wait_parity(full[0], 0)",
        "T.thread_return()",
    ],
)
def test_what_orders_accesses_matters(operation: str) -> None:
    assert len(relevant(f"{operation}\nO[tx] = 1\n")) == 1


def test_a_local_matters_that_decides_where_something_is() -> None:
    body = "c[0] = 1\nc[1] = 2\nAs[tx + c[0]] = 1\n"
    # Elements of one local are not told apart here.
    assert relevant(body) == ["c[0] = 1", "c[1] = 2", "As[tx + c[0]] = 1"]


def test_a_local_matters_that_decides_another_one_that_does() -> None:
    declared = "\n".join(
        f'{name} = T.alloc_buffer((1,), "int32", scope="local.var")' for name in ("d", "e", "f")
    )
    body = "f[0] = 3\ne[0] = 1\nd[0] = e[0]\n"
    body += "v: T.int32 = d[0] + 1\n" + under("if v < 2", "As[tx] = 1\n")
    assert relevant(body, declared=declared) == [
        "e[0] = 1",
        "d[0] = e[0]",
        "if v < 2",
        "As[tx] = 1",
    ]


def test_a_local_that_is_only_stored_elsewhere_does_not_matter() -> None:
    assert relevant("c[0] = 1\nO[tx] = c[0]\nAs[tx] = c[0]\n") == ["As[tx] = c[0]"]


@pytest.mark.parametrize(
    ("body", "deciding"),
    [
        ("As[tx] = 1\n", ["tx * 4"]),
        (under("if tx < 3", "As[tx] = 1\n"), ["tx < 3"]),
        (under("for k in range(5)", "As[tx] = 1\n"), ["0", "5", "1"]),
        (under("while c[0] < 3", "As[tx] = 1\n"), ["c[0] < 3"]),
        ("T.ptx_wait_group(c[0])\n", ["c[0]"]),
        ("T.mbarrier_wait_parity(full[c[0]], c[1])\n", ["c[0]", "c[1]"]),
        ('T.tvm_storage_sync("shared", 1, c[2])\n', ["c[2]", "1"]),
    ],
)
def test_the_expressions_that_decide(body: str, deciding: list[str]) -> None:
    kernel = kernel_of(body)
    program_slice = relevance_of(kernel)
    heads = ("As[", "if ", "for ", "while ", "ptx_", "mbarrier_", "tvm_")
    first = next(one for one in walk_statements(kernel.body) if label(one).startswith(heads))
    assert [format_expr(one) for one in program_slice.deciding(first)] == deciding


def test_what_does_not_matter_decides_nothing() -> None:
    kernel = kernel_of(under("if tx < 3", "O[tx] = 1\n") + "As[tx] = 1\n")
    program_slice = relevance_of(kernel)
    assert [*program_slice.deciding(statement(kernel, "if tx"))] == []
    assert not program_slice.block((statement(kernel, "if tx"),))
    assert program_slice.block((statement(kernel, "if tx"), statement(kernel, "As[tx]")))


def test_a_load_tells_its_bytes_even_where_its_buffer_shares_none() -> None:
    kernel = kernel_of(tma_load("Bs", 16))
    program_slice = relevance_of(kernel, "As")
    assert [*program_slice.load_bytes.values()] == [64]
    assert program_slice.accesses == {}


def test_a_branch_waits_that_waits_for_a_phase() -> None:
    body = under("if tx < 32", "T.mbarrier_wait_parity(full[0], 0)\n")
    body += under("if tx < 31", "T.ptx_arrive_barrier(full[0])\n")
    kernel = kernel_of(body)
    program_slice = relevance_of(kernel)
    found = [
        program_slice.waits(statement(kernel, "if tx < 32")),
        program_slice.waits(statement(kernel, "if tx < 31")),
    ]
    assert found == [True, False]


@pytest.mark.parametrize(
    ("body", "synchronizes"),
    [
        ("As[tx] = k\n", False),
        (COPY_A, False),  # no order depends on it until it is committed
        (SYNC, True),
        ("T.ptx_commit_group()\n", True),
        (DESCRIBE_A, True),
        (WGMMA_A, True),
        (tma_load("As"), True),
        (under("while D[0] < 3", "O[tx] = 1\n"), True),
        (under("if tx < 3", SYNC), True),
    ],
)
def test_whether_a_loop_needs_its_iterations_one_by_one(body: str, synchronizes: bool) -> None:
    kernel = kernel_of(under("for k in range(4)", body), declared=DESCRIPTORS)
    loop = statement(kernel, "for k")
    assert isinstance(loop, For)
    assert relevance_of(kernel).synchronizes(loop.body) is synchronizes


def test_what_a_kernel_writes_and_whose_address_it_takes() -> None:
    kernel = kernel_of(
        "O[tx] = D[tx]\nc[0] = 1\nT.call_extern('handle', 'f', T.address_of(c[0]))\n"
    )
    program_slice = relevance_of(kernel)
    names = {one.name for one in program_slice.written}
    assert names == {"Y"}  # the handle that O shows
    assert "c" in {one.name for one in program_slice.escaped}


def test_the_kinds_of_accesses_in_a_block() -> None:
    kernel = kernel_of("As[tx] = Bs[tx]\nO[tx] = As[tx]\n")
    found = {(one.name, how) for one, how in relevance_of(kernel).kinds(kernel.body)}
    assert found == {("As", "write"), ("As", "read"), ("Bs", "read")}
