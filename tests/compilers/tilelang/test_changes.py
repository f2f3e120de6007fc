"""What `explain` says that a change would bring, held against kernels that have the change."""

from __future__ import annotations

import pytest

from fixtures.kernels import FIXTURES
from smemreuse.api.footprints import Measured, measured
from smemreuse.explainer.difference import difference_of
from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.layouts import layout_of
from smemreuse.results.headroom import ChangeKind

pytestmark = pytest.mark.tilelang

LONGER = {"flash_attention": {"length": 1_024}, "gemm": {"M": 512, "N": 512, "K": 1_024}}


def pipelined(name: str, arch: str, stages: int) -> Measured:
    """A fixture with loops long enough that each stage is used more than once."""
    fixture = FIXTURES[name]
    config = {**fixture.configs["small"], **LONGER[name], "num_stages": stages}
    (found,) = measured(fixture.make(**config), arch=arch)
    return found


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", sorted(LONGER))
def test_one_stage_less_is_what_it_is_said_to_be(name: str, arch: str) -> None:
    more, fewer = (pipelined(name, arch, stages) for stages in (3, 2))
    found = headroom_of(more.kernel, "shared.dyn", more.arch)
    (change,) = (one for one in found.changes if one.kind is ChangeKind.STAGES)
    assert " had 2 stages instead of 3" in change.condition
    assert change.arena_bytes == fewer.plans[0].arena_bytes < found.arena_bytes


def test_one_stage_more_is_named_as_the_cause() -> None:
    old, new = (
        layout_of("kernel", one.kernel, one.plans[0], one.arch)
        for one in (pipelined("gemm", "sm_90a", stages) for stages in (2, 3))
    )
    found = difference_of(old, new)
    assert sum(one.bytes for one in found.causes) == found.bytes == 16_384
    for cause, name in zip(found.causes, ("As", "Bs"), strict=True):
        assert cause.text.startswith(f"{name} grew: 16,384 to 24,576 bytes (a pipeline's stages: ")
        assert cause.text.endswith("2 to 3)")
