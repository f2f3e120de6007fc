"""Merged kernels on a CUDA device; skipped where there is none."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang
import torch

import smemreuse.tilelang
from fixtures.kernels import FIXTURES

pytestmark = [pytest.mark.tilelang, pytest.mark.gpu]

TARGET = {"kind": "cuda", "arch": "sm_90a"}


@pytest.mark.parametrize("name", list(FIXTURES))
def test_a_merged_kernel_computes_what_it_should(name: str) -> None:
    fixture: Any = FIXTURES[name]
    config = fixture.configs["small"]
    plain = fixture.variants == ("sm_80",)
    options = {"tl.disable_warp_specialized": plain, "tl.disable_tma_lower": plain}
    with smemreuse.tilelang.merge() as session:
        kernel = tilelang.compile(fixture.make(**config), target=TARGET, pass_configs=options)
    assert all(applied.verdict.sound for applied in session.plans)
    generator = torch.Generator(device="cuda").manual_seed(0)
    args = fixture.inputs(config, generator, torch.device("cuda"))
    expected = fixture.reference(args, config)
    kernel(*args)
    torch.cuda.synchronize()
    for index, reference in expected.items():
        error = (args[index].double() - reference).norm() / reference.norm()
        assert error < fixture.tolerance  # never true of NaN
