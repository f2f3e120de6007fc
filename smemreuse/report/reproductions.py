"""The output of `reproduce`: a table, and for each finding a report that stands by itself."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smemreuse.report.columns import NAME, NUMBER, TEXT, WORD, Col, table_of
from smemreuse.report.data import Data
from smemreuse.report.elaborations import elaboration_data, made_by
from smemreuse.report.hazards import hazard_data
from smemreuse.report.timeline import timeline_of, timeline_text
from smemreuse.reproduce.refuted import OF_A_PLAN
from smemreuse.results.accepted import numbering_words
from smemreuse.results.evidence import seen_words
from smemreuse.results.reproduction import (
    A_DUMP,
    ALONE,
    AS_IT_IS,
    DELAYED,
    MENDED,
    MENDED_DELAYED,
    ZEROED,
    Reproduction,
    Shown,
)
from smemreuse.results.serialized import as_data, picked

NOT_RUN = "Not run: {}."
_WIDTH = 100

_VARIANTS = {
    AS_IT_IS: "the kernel unchanged",
    DELAYED: "with the delay, or the fill of shared memory, that its report describes",
    MENDED: "with lint's fixes",
    MENDED_DELAYED: "with lint's fixes and the delay",
    ALONE: "with the fixes of all other findings and the delay",
    ZEROED: "with zeros filled into shared memory first",
}
"""What each variant that is launched is."""

_RESULTS = {
    Shown.BY_ITSELF: "the unchanged kernel fails on this GPU",
    Shown.DELAYED: "the kernel fails on this GPU once it is delayed",
    Shown.ONE_OF_SEVERAL: "the kernel fails on this GPU; by which of its findings is not known, "
    "as one statement fixes several",
    Shown.NOT_SHOWN: "no launch failed on this GPU; the proof of lint holds all the same",
    Shown.NOT_COMPARABLE: "the reference itself gives different results on the same inputs; "
    "`--expected` says what the kernel must compute",
    Shown.NOT_RUN: "nothing was launched: it takes a GPU and the script that compiles the kernel",
}
"""What each result means."""


def reproduction_table(out: Console, found: Sequence[Reproduction]) -> Table:
    """A line for each finding, with a column for each variant that was launched. The kernel is in
    the sentences below, too."""
    variants = [name for name in _VARIANTS if any(name in one.outcomes for one in found)]
    several = len({one.kernel for one in found}) > 1
    title = f"certain findings of {found[0].kernel}" if not several else "certain findings"
    return table_of(
        out,
        title + ("; wrong launches / all launches of each variant" if variants else ""),
        found,
        Col("finding", WORD, lambda one: one.finding),
        Col("kernel", NAME, lambda one: one.kernel, several and out.width >= _WIDTH),
        Col("hazard", WORD, lambda one: str(one.hazard.kind)),
        Col("line", WORD, _line),
        *(Col(name, NUMBER, partial(_cell, variant=name)) for name in variants),
        Col("result", TEXT, lambda one: str(one.shown)),
    )


def _line(one: Reproduction) -> str:
    """The line of the script, else that of the dump."""
    site = one.hazard.site
    return str(site.source or site.line or "-")


def _cell(one: Reproduction, *, variant: str) -> str:
    found = one.outcomes.get(variant)
    if found is None:
        return "-"
    if found.error:
        return "failed"
    return "hangs" if found.hangs else f"{found.differing} / {found.launches}"


def reproduction_lines(found: Sequence[Reproduction]) -> Iterator[Text]:
    """What the columns and the results mean; then of each finding whether the kernel is wrong, and
    what to change."""
    names = {name for one in found for name in one.outcomes}
    if names:
        references = " or ".join(dict.fromkeys(one.reference for one in found if one.outcomes))
        yield Text(
            f"wrong: a launch whose output differs in a bit from that of `{references}` on the "
            "same inputs; hangs: a launch did not end; failed: see the report",
            style="dim",
        )
    for name, words in _VARIANTS.items():
        if name in names:
            yield Text(f"{name}: {words}", style="dim")
    results = {one.shown for one in found}
    for result, words in _RESULTS.items():
        if result in results and result is not Shown.NOT_RUN:
            yield Text(f"{result}: {words}", style="dim")
    for why in dict.fromkeys(one.why for one in found if one.shown is Shown.NOT_RUN):
        yield Text(f"not run: {why}; {_what_runs(found, why)}")
    if numbering := numbering_words(one.finding for one in found):
        yield Text(numbering, style="dim")
    for one in found:
        yield Text(f"[{one.finding}] {_answer(one)}")
        yield Text(f"  fix: {one.hazard.mend.sentence}")


def _what_runs(found: Sequence[Reproduction], why: str) -> str:
    """What launches the kernels that were not run: their script, where it is known."""
    of_why = [one for one in found if one.why == why]
    many = len({(one.file, one.kernel) for one in of_why}) > 1
    kernels = "these kernels" if many else "the kernel"
    scripts = dict.fromkeys(
        str(one.hazard.site.source.file) if one.hazard.site.source is not None else ""
        for one in of_why
    )
    if why != A_DUMP:
        scripts = dict.fromkeys(one.file for one in of_why)
    if len(scripts) == 1 and (script := next(iter(scripts))):
        return f"on a GPU `smemreuse reproduce {shlex.quote(script)}` launches {kernels}"
    return (
        f"on a GPU `smemreuse reproduce` launches {kernels}, given the Python script that compiles "
        f"{'them' if many else 'it'} in place of the dump"
    )


def _answer(one: Reproduction) -> str:
    """Whether the kernel is wrong, in one sentence."""
    buffers = ", ".join(one.hazard.buffers)
    what = f"{one.hazard.kind}{f' of {buffers}' if buffers else ''}"
    if one.shown is Shown.NOT_RUN:
        return f"lint has proved that {one.kernel} is wrong ({what})."
    if not one.shown.is_shown:
        counts = next((one.outcomes[name].words for name in _WHEN if name in one.outcomes), "")
        seen = f": {counts}" if counts else ""
        return f"lint has proved that {one.kernel} is wrong ({what}), but no launch shows it{seen}."
    wrong = next((name for name in _WHEN if _is_wrong(one, name)), AS_IT_IS)
    fixed = next((name for name in (MENDED_DELAYED, MENDED) if name in one.outcomes), None)
    with_fix = "" if fixed is None else f", {one.outcomes[fixed].words} with the fix"
    counts = f"{one.outcomes[wrong].words} {_WHEN[wrong]}{with_fix}"
    return f"{one.kernel} is wrong on this GPU ({what}): {counts}."


_WHEN = {
    ALONE: "when it is delayed and all other findings are fixed",
    DELAYED: "when it is delayed",
    AS_IT_IS: "when it is unchanged",
}
"""Variants that may show a finding, the one that tells most first."""


def _is_wrong(one: Reproduction, name: str) -> bool:
    return name in one.outcomes and one.outcomes[name].is_wrong


def reproduction_data(one: Reproduction) -> Data:
    """One finding as JSON."""
    return {
        **picked(one, "file kernel finding"),
        "hazard": hazard_data(one.hazard, one.kernel),
        "elaboration": elaboration_data(one.elaboration),
        **picked(one, "shown why attempt tried reference"),
        "outcomes": {name: as_data(outcome) for name, outcome in one.outcomes.items()},
        **picked(one, "mends environment report script"),
    }


def heading(one: Reproduction) -> str:
    """What the standalone file says of itself."""
    paragraphs = [
        f"{one.hazard.kind.sentence}: {', '.join(one.hazard.buffers) or 'a barrier'} in "
        f"{one.kernel} [{one.finding}].",
        _sentence(one.hazard.witness),
        f"To make it show: {one.attempt}. Compared with: {one.reference}. It needs TileLang "
        f"{one.environment.get('tilelang', '')} and PyTorch; run it without arguments.",
    ]
    text = "\n\n".join(textwrap.fill(each, _WIDTH) for each in paragraphs)
    return text.replace("\\", "\\\\").replace('"""', "'''")


def finding_report(one: Reproduction) -> str:
    """The report on one finding, in Markdown."""
    return "\n".join(_report(one)) + "\n"


def _report(one: Reproduction) -> Iterator[str]:
    hazard = one.hazard
    what = ", ".join(f"`{name}`" for name in hazard.buffers) or "a barrier"
    yield f"# {hazard.kind.sentence}: {what} in `{one.kernel}`\n"
    yield f"{_sentence(hazard.brief_witness)} {_outcome(one)}\n"
    made = made_by([one.elaboration], [*one.elaboration.config])
    if made:
        yield f"The kernel is made by {made}.\n"
    yield "## The witness\n"
    yield "```"
    yield from timeline_text(timeline_of(hazard), _WIDTH)
    yield "```\n"
    yield "## How it was made to show\n"
    yield from _shown(one)
    yield "\n## Fix\n"
    yield f"{_sentence(hazard.mend.sentence)}\n"
    yield from _mend(one)
    yield "\n## Versions\n"
    for name, version in one.environment.items():
        yield f"- {name}: {version}"
    seen = "" if hazard.mechanism.startswith(OF_A_PLAN) else f"; {seen_words(hazard)}"
    yield f"\nFinding `{one.finding}`{seen}."


def _outcome(one: Reproduction) -> str:
    wrong = [f"{name}, {each.words}" for name, each in one.outcomes.items() if each.is_wrong]
    if not one.outcomes:
        return NOT_RUN.format(one.why)
    return f"On the GPU it is {one.shown}: {'; '.join(wrong)}." if wrong else f"It is {one.shown}."


def _shown(one: Reproduction) -> Iterator[str]:
    if one.attempt:
        yield f"{_sentence(one.attempt)}\n"
    if one.delay_diff:
        yield "Without the added lines this is the CUDA that TileLang generates, character by"
        yield "character:\n"
        yield f"```diff\n{one.delay_diff}\n```\n"
    if one.outcomes:
        yield f"Each launch has fresh random inputs; its output is compared with `{one.reference}`,"
        yield "on the same inputs, bit by bit:\n"
        yield "| variant | launches | that differ | not the same twice | |"
        yield "|---|---|---|---|---|"
        for name, each in one.outcomes.items():
            counts = f"{each.launches} | {each.differing} | {each.unsteady}"
            yield f"| {name} | {counts} | {'hangs' if each.hangs else each.error} |"
        yield ""
    else:
        yield f"{NOT_RUN.format(one.why)}\n"
    others = [each for each in one.tried if each != one.attempt]
    if others:
        yield f"Tried before, without effect: {'; '.join(others)}.\n"
    if one.script:
        yield f"`python {one.script}` needs TileLang and PyTorch alone, and shows it."


def _mend(one: Reproduction) -> Iterator[str]:
    for each in one.mends:
        yield f"- {each}"
    if one.mend_diff:
        yield f"\nWhat makes the kernel clean, in {one.diff_of}:\n"
        yield f"```diff\n{one.mend_diff}\n```"
    else:
        yield "No barrier, wait or fence that can be inserted makes the kernel clean."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
