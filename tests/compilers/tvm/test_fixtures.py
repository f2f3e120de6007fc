"""The fixtures for Apache TVM: their dumps, what TVM's own merge makes of them, their code."""

from __future__ import annotations

import shutil
from functools import cache

import pytest

from fixtures.tvm import FIXTURES, Fixture
from fixtures.tvm.lowering import (
    capture,
    compile_cubin,
    compile_module,
    cuda_source,
    shared_bytes,
    stock_offsets,
)
from scripts.regenerate_fixtures import renew, tvm_dumps

pytestmark = pytest.mark.tvm

every_fixture = pytest.mark.parametrize("fixture", FIXTURES.values(), ids=lambda one: one.name)

H200_SHARED_BYTES = 227 * 1024


@cache
def places(name: str, config: str = "small") -> dict[str, range]:
    """The bytes that TVM's own pass gives each shared buffer of a fixture, all launches' in one."""
    fixture = FIXTURES[name]
    before, after = capture(fixture.make(**fixture.configs[config]), fixture.pass_configs)
    return {
        name: where for launch in stock_offsets(before, after) for name, where in launch.items()
    }


def overlap(one: range, two: range) -> bool:
    return one.start < two.stop and two.start < one.stop


def test_dumps_are_up_to_date() -> None:
    assert renew(tvm_dumps([]), check=True) == 0, "run scripts.regenerate_fixtures --tvm"


@every_fixture
def test_tvm_lets_share_what_must_not_and_keeps_apart_what_may(fixture: Fixture) -> None:
    where = places(fixture.name)
    assert all(overlap(where[one], where[two]) for one, two in fixture.wrong)
    assert not any(overlap(where[one], where[two]) for one, two in fixture.shareable)


def test_the_wide_gemm_fits_only_if_its_output_tile_takes_the_operands_bytes() -> None:
    fixture = FIXTURES["batched_gemm"]
    _, after = capture(fixture.make(**fixture.configs["wide"]), fixture.pass_configs)
    assert shared_bytes(after, "shared.dyn") == [253_952]
    where = places("batched_gemm", "wide")
    assert len(where["As"]) + len(where["Bs"]) < len(where["Cs"]) < H200_SHARED_BYTES < 253_952


@every_fixture
def test_nvcc_takes_what_tvm_writes(fixture: Fixture) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    mod = fixture.make(**fixture.configs["small"])
    cubin = compile_cubin(cuda_source(compile_module(mod, fixture.pass_configs)))
    assert cubin.startswith(b"\x7fELF")
