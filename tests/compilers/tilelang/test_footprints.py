"""What the pytest fixture measures of TileLang's kernels: nothing is compiled."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
from tilelang import tvm

from smemreuse.api.footprints import measured
from smemreuse.errors import BackendError, InputError
from smemreuse.pytest_plugin import _footprint
from tests.compilers.tilelang.lowering import lower
from tests.compilers.tilelang.test_footprint import TARGET, phases

pytestmark = pytest.mark.tilelang


@tilelang.jit(target=TARGET)
def jitted(rows: int = 128, columns: int = 64) -> Any:
    return phases(rows, columns)


def test_a_prim_func() -> None:
    assert _footprint(phases(), at_most="32 KiB", arch="sm_80") == 32_768
    assert _footprint(phases(), at_most="48 KiB", arch="sm_80", stock=True) == 49_152


def test_a_jit_function_with_its_arguments() -> None:
    assert _footprint(jitted, at_most="32 KiB") == 32_768
    small = _footprint(jitted, 64, columns=32, at_most="32 KiB")
    assert small == 12_288  # for speed: sharing more gains no block
    assert _footprint(phases, 64, at_most="32 KiB", arch="sm_90a") == 24_576


def test_what_takes_too_much_is_explained() -> None:
    with pytest.raises(AssertionError) as caught:
        _footprint(phases(), at_most=20_000, arch="sm_80")
    told = str(caught.value)
    assert told.startswith("kernel_kernel takes 32,768 bytes of shared memory a block, 12,768 more")
    assert "  peak: all 32,768 bytes are live at `" in told
    assert "    Y  32,768 from `" in told
    assert "blocks per SM of sm_80: " in told


def test_a_kernel_that_was_read() -> None:
    with tvm.target.Target(TARGET):
        (one,) = measured(phases())
    assert measured(one.kernel)[0].bytes == 32_768


def test_a_module_as_the_merge_receives_it() -> None:
    found = measured(lower(phases(), "sm_80").before)
    assert [(one.kernel.name, one.bytes) for one in found] == [("kernel_kernel", 32_768)]


def test_what_makes_no_kernel() -> None:
    with pytest.raises(InputError, match="7 is no kernel; give a dump's path"):
        measured(7, arch="sm_80")
    with pytest.raises(BackendError, match="made 7, not a PrimFunc"):
        measured(lambda: 7, arch="sm_80")
