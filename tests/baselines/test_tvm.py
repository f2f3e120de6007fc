"""Policy `outer` with packer `tvm` against Apache TVM's merge pass: offsets, arenas and failures.

Legal modules on which the pass fails are part of what is compared: one where a buffer is loaded or
named beside its allocation, outside of any store, call or scope; and one where a buffer is reached
by `address_of` alone. Buffers of up to 32 bits, on which it fails too, are in `test_tvm_faults.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.baselines.apache import emitted, layouts, merged, planned, readers
from tests.baselines.modules import Dialect, Launch, modules

pytestmark = pytest.mark.tvm

# A buffer of one element is printed as a scalar, without its scope: the text has no such buffer.
DIALECT = Dialect(alignments=(None, None, None, 128, 1024), least_bytes=5, least_extent=2)
SCOPES = ("shared.dyn", "shared")


def compare(module: tuple[Launch, ...]) -> str:
    """Compares one module, read by every frontend; returns what became of it."""
    mod = emitted(module)
    read = [reader(mod) for reader in readers()]
    ours = [[list(planned(kernels, scope)) for scope in SCOPES] for kernels in read]
    fails = any(plan is not None and plan.fails for plans in ours[0] for plan in plans)
    if fails:
        with pytest.raises(Exception, match="Check failed"):
            merged(mod)
        return "failed"
    after = merged(mod)
    stock = [layouts(after, scope) for scope in SCOPES]
    for plans in ours:
        for expected, found in zip(stock, plans, strict=True):
            compare_launches(expected, found)
    return "merged"


def compare_launches(expected: list[Any], found: list[Any]) -> None:
    for stock, plan in zip(expected, found, strict=True):
        assert (stock is None) == (plan is None)
        if stock is not None:
            seen = {name: plan.offsets[name] for name in stock.offsets}
            assert (plan.arena, seen) == (stock.arena, stock.offsets), plan.provenance


def test_offsets_equal_the_stock_pass() -> None:
    outcomes: Counter[str] = Counter()

    @given(module=modules(DIALECT, SCOPES))
    @settings(
        max_examples=900,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    def check(module: tuple[Launch, ...]) -> None:
        outcomes[compare(module)] += 1

    check()
    assert outcomes["merged"] >= 500, outcomes
    assert outcomes["failed"] > 0, "the failures are compared too"
