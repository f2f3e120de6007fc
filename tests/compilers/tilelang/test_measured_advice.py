"""Advice held against what an H200 measured: one shape of each family, and of its configurations
every other one; all by score_advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.spaces.scoring import advice_on, measured, score

pytestmark = pytest.mark.tilelang

TRUTHS = {(one.family, one.shape): replace(one, configs=one.configs[::2]) for one in measured()}
SHAPES = (
    ("gemm", "large K"),
    ("attention", "1k, 128"),
    ("flash_backward", "1k, 128"),
    ("decode", "8k, 8 sequences"),
    ("dequantize", "decode 64"),
    ("chunk_scan", "64 heads, 128"),
    ("persistent_gemm", "square"),
)


@pytest.mark.parametrize(("family", "shape"), SHAPES)
def test_what_fits_and_which_are_best(family: str, shape: str) -> None:
    truth = TRUTHS[family, shape]
    found = score(truth, advice_on(truth, jobs=1))
    assert found.ran >= 7
    assert not found.passed
    assert not found.dropped
    assert found.top[5] >= 0.93
    assert found.correlation > 0.5
