"""The fixture kernels that TileLang lowers in this folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.compilers.tilelang.programs import KERNELS


@dataclass(frozen=True)
class Case:
    """A fixture kernel in one configuration, and how it is lowered."""

    fixture: str
    config: str
    variant: str

    def __str__(self) -> str:
        return f"{self.fixture}-{self.config}-{self.variant}"

    @property
    def func(self) -> Any:
        return _make(self.fixture, self.config)

    @property
    def arch(self) -> str:
        return self.variant.split("-")[0]

    @property
    def pass_configs(self) -> Mapping[str, object]:
        if not self.variant.endswith("-plain"):
            return {}
        return {"tl.disable_warp_specialized": True, "tl.disable_tma_lower": True}


@cache
def _make(fixture: str, config: str) -> Any:
    from fixtures.kernels import FIXTURES

    return FIXTURES[fixture].make(**FIXTURES[fixture].configs[config])


CASES = [
    Case(fixture, "small", variant)
    for fixture in ("gemm", "batched_gemm", "stream_k")
    for variant in ("sm_80", "sm_90a", "sm_90a-plain")
]


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    param = request.param
    assert isinstance(param, Case)
    return param


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with a module `kernels` whose function `lower` lowers a fixture."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path
