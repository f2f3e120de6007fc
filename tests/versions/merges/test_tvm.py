"""Policy `outer` with packer `tvm` against Apache TVM's merge pass: offsets, arenas and failures.

Legal modules on which the pass fails are part of what is compared: one where a buffer is loaded or
named beside its allocation, outside of any store, call or scope; and one where a buffer is reached
by `address_of` alone. Buffers of up to 32 bits, on which it fails too, are in `test_tvm_faults.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from smemreuse.ir.kernel import Kernel
from smemreuse.tvm import read_module
from tests.random_kernels.choices import Pick, run_seed
from tests.random_kernels.trees import COMPILED_DTYPES, Grammar, grow_module
from tests.soundness.kernels import format_kernel
from tests.versions.merges.apache import emitted, layouts, merged, planned, read_text

pytestmark = pytest.mark.tvm

SEEDS = 500
READ_AS_TEXT = 4
"""One module in so many is read from its text too."""

SCOPES = ("shared.dyn", "shared")
# A buffer of one element is printed as a scalar, without its scope: the text has no such buffer.
GRAMMAR = Grammar(
    dtypes=COMPILED_DTYPES,
    scopes=SCOPES,
    alignments=(None, None, None, 128, 1024),
    least_bytes=5,
    least_extent=2,
)


def compare(module: Sequence[Kernel], *, as_text: bool) -> str:
    """Compares one module, read by the frontends; returns what became of it."""
    mod = emitted(module)
    read = [read_module(mod), *([read_text(mod)] if as_text else [])]
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
    for seed in range(SEEDS):

        def check(pick: Pick, as_text: bool = seed % READ_AS_TEXT == 0) -> None:
            module = grow_module(pick, GRAMMAR)
            try:
                outcomes[compare(module, as_text=as_text)] += 1
            except AssertionError as error:
                raise AssertionError("\n".join(map(format_kernel, module))) from error

        run_seed(seed, check)
    assert outcomes["merged"] >= SEEDS // 2, outcomes
    assert outcomes["failed"] > 0, "the failures are compared too"
