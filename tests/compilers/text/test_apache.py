"""What Apache TVM prints before its merge, and TileLang does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse.compilers.text.reader import read_dump
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
