"""Ranks a problem's configurations on a card."""

from __future__ import annotations

from smemreuse.results.advice import Advice, Estimate, MemoryLevel, Validation
from smemreuse.targets.cards import Card
from smemreuse.worksheet.judge import DRAM, L2, LATENCY, SHARED, judge
from smemreuse.worksheet.terms import ridge_point
from smemreuse.worksheet.work import TileWork, Workload

_LINE = 128
"""Bytes of a cache line."""


def advise(problem: Workload, card: Card, dtype: str) -> Advice:
    """Every candidate judged, the fastest that fits first.

    Raises `PlanError` for a type that is not known.
    """
    peak = card.peak(dtype) if problem.multiplies else 2 * card.lanes
    return Advice(
        problem=problem.title,
        dtype=dtype,
        card=card.name,
        arch=card.arch,
        source=card.source,
        assumed=card.assumed,
        peak=peak,
        levels=levels(card, peak),
        estimates=table(problem, card, dtype),
        validation=Validation.UNCALIBRATED,
        notes=(*problem.notes(card, dtype), *_of_the_card(card)),
    )


def table(problem: Workload, card: Card, dtype: str) -> list[Estimate]:
    """The estimates of a problem's candidates, ranked."""
    judged = ((work, judge(card, dtype, work)) for work in problem.candidates(card, dtype))
    return [estimate for _, estimate in sorted(judged, key=_rank)]


def levels(card: Card, peak: float) -> tuple[MemoryLevel, ...]:
    """The roofs of a card below a peak in flops/s, from the lowest."""
    bandwidths = {DRAM: card.dram, L2: card.l2, SHARED: card.shared_bandwidth}
    return tuple(MemoryLevel(name, one, ridge_point(peak, one)) for name, one in bandwidths.items())


def _rank(judged: tuple[TileWork, Estimate]) -> tuple[object, ...]:
    """The sort key of a judged configuration: its time, then tie-breakers.

    Enough stages beat too few, whole cache lines beat parts, shorter other terms beat longer ones,
    and less demand beats more.
    """
    work, found = judged
    others = sorted((one for name, one in found.terms.items() if name != LATENCY), reverse=True)
    return (
        not found.fits,
        found.seconds,
        found.stages < found.stages_needed,
        -min(work.row_bytes, _LINE),
        others,
        (found.shared_bytes, found.registers, found.threads),
        tuple(map(str, found.config.values())),
    )


def _of_the_card(card: Card) -> tuple[str, ...]:
    if not card.assumed:
        return ()
    return (f"assumed for the {card.name}, as not published: {', '.join(card.assumed)}",)
