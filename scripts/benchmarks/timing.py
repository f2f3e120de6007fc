"""Launches the variants of one kernel: against a reference, bit for bit, and timed in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripts.benchmarks.variants import DEFAULT, Variant
from scripts.run_on_gpu import UNMERGED, launch, same_bits, worse

DEVICE = "cuda"
CHECKS = 2
LAUNCHES_PER_CHECK = 3
ROUNDS = 20
LAUNCHES_PER_ROUND = 5
FLUSH = 256 * 1024 * 1024
"""Bytes written before each launch, several times what the L2 cache holds."""
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
    import torch

    device = torch.device(DEVICE)
    for seed in range(CHECKS):
        generator = torch.Generator(device=DEVICE).manual_seed(time.time_ns() % 2**31 + seed)
        doing("making inputs and a reference")
        args = benchmark.inputs(config, generator, device)
        expected = benchmark.reference(args, config)
        first: dict[str, dict[int, Any]] = {}
        for variant in [*variants] * LAUNCHES_PER_CHECK:
            doing(f"launching {variant.merge}")
            outputs = launch(variant, args, expected)
            if outputs is None:
                continue
            judge(variant, outputs, expected, benchmark.tolerance)
            before = first.setdefault(variant.merge, outputs)
            for index, output in outputs.items():
                variant.differing.setdefault(index, 0)
                variant.differing[index] += not same_bits(output, before[index])
        compare(variants, first)


def judge(
    variant: Variant, outputs: Mapping[int, Any], expected: Mapping[int, Any], tolerance: float
) -> None:
    """Counts the launch, and whether any output is further from the reference than it may be."""
    right = True
    for index, reference in expected.items():
        error = float((outputs[index].double() - reference).norm() / reference.norm())
        variant.worst_error = worse(variant.worst_error, error)
        right = right and error < tolerance  # NaN is never smaller
    variant.launches += 1
    variant.wrong_launches += not right


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
            equal = all(same_bits(own[index], base[index]) for index in steady)
            variant.bitwise_equal = variant.bitwise_equal is not False and equal


def measure(benchmark: Any, config: Mapping[str, int], variants: Sequence[Variant]) -> None:
    """Times the variants in turns, from a cold L2 cache; each round gives each its median."""
    import torch

    if not variants:
        return
    generator = torch.Generator(device=DEVICE).manual_seed(time.time_ns() % 2**31)
    args = benchmark.inputs(config, generator, torch.device(DEVICE))
    flush = torch.empty(FLUSH, dtype=torch.uint8, device=DEVICE)
    for turn in range(ROUNDS + 1):
        at = turn % len(variants)  # who goes first changes, too
        for variant in [*variants[at:], *variants[:at]]:
            times = _batch(variant.kernel, args, flush)
            if turn:  # the first warms up
                variant.rounds_ms.append(statistics.median(times))


def _batch(kernel: Any, args: Sequence[Any], flush: Any) -> list[float]:
    import torch

    events = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        for _ in range(LAUNCHES_PER_ROUND)
    ]
    torch.cuda._sleep(HEAD_START)
    for begin, end in events:
        flush.zero_()
        begin.record()
        kernel(*args)
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]
