"""Launches the variants of one kernel: against a reference, bit for bit, and timed in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripts.benchmarks.variants import DEFAULT, Variant
from scripts.harness import FLUSH, UNMERGED, event_times, fresh_inputs, launch, same_bits

DEVICE = "cuda"
CHECKS = 2
LAUNCHES_PER_CHECK = 3
ROUNDS = 20
LAUNCHES_PER_ROUND = 5
HEAD_START = 500_000
"""Cycles that the device sleeps first, so that launches wait for it and not it for them."""


def check(
    benchmark: Any,
    config: Mapping[str, int],
    variants: Sequence[Variant],
    doing: Callable[[str], None],
) -> None:
    """Launches every variant several times on the same inputs, twice over on fresh ones.

    Says what it is `doing` before each launch: one that hangs is known by that.
    """
    for _ in range(CHECKS):
        doing("making inputs and a reference")
        args = fresh_inputs(benchmark, config, DEVICE)
        expected = benchmark.reference(args, config)
        first: dict[str, dict[int, Any]] = {}
        for variant in [*variants] * LAUNCHES_PER_CHECK:
            doing(f"launching {variant.merge}")
            outputs = launch(variant, args, expected)
            if outputs is None:
                continue
            variant.judge(outputs, expected, benchmark.tolerance)
            variant.note_bits(outputs, first.setdefault(variant.merge, outputs))
        compare(variants, first)


def compare(variants: Sequence[Variant], first: Mapping[str, Mapping[int, Any]]) -> None:
    """Bit for bit with the kernel whose buffers lie side by side, or TileLang's default."""
    base = first.get(UNMERGED, first.get(DEFAULT))
    unsteady = {index for one in variants for index, count in one.differing.items() if count}
    for variant in variants:
        own = first.get(variant.merge)
        if own is None or base is None or own is base:
            continue
        steady = [index for index in own if index not in unsteady]
        if steady:
            variant.compare(all(same_bits(own[index], base[index]) for index in steady))


def measure(benchmark: Any, config: Mapping[str, int], variants: Sequence[Variant]) -> None:
    """Times the variants in turns, from a cold L2 cache; each round gives each its median."""
    import torch

    if not variants:
        return
    args = fresh_inputs(benchmark, config, DEVICE)
    flush = torch.empty(FLUSH, dtype=torch.uint8, device=DEVICE)
    for turn in range(ROUNDS + 1):
        at = turn % len(variants)  # who goes first changes, too
        for variant in [*variants[at:], *variants[:at]]:
            times = event_times(variant.kernel, args, LAUNCHES_PER_ROUND, flush, HEAD_START)
            if turn:  # the first warms up
                variant.rounds_ms.append(statistics.median(times))
