"""The README's Python code for Apache TVM, as it stands."""

from __future__ import annotations

from typing import Any

import pytest
import tvm

from fixtures.tvm import FIXTURES
from fixtures.tvm.lowering import TARGET
from tests.test_readme import python_of

pytestmark = pytest.mark.tvm


def test_it_runs() -> None:
    fixture = FIXTURES["batched_gemm"]
    names: dict[str, Any] = {
        "tvm": tvm,
        "mod": fixture.make(**fixture.configs["small"]),
        "target": tvm.target.Target(TARGET),
    }
    (code,) = python_of("In Apache TVM")
    exec(code, names)
    assert [applied.plan.arena_bytes for applied in names["session"].plans] == [16_384]
    assert names["library"].mod.imports
