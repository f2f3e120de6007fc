"""Our model of Apache TVM's merge against the pass itself, on every fixture."""

from __future__ import annotations

import pytest

from fixtures.tvm import FIXTURES
from smemreuse.ir.kernel import SHARED_SCOPES
from smemreuse.pipeline.planning import plan_kernel

pytestmark = pytest.mark.tvm

CASES = [(name, config) for name, fixture in FIXTURES.items() for config in fixture.configs]


@pytest.mark.parametrize(("name", "config"), CASES, ids=lambda part: str(part))
def test_offsets_and_arena_equal_the_stock_pass(name: str, config: str) -> None:
    from fixtures.tvm.lowering import capture, shared_bytes, stock_offsets
    from smemreuse.tvm import read_module

    fixture = FIXTURES[name]
    before, after = capture(fixture.make(**fixture.configs[config]), fixture.pass_configs)
    merges = {"shared.dyn", *(["shared"] if fixture.pass_configs else [])}
    compared = 0
    arenas = {scope: shared_bytes(after, scope) for scope in SHARED_SCOPES}
    placed = stock_offsets(before, after)
    for launch, kernel in enumerate(read_module(before)):
        for scope in merges & set(kernel.shared_scopes()):
            if len(kernel.allocations(scope)) < 2:
                continue  # nothing to merge
            plan = plan_kernel(kernel, scope, policy="outer", packer="tvm")
            ours = {buffer.name: offset for buffer, offset in plan.offsets.items()}
            assert ours == {name: placed[launch][name].start for name in ours}
            assert plan.arena_bytes == arenas[scope][launch]
            compared += 1
    assert compared
