"""What the pytest fixture measures of Apache TVM's functions, as the merge receives them."""

from __future__ import annotations

import pytest

from fixtures.tvm import FIXTURES
from smemreuse.pytest_plugin import _footprint

pytestmark = pytest.mark.tvm


def test_a_module() -> None:
    from fixtures.tvm.lowering import capture

    fixture = FIXTURES["batched_gemm"]
    before, _ = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
    ours = _footprint(before, at_most="64 KiB", arch="sm_90")
    assert ours < _footprint(before, at_most="64 KiB", arch="sm_90", stock=True)
    with pytest.raises(AssertionError, match=r"takes [\d,]+ bytes of shared memory a block"):
        _footprint(before, at_most=ours - 1, arch="sm_90")
