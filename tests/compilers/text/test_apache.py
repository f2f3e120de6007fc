"""What Apache TVM prints before its merge, and TileLang does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Store, walk_statements
from tests.compilers.text.texts import kernel_of, launched
from tests.conftest import ROOT

DUMPS = sorted((ROOT / "fixtures" / "tvm_dumps").glob("*.tir"))


def test_the_short_spellings_of_allocations_have_their_scopes() -> None:
    body = 'X = T.alloc_shared((8,))\nY = T.alloc_local((4,), "float16")\nX[0] = Y[1]\n'
    kernel = kernel_of(launched(body))
    (shared,) = kernel.allocations("shared")
    assert (shared.name, shared.dtype, shared.size) == ("X", "float32", 32)
    (local,) = kernel.allocations("local")
    assert (local.name, local.dtype, local.size) == ("Y", "float16", 8)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_dumps_are_read(path: Path) -> None:
    kernels = read_dump(path).kernels
    scopes = ("shared", "shared.dyn")
    assert all(any(kernel.allocations(scope) for scope in scopes) for kernel in kernels)
    assert len(kernels) == path.read_text().count("blockIdx.x")


def test_a_buffer_that_an_attribute_names_before_its_allocation_is_that_allocation() -> None:
    """Behind the attribute's block too: what is accessed there is what was allocated in it."""
    body = """\
        X = T.Buffer((8,), "float16", scope="shared.dyn")
        with T.attr(X, "fragment_layout", "row_major"):
            T.attr(X, "fragment_shape", "16, 16, 16")
            X = T.alloc_buffer((8,), "float16", scope="shared.dyn")
        X[0] = As[0]
    """
    kernel = kernel_of(launched(body))
    (store,) = (stmt for stmt in walk_statements(kernel.body) if isinstance(stmt, Store))
    assert store.buffer is kernel.allocations("shared.dyn")[-1]
    assert store.buffer.name == "X"
