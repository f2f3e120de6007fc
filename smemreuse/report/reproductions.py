"""The output of `reproduce`: a table, JSON, and for each finding a report that stands by itself."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from smemreuse.report.columns import TEXT, cells_of, table_of
from smemreuse.report.data import Data
from smemreuse.report.elaborations import elaboration_data, made_by
from smemreuse.report.hazards import hazard_data
from smemreuse.report.timeline import timeline_of, timeline_text
from smemreuse.reproduce.refuted import OF_A_PLAN
from smemreuse.results.evidence import seen_words
from smemreuse.results.hazards import told_briefly
from smemreuse.results.reproduction import Reproduction
from smemreuse.results.serialized import as_data, picked

NOT_RUN = "Not run: {}."
_WIDTH = 100


def reproduction_table(out: Console, found: Sequence[Reproduction]) -> Table:
    """A line for each finding."""
    columns = cells_of(
        *(("finding", TEXT), ("kernel", TEXT), ("kind", TEXT), ("buffer", TEXT)),
        *(("line", TEXT), ("result", TEXT), ("variants that differ, or why", TEXT)),
    )
    return table_of(out, "certain findings, and what launches gave", map(_cells, found), *columns)


def _cells(one: Reproduction) -> tuple[str, ...]:
    given = "; ".join(f"{name}: {outcome.words}" for name, outcome in one.outcomes.items())
    buffers = ", ".join(one.hazard.buffers)
    return (
        one.finding,
        one.kernel,
        str(one.hazard.kind),
        buffers,
        str(one.hazard.site.line or ""),
        str(one.shown),
        given or one.why,
    )


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
        f"To make it show: {one.attempt}. Held against: {one.reference}. It needs TileLang "
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
    yield f"{_sentence(told_briefly(hazard).partition(': ')[2])} {_outcome(one)}\n"
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
        yield f"Each launch has fresh random inputs, and is held against `{one.reference}` on the"
        yield "same inputs, bit by bit:\n"
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
