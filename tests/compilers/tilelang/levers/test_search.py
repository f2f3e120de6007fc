"""What is known of levers without lowering: bounds that no lowering falls below."""

from __future__ import annotations

from typing import Any

import pytest
from tilelang import tvm

from smemreuse.compilers.tilelang.estimate import LoweringPlace, LoweringRequest
from smemreuse.compilers.tilelang.levers.comparison import FormComparison, Settings, pulled
from smemreuse.compilers.tilelang.levers.reload_settings import reload_settings
from smemreuse.compilers.tilelang.levers.rewrites import direct_stores, fewer_stages
from smemreuse.pipeline.options import checked_options
from smemreuse.targets.architectures import architecture
from tests.compilers.tilelang.levers.kernels import attention, gemm

pytestmark = pytest.mark.tilelang


def settings_of(func: Any) -> list[Settings]:
    """None, each by itself, and those that go furthest together."""
    choices = [*fewer_stages(func), *([one] for one in direct_stores(func))]
    alone = [one for each in choices for one in each] + reload_settings(func)
    return [(), *((one,) for one in alone), tuple(each[-1] for each in choices)]


@pytest.mark.parametrize(
    ("func", "arch"),
    [(gemm(3), "sm_90a"), (attention(), "sm_90a"), (gemm(2, through="float32"), "sm_80")],
)
def test_no_lowering_takes_less_than_the_bound(func: Any, arch: str) -> None:
    place = LoweringPlace(tvm.target.Target({"kind": "cuda", "arch": arch}), architecture(arch))
    comparison, options = FormComparison("main", func), checked_options("dataflow", "best", "bytes")
    for settings in settings_of(func):
        found = LoweringRequest(pulled(func, settings), place, options).footprint()
        least = comparison.least(settings)
        assert 0 < least <= min(found.bytes, comparison.estimated(settings))
