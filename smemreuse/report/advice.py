"""The output of `advise`: JSON, a table, and the sentences around it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from smemreuse.report.columns import NUMBER, TEXT, WORD, Col, number, table_of
from smemreuse.report.data import Data
from smemreuse.report.titles import counted
from smemreuse.results.advice import Advice, Estimate, MemoryLevel, Validation
from smemreuse.results.serialized import picked

_HONEST = {
    Validation.UNCALIBRATED: "uncalibrated: a roofline of data sheets and formulas, none of "
    "them fitted to a measurement; times are what is possible at best",
}

_LOWEST = "DRAM"
_WAYS = ("way", "row", "instruction")
_PARTS = ("splits", "blocks of a row")
"""Keys of a configuration: those whose word says it all, and those of which one is the rule."""


def configuration(estimate: Estimate) -> str:
    """`BM 128, BN 256, BK 64`; a word stands by itself, and one part is not told."""
    return ", ".join(
        str(value) if key in _WAYS else f"{key} {value}"
        for key, value in estimate.config.items()
        if isinstance(value, str) or value != 1 or key not in _PARTS
    )


def seconds_text(seconds: float) -> str:
    """A time with three digits, in the unit that fits its size."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * factor:
            return f"{_three(seconds / factor)} {unit}"
    return f"{_three(seconds * 1e6)} us"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def rate_text(rate: float) -> str:
    """Flops a second."""
    return f"{rate / 1e12:,.0f} TFLOPS" if rate >= 9.95e12 else f"{rate / 1e12:.2g} TFLOPS"


def flops_per_byte(value: float) -> str:
    """Arithmetic intensity with three digits; no number where no bytes are moved."""
    if math.isinf(value):
        return "-"
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2g}"


def card_line(advice: Advice) -> str:
    """Peak, bandwidths and ridge points."""
    levels = "; ".join(map(_level, advice.levels))
    return (
        f"{advice.card} ({advice.arch}), {advice.dtype}: {rate_text(advice.peak)} at most; {levels}"
    )


def _level(level: MemoryLevel) -> str:
    ridge = flops_per_byte(level.ridge)
    return f"{level.name} {level.bandwidth / 1e12:.3g} TB/s, ridge at {ridge} flops/byte"


def verdict(advice: Advice) -> str:
    """The best, what bounds it, and what its rank rests on."""
    best = advice.best
    if best is None:
        why = advice.estimates[0].refused if advice.estimates else "there is no candidate"
        return f"nothing fits on {advice.arch}; the nearest needs {why}"
    parts = [
        f"{configuration(best)}: at least {seconds_text(best.seconds)}, {_achieved(best, advice)}, "
        f"bound by {best.limit}",
        f"{counted(best.blocks, 'block')} for each SM, limited by {best.occupancy_limit}",
        f"{counted(best.grid, 'block')} in {best.waves:.2f} waves keep the SMs "
        f"{100 * best.balance:.0f} % busy",
    ]
    if best.stages:
        enough = "hide" if best.stages >= best.stages_needed else "do not hide"
        parts.append(
            f"{best.stages} stages {enough} the latency of DRAM (needed: {best.stages_needed})"
        )
    return "; ".join(parts)


def _achieved(best: Estimate, advice: Advice) -> str:
    share = 100 * best.rate / advice.peak
    return f"{rate_text(best.rate)}, {share:.3g} % of the peak, DRAM {_busy(best)} busy"


def _busy(one: Estimate) -> str:
    """The share of the time in which the lowest level moves bytes at its full rate."""
    return f"{100 * one.terms[_LOWEST] / one.seconds:.0f} %"


def refusals(advice: Advice) -> str:
    """How many candidates do not fit, counted by the resource that they lack."""
    refused = [one for one in advice.estimates if not one.fits]
    if not refused:
        return f"all {len(advice.estimates):,} candidates fit"
    wants = Counter(one.occupancy_limit for one in refused)
    reasons = ", ".join(f"{count:,} by {name}" for name, count in wants.most_common())
    return f"{len(refused):,} of {len(advice.estimates):,} candidates do not fit: {reasons}"


def label(advice: Advice) -> str:
    """How the ranks were validated."""
    return _HONEST[advice.validation]


def advice_lines(out: Console, advice: Advice, top: int) -> list[RenderableType]:
    """What is printed for people."""
    shown = fitting(advice, top)
    head: list[RenderableType] = [Text(advice.problem), Text(card_line(advice))]
    first = "try first: " if advice.best is not None else ""
    head.append(Text(f"{first}{verdict(advice)}", style="bold"))
    if shown:
        head.append(advice_table(out, shown, advice))
        head += [Text(line, style="dim") for line in legend(advice)]
    return [*head, *map(Text, (refusals(advice), *advice.notes, label(advice)))]


def legend(advice: Advice) -> Iterator[str]:
    """What the columns mean, and the base of each percentage."""
    levels = " / ".join(one.name for one in advice.levels)
    yield f"flops/byte: for each byte of {levels}; below its ridge, a level bounds the speed"
    yield "stages needed: to hide the latency of DRAM; waves: blocks over those resident at once"
    yield (
        "at least: the shortest time by the roofline; of peak: the flops of that time in % of "
        f"{rate_text(advice.peak)}; DRAM: in % of that time"
    )


def fitting(advice: Advice, top: int) -> list[Estimate]:
    """The first `top` of those that fit, each with the best number of stages; all for 0."""
    found = [one for one in advice.estimates if one.fits]
    if not top:
        return found
    best: dict[object, Estimate] = {}
    for one in found:
        best.setdefault(tuple((key, one.config[key]) for key in one.config if key != "stages"), one)
    return list(best.values())[:top]


def advice_table(out: Console, shown: Sequence[Estimate], advice: Advice) -> RenderableType:
    """A row for each configuration; flops/byte by level, from the lowest."""
    return table_of(out, "", shown, *advice_columns(advice))


def advice_columns(advice: Advice) -> tuple[Col[Estimate], ...]:
    """What is told of each configuration."""
    return (
        Col("configuration", TEXT, configuration),
        Col("shared bytes", NUMBER, lambda one: number(one.shared_bytes)),
        Col("registers", NUMBER, lambda one: str(one.registers)),
        Col("blocks per SM", WORD, lambda one: f"{one.blocks} ({one.occupancy_limit})"),
        Col("flops/byte", WORD, _intensities),
        Col("stages needed", NUMBER, lambda one: str(one.stages_needed or "-")),
        Col("waves", NUMBER, lambda one: f"{one.waves:.2f}"),
        Col("bound by", WORD, lambda one: one.limit),
        Col("at least", NUMBER, lambda one: seconds_text(one.seconds)),
        Col("of peak", NUMBER, lambda one: f"{100 * one.rate / advice.peak:.3g} %"),
        Col("DRAM", NUMBER, _busy),
    )


def _intensities(one: Estimate) -> str:
    return " / ".join(map(flops_per_byte, one.intensity.values()))


def advice_data(advice: Advice, top: int) -> Data:
    """The JSON of `advise` without its schema: the configurations that fit, and counts of all."""
    return {
        **picked(advice, "problem dtype validation"),
        "card": picked(advice, "name=card arch source assumed peak_flops=peak"),
        "levels": [
            picked(one, "name bytes_per_second=bandwidth ridge_flops_per_byte=ridge")
            for one in advice.levels
        ],
        "verdict": verdict(advice),
        "notes": list(advice.notes),
        "candidates": len(advice.estimates),
        "fitting": sum(one.fits for one in advice.estimates),
        "estimates": [estimate_data(one) for one in fitting(advice, top)],
    }


def estimate_data(one: Estimate) -> Data:
    """One configuration; what has no value is null."""
    return {
        **picked(one, "config shared_bytes registers threads grid blocks_per_sm=blocks"),
        **picked(one, "occupancy_limit l1_left_bytes=l1_left"),
        "stages": one.stages or None,
        "stages_needed": one.stages_needed or None,
        **picked(one, "waves balance"),
        "flops_per_byte": {name: _finite(value) for name, value in one.intensity.items()},
        **picked(one, "seconds_by_term=terms limit seconds flops_per_second=rate"),
    }


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
