"""The output of `run` for a script: JSON, a table, and lines for what was refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smemreuse.report.columns import (
    BLOCKS,
    NUMBER,
    TEXT,
    WORD,
    Col,
    blocks_text,
    by_registers,
    number,
    registers_stop,
    table_of,
)
from smemreuse.report.data import Data, Subject, placement_data, plan_entry, verdict_data
from smemreuse.report.elaborations import Made, elaboration_data, telling
from smemreuse.report.hazards import hazard_lines, report_data, status_text
from smemreuse.report.mending import mending_data
from smemreuse.report.overview import overview_entry
from smemreuse.report.page.hazards import with_hazards
from smemreuse.report.tables import print_told
from smemreuse.report.verdicts import verdict_text
from smemreuse.results.explanation import Explanation, Unneeded
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.overview import Overview
from smemreuse.results.plan import Plan
from smemreuse.results.residents import ESTIMATED
from smemreuse.results.run import RunKernel, RunPlan
from smemreuse.results.serialized import picked
from smemreuse.results.suite import SuiteKernel
from smemreuse.results.verdict import UNSOUND, Verdict

MAX_REFUSED = 5
"""Refused pairs of a plan that are listed for people; JSON has all."""


def run_overview_entry(script: str, kernel: RunKernel, scope: str, found: Overview) -> Data:
    """A compiled kernel on the report page, under its title."""
    subject = Subject(script, kernel.kernel, scope)
    entry = overview_entry(subject, found, compiled=kernel.footprint.registers)
    return with_hazards({**entry, "name": kernel.title}, script, kernel.lint)


def run_entry(script: str, kernel: RunKernel) -> Data:
    """One kernel of `smemreuse.run/1`."""
    return {
        **asdict(kernel.footprint),
        "elaboration": elaboration_data(kernel.elaboration),
        "lint": report_data(kernel.lint) if kernel.lint is not None else None,
        "mending": mending_data(kernel.mending) if kernel.mending is not None else None,
        "plans": [
            _plan_data(Subject(script, kernel.kernel, each.plan.scope), each)
            for each in kernel.plans
        ],
    }


def _plan_data(subject: Subject, found: RunPlan) -> Data:
    sharing = found.sharing
    unneeded = [each.pair for each in sharing.unneeded]
    return {
        **plan_entry(subject, found.plan),
        **verdict_data(found.verdict),
        "before": _layout_data(found.stock, found.stock_verdict),
        "shared": [{"buffers": list(names), "bytes": size} for names, size in sharing.shared],
        "not_shared": [_pair_data(each) for each in (*sharing.refused, *unneeded)],
        "rejected": [_layout_data(*rejected) for rejected in found.rejected],
    }


def _layout_data(plan: Plan, verdict: Verdict) -> Data:
    """A plan that was not applied: what it was made with, where it puts what, and its verdict."""
    options = picked(plan, "policy packer objective")
    return {**options, **placement_data(plan), **verdict_data(verdict)}


def _pair_data(found: Explanation) -> Data:
    pair = picked(found, "buffers=names may_share")
    return {**pair, "reasons": _reasons(found), **picked(found.verdict, "verdict")}


def _reasons(found: Explanation) -> list[str]:
    """What forbids a pair to share; the checker may forbid what no static rule does."""
    if found.reasons or found.may_share:
        return list(found.reasons)
    return [found.verdict.first_finding]


def print_run(out: Console, kernels: Sequence[RunKernel], objective: str) -> None:
    """Prints the table of a script's kernels, and the lines on each, if there are any."""
    if kernels:
        legend = blocks_legend(kernel.footprint for kernel in kernels)
        lines = chain(legend, *map(run_lines, kernels))
        print_told(out, run_table(out, kernels, objective), lines)


def run_table(out: Console, kernels: Sequence[RunKernel], objective: str) -> Table:
    """A row for each kernel: bytes and blocks per SM before and after, verdict, shared pairs."""
    whose = kernels[0].compiler if kernels else "TileLang"
    called = [(kernel.title, kernel) for kernel in kernels]
    merges = f"before by {whose}'s own merge, after by smemreuse's for objective `{objective}`"
    return table_of(
        out,
        f"Shared memory of each block, in bytes: {merges}",
        called,
        *(TITLE, ARCH, BEFORE, AFTER),
        Col("limit", NUMBER, lambda one: number(one[1].footprint.limit)),
        Col(BLOCKS, NUMBER, lambda one: " -> ".join(blocks_of(one[1].footprint))),
        Col("verdict", WORD, lambda one: _verdicts(one[1])),
        lint_column(any(kernel.lint is not None for kernel in kernels)),
        Col("sharing bytes", TEXT, lambda one: "; ".join([_pairs(one[1]), *_why_more(one[1])])),
        made_column(called),
    )


Named = tuple[str, RunKernel | SuiteKernel]
"""A kernel under the name that tells it from the others."""

TITLE: Col[Named] = Col("kernel", TEXT, lambda one: one[0])
ARCH: Col[Named] = Col("arch", WORD, lambda one: one[1].footprint.arch or "-")
BEFORE: Col[Named] = Col("before", NUMBER, lambda one: number(one[1].footprint.bytes_before))
AFTER: Col[Named] = Col("after", NUMBER, lambda one: number(one[1].footprint.bytes_after))


def lint_column(shown: bool) -> Col[Named]:
    """The status of each kernel, as far as they were linted."""

    def cell(one: Named) -> Text:
        return Text("-") if one[1].lint is None else status_text(one[1].lint.status)

    return Col("lint", WORD, cell, shown)


def made_column(kernels: Sequence[Named]) -> Col[Named]:
    """What made each kernel, where that is known of any."""
    text = telling(map(made, kernels))
    shown = any(one.elaborations for _, one in kernels)
    return Col("made by", TEXT, lambda one: text(made(one)) or "-", shown)


def made(one: Named) -> Made:
    """A kernel by its own name, and the calls that made it."""
    return one[1].footprint.name, one[1].elaborations


def blocks_of(took: KernelFootprint) -> tuple[str, str]:
    """Blocks per SM, before and after; `1 (regs)` where registers are expected to stop more."""
    return (
        blocks_text(took.resident_before, took.blocks_before),
        blocks_text(took.resident_after, took.blocks_after),
    )


def blocks_legend(found: Iterable[KernelFootprint]) -> Iterator[Text]:
    """What `1 (regs)` means, below a table that has such blocks."""
    for took in found:
        before = (took.resident_before, took.blocks_before)
        for resident, by_memory in (before, (took.resident_after, took.blocks_after)):
            stopped = registers_stop(resident, by_memory)
            if stopped and resident is not None and by_memory is not None:
                text = by_registers(resident, by_memory, ESTIMATED)
                yield Text(text, style="dim")
                return


def _verdicts(kernel: RunKernel) -> Text:
    return Text("\n").join(verdict_text(each.verdict) for each in kernel.plans) or Text("-")


def _pairs(kernel: RunKernel) -> str:
    pairs = (names for each in kernel.plans for names, _ in each.sharing.shared)
    return ", ".join(f"{one}+{two}" for one, two in pairs) or "-"


def _why_more(kernel: RunKernel) -> Iterator[str]:
    """Why a kernel takes more bytes than under the compiler's own merge, where it does."""
    took = kernel.footprint
    if (took.bytes_after or 0) <= (took.bytes_before or 0):
        return
    for each in kernel.plans:
        if each.plan.arena_bytes > each.stock.arena_bytes:
            own = each.stock_verdict
            if not own.sound:
                yield f"more bytes, because {kernel.compiler}'s own merge is {own.verdict}"
            elif each.plan.objective == "none":
                yield "more bytes, because reuse is switched off"
            else:
                yield f"more bytes, because packer {each.plan.packer} lays them out so"


def run_lines(kernel: RunKernel) -> Iterator[Text]:
    """What was refused in one kernel and why, a line for each; nothing where nothing was."""
    name = kernel.title
    if kernel.footprint.fits is False:
        yield Text(f"{name}: does not fit on {kernel.footprint.arch}")
    yield from _hazards(kernel)
    for each in kernel.plans:
        sharing = each.sharing
        where = f"{name} ({each.plan.scope})"
        if each.stock_verdict.verdict is UNSOUND:
            why = each.stock_verdict.first_finding
            yield Text(f"{where}: {kernel.compiler}'s own merge is unsound: {why}")
        if each.plan.provenance.is_kept:
            why = each.verdict.first_finding
            yield Text(f"{where}: keeps {kernel.compiler}'s own merge, which is not proved: {why}")
        for plan, verdict in each.rejected:
            size = f"{plan.policy}'s plan of {plan.arena_bytes:,} bytes"
            yield Text(f"{where}: {size} was {verdict.refusal}")
        for found in sharing.refused[:MAX_REFUSED]:
            one, two = found.names
            yield Text(f"{where}: {one} and {two} do not share: {_reasons(found)[0]}")
        if len(sharing.refused) > MAX_REFUSED:
            yield Text(f"{where}: ... and {len(sharing.refused) - MAX_REFUSED} more pairs refused")
        for line in _unneeded(sharing.unneeded):
            yield Text(f"{where}: {line}")


def _hazards(kernel: RunKernel) -> Iterator[Text]:
    """What was put into a kernel, and what lint finds in it."""
    for one in kernel.mending.mends if kernel.mending is not None else ():
        yield Text(f"{kernel.title}: {one.brief_sentence}")
    yield from hazard_lines(kernel.title, kernel.lint)


def _unneeded(found: Sequence[Unneeded]) -> Iterator[str]:
    """Why pairs do not share that could: those with a cause in common on one line."""
    by_cause: dict[str, list[str]] = {}
    for one in found:
        by_cause.setdefault(one.why, []).append("+".join(one.pair.names))
    for cause, pairs in by_cause.items():
        more = f" and {len(pairs) - MAX_REFUSED} more" if len(pairs) > MAX_REFUSED else ""
        yield f"{', '.join(pairs[:MAX_REFUSED])}{more} could share; {cause}"
