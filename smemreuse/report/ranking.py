"""The output for a ranked space: JSON, a table, and the sentences around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from smemreuse.report.advice import seconds_text
from smemreuse.report.columns import NUMBER, TEXT, WORD, FittingTable
from smemreuse.report.data import Data
from smemreuse.results.ranking import Config, KernelEstimate, Ranked, Ranking

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
    numbers = ("predicted", "bytes", "blocks per SM", "waves", "registers")
    columns = [("configuration", TEXT), *((title, NUMBER) for title in numbers)]
    table = FittingTable(console, "", *columns, ("bound by", WORD))
    for one in found.ranked[: found.top]:
        longest = max(one.kernels, key=lambda kernel: kernel.seconds)
        marks = " (by reuse)" if one.by_reuse else ""
        table.add_row(
            Text(configuration(one.config) + marks),
            Text(seconds_text(one.seconds)),
            Text(f"{longest.shared_bytes:,}"),
            Text(str(longest.blocks_per_sm)),
            Text(f"{longest.waves:.2f}"),
            Text(str(longest.registers) + (f"+{longest.spilled}" if longest.spilled else "")),
            Text(longest.bound_by),
        )
    return table


def ranking_data(name: str, found: Ranking) -> Data:
    """One entry of `smemreuse.ranking/1`."""
    return {
        "name": name,
        "card": found.card,
        "label": found.label,
        "top": found.top,
        "ranked": [_ranked_data(one) for one in found.ranked],
        "too_large": [
            {"config": _config_data(one.config), "bytes": one.bytes, "limit_bytes": one.limit}
            for one in found.too_large
        ],
        "failed": [
            {"config": _config_data(one.config), "error": one.error} for one in found.failed
        ],
    }


def _config_data(config: Config) -> object:
    return list(config) if isinstance(config, tuple) else dict(config)


def _ranked_data(one: Ranked) -> Data:
    return {
        "config": _config_data(one.config),
        "seconds": one.seconds,
        "by_reuse": one.by_reuse,
        "by_us": one.by_us,
        "measured_seconds": one.measured,
        "kernels": [_kernel_data(kernel) for kernel in one.kernels],
    }


def _kernel_data(one: KernelEstimate) -> Data:
    return {
        "name": one.name,
        "seconds": one.seconds,
        "bound_by": one.bound_by,
        "terms_seconds": dict(one.terms),
        "blocks": one.blocks,
        "blocks_per_sm": one.blocks_per_sm,
        "waves": one.waves,
        "registers": one.registers,
        "spilled_registers": one.spilled,
        "shared_bytes": one.shared_bytes,
        "flops": one.flops,
        "dram_bytes": one.dram_bytes,
        "l2_bytes": one.l2_bytes,
        "assumed": list(one.assumed),
    }
