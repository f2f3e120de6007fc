"""Random kernels: what runs wrong must not be called sound, and our own plans must run right.

A few hundred kernels; `scripts/random_kernels.py` runs tens of thousands.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from smemreuse.ir.kernel import Kernel
from tests.soundness.compare import Comparison, inputs_from
from tests.soundness.interpreter import IllDefined
from tests.soundness.kernels import format_kernel, grow_kernel, kernels

SEEDED = 240
DRAWN = 160


class _Named:
    """A kernel that hypothesis prints as text."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def __repr__(self) -> str:
        return f"\n{format_kernel(self.kernel)}\n"


def test_what_is_called_sound_runs_alike() -> None:
    stats: Counter[str] = Counter()
    for seed in range(SEEDED):
        random = Random(seed)
        kernel = grow_kernel(random.randint)
        try:
            found = Comparison(kernel, inputs_from(seed), random.randint, arbitrary=6)
        except IllDefined:
            continue
        found.check(stats)
    # The test has to have something to find.
    assert stats["well defined"] > SEEDED // 3
    assert stats["dataflow shares"] > SEEDED // 20
    assert stats["arbitrary unsound, differs"] > SEEDED // 4


@settings(
    max_examples=DRAWN,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(kernels().map(_Named), st.integers(0, 99))
def test_what_is_called_sound_runs_alike_in_the_smallest_kernels(named: _Named, seed: int) -> None:
    try:
        found = Comparison(named.kernel, inputs_from(seed), Random(seed).randint, arbitrary=6)
    except IllDefined:
        assume(False)
    found.check(Counter())
