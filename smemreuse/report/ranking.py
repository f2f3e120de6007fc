"""The output for a ranked space: JSON, a table, and the sentences around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from smemreuse.report.advice import seconds_text
from smemreuse.report.columns import NUMBER, TEXT, WORD, Col, number, table_of
from smemreuse.report.data import Data
from smemreuse.results.ranking import Config, KernelEstimate, Ranked, Ranking
from smemreuse.results.serialized import picked

TO_COMPILE = 3.2
"""Seconds of a processor that nvcc and TileLang take for a kernel: the median of those that were
measured for docs/results/spaces."""
ERRORS_LISTED = 3


def configuration(config: Config) -> str:
    """`block_M=128, num_stages=3`."""
    if isinstance(config, tuple):
        return ", ".join(map(str, config))
    return ", ".join(f"{name}={value}" for name, value in config.items())


def ranking_lines(console: Console, name: str, found: Ranking) -> Iterator[RenderableType]:
    """A heading, the first few with what bounds them, and what became of the others."""
    yield Text(f"{name} on {found.card}: {counts(found)}", style="bold")
    if found.ranked:
        yield _table(console, found)
        yield Text(f"order: {found.label}")
        yield Text(spent(found))
    if found.too_large:
        least = min(found.too_large, key=lambda one: one.bytes / one.limit)
        yield Text(
            f"of too much shared memory, the least is {least.bytes:,} of {least.limit:,} bytes"
        )
    for error, times in Counter(one.error for one in found.failed).most_common(ERRORS_LISTED):
        yield Text(f"{times} not lowered: {error}", style="yellow")


def counts(found: Ranking) -> str:
    """How many configurations are ranked, do not fit, or failed."""
    parts = [
        f"{len(found.ranked)} launch",
        f"{len(found.too_large)} ask for too much shared memory",
        f"{len(found.failed)} cannot be lowered",
    ]
    for count, why in (
        (sum(one.by_reuse for one in found.ranked), "fit only because buffers share bytes"),
        (sum(one.by_us for one in found.ranked), "fit only as smemreuse merges them"),
    ):
        parts += [f"{count} {why}"] if count else []
    return "; ".join(parts)


def spent(found: Ranking) -> str:
    """What compiling all takes, and what the first few do."""
    every = len(found.ranked) + len(found.too_large) + len(found.failed)
    return (
        f"compiling all {every} takes about {seconds_text(every * TO_COMPILE)} of a processor, "
        f"the first {len(found)} about {seconds_text(len(found) * TO_COMPILE)}"
    )


def _table(console: Console, found: Ranking) -> RenderableType:
    def longest(one: Ranked) -> KernelEstimate:
        return max(one.kernels, key=lambda kernel: kernel.seconds)

    return table_of(
        console,
        "",
        found.ranked[: found.top],
        Col("configuration", TEXT, _named),
        Col("predicted", NUMBER, lambda one: seconds_text(one.seconds)),
        Col("bytes", NUMBER, lambda one: number(longest(one).shared_bytes)),
        Col("blocks per SM", NUMBER, lambda one: str(longest(one).blocks_per_sm)),
        Col("waves", NUMBER, lambda one: f"{longest(one).waves:.2f}"),
        Col("registers", NUMBER, lambda one: _registers(longest(one))),
        Col("bound by", WORD, lambda one: longest(one).bound_by),
    )


def _named(one: Ranked) -> str:
    return configuration(one.config) + (" (by reuse)" if one.by_reuse else "")


def _registers(one: KernelEstimate) -> str:
    return str(one.registers) + (f"+{one.spilled}" if one.spilled else "")


def ranking_data(name: str, found: Ranking) -> Data:
    """One entry of `smemreuse.ranking/1`."""
    return {
        "name": name,
        **picked(found, "card label top"),
        "ranked": [_ranked_data(one) for one in found.ranked],
        "too_large": [picked(one, "config bytes limit_bytes=limit") for one in found.too_large],
        "failed": [picked(one, "config error") for one in found.failed],
    }


_KERNEL = (
    "name seconds bound_by terms_seconds=terms blocks blocks_per_sm waves registers "
    "spilled_registers=spilled shared_bytes flops dram_bytes l2_bytes assumed"
)


def _ranked_data(one: Ranked) -> Data:
    return {
        **picked(one, "config seconds by_reuse by_us measured_seconds=measured"),
        "kernels": [picked(kernel, _KERNEL) for kernel in one.kernels],
    }
