"""The page of a run of many kernels, drawn from what its processes recorded.

Plans, verdicts and rows are those of the processes that compiled the kernels. Only pairs of buffers
are explained here, from the kernels that the merges received.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smemreuse.checker import share_work
from smemreuse.commands.batches import Spread, spread_over
from smemreuse.commands.output import write_output, wrote
from smemreuse.commands.taking_part import Run
from smemreuse.commands.verb import internal_errors, say
from smemreuse.compilers.text.reader import parse_dump, read_source
from smemreuse.errors import BackendError, SmemReuseError, printable
from smemreuse.explainer.carried import carried_overview
from smemreuse.progress import track
from smemreuse.report.data import Data, Subject
from smemreuse.report.overview import overview_entry
from smemreuse.report.page import with_hazards
from smemreuse.report.suite import (
    MAX_SHOWN,
    ORDER,
    most_telling,
    page_title,
    suite_row,
    titled,
    trouble_lines,
    words_below,
)
from smemreuse.report.titles import counted
from smemreuse.results.carried import ScopePlans
from smemreuse.results.hazards import LintReport
from smemreuse.results.suite import Suite, SuiteKernel

_WORTH_A_PROCESS = 8
"""Kernels for which a further process that draws is started."""

NO_REPORT = "no report was written: there is no kernel with shared memory"


@dataclass(frozen=True)
class PageRequest:
    """The page that is asked for: where, and how many kernels have maps at most."""

    file: str
    maps: int
    force: bool


@dataclass
class Drawing:
    """The contents of a page: a row for each kernel and scope, maps by the titles of their rows,
    what is left out, and the troubles that the run recorded."""

    rows: list[Data] = field(default_factory=list)
    maps: dict[str, Data] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def add(self, other: Drawing) -> None:
        """Appends the kernels of another drawing."""
        self.rows += other.rows
        self.maps.update(other.maps)
        self.notes += other.notes
        self.troubles += other.troubles


@dataclass(frozen=True, slots=True)
class _Task:
    """A kernel to draw: its name in the table, what its merge received, its plans, the registers
    that ptxas gave its threads, where it was compiled, and what lint found, where it was asked."""

    name: str
    file: str
    source: Path
    launch: int
    scopes: Sequence[ScopePlans]
    registers: int | None
    lint: LintReport | None


def drawing_of(
    run: Run, suite: Suite, program: str, page: PageRequest, prefix: str = ""
) -> Drawing:
    """The rows of all kernels of a run that have shared memory, and as many maps as are asked for.

    `prefix` stands before the kernels' names, `program` where no file with a dump was asked for.
    """
    drawing = Drawing()
    kernels = [(f"{prefix}{name}", kernel) for name, kernel in titled(suite.merged)]
    tasks = {name: _task(run, program, name, kernel) for name, kernel in kernels}
    words = words_below(kernels)
    for name, kernel in kernels:
        below = words[name] if run.settings.dump is None else tasks[name].file
        drawing.rows += [suite_row(below, name, kernel, scope) for scope in kernel.scopes]
    known = [(name, kernel) for name, kernel in kernels if kernel.scopes]
    chosen = [tasks[name] for name, _ in most_telling(known)[: page.maps]]
    failed = _draw(chosen, drawing)
    drawing.notes += _notes(suite, len(kernels), len(known), len(chosen), failed)
    audits_only = run.settings.audits_only
    drawing.troubles += map(str, trouble_lines(suite, audits_only=audits_only))
    return drawing


def _task(run: Run, program: str, name: str, kernel: SuiteKernel) -> _Task:
    function, launch = kernel.received
    dump, registers = run.settings.dump, kernel.footprint.registers
    file = program if dump is None or kernel.dump is None else str(Path(dump, kernel.dump))
    source = run.settings.received(function)
    return _Task(name, file, source, launch, kernel.scopes, registers, kernel.lint)


def _draw(tasks: Sequence[_Task], drawing: Drawing) -> list[str]:
    """Adds the maps of kernels, and tells of those that have none."""
    if len(tasks) > _WORTH_A_PROCESS:
        what = f"drawing the maps of {len(tasks):,} kernels; Ctrl-C leaves out the rest"
        say(what)
    failed = list[str]()
    found = spread_over(_drawn, tasks, _spread(len(tasks)))
    try:
        for entries, failures in track(found, "drawing", total=len(tasks)):
            failed += failures
            for entry in entries:
                drawing.maps[page_title(str(entry["name"]), str(entry["scope"]))] = entry
    except BackendError as error:
        failed.append(f"not all maps were drawn: {error}")
    except KeyboardInterrupt:  # the program is over, and its page need not be lost
        failed.append("not all maps were drawn: it was interrupted")
    return failed


def _spread(tasks: int) -> Spread:
    """The program is over, so that all cores are free; a few kernels are not worth a start."""
    jobs = min(os.cpu_count() or 1, tasks // _WORTH_A_PROCESS)
    return Spread(jobs) if jobs > 1 else Spread()


def _drawn(task: _Task) -> tuple[list[Data], list[str]]:
    """What a page shows of a kernel, or why it cannot; one that fails costs no other its map."""
    try:
        with internal_errors():
            return _entries(task), []
    except SmemReuseError as error:
        return [], [f"{task.name} has no map: {error}"]


def _entries(task: _Task) -> list[Data]:
    text = read_source(str(task.source))
    kernels = parse_dump(text, task.file).kernels
    share_work(kernels)
    kernel = kernels[task.launch]
    entries = [
        overview_entry(
            Subject(task.file, kernel, scope.scope, text),
            carried_overview(kernel, scope),
            compiled=task.registers,
        )
        for scope in task.scopes
    ]
    return [with_hazards({**one, "name": task.name}, task.file, task.lint) for one in entries]


def _notes(suite: Suite, kernels: int, known: int, chosen: int, failed: Sequence[str]) -> list[str]:
    """What the page does not show, and why."""
    notes = []
    if chosen < known:
        notes.append(map_note(chosen, known, ORDER))
    if known < kernels:
        why = "whose process was ended, or failed, before it reported their plans"
        notes.append(f"left out: {counted(kernels - known, 'kernel')} {why}")
    bare = len(suite.kernels) - kernels
    if bare:
        notes.append(f"left out: {counted(bare, 'kernel')} without shared memory")
    more = [f"... and {len(failed) - MAX_SHOWN} more"] if len(failed) > MAX_SHOWN else []
    return [*notes, *failed[:MAX_SHOWN], *more]


def map_note(maps: int, kernels: int, order: str) -> str:
    """The note on a page where not all kernels have a map."""
    return f"memory maps of {maps:,} of {kernels:,} kernels, {order}; --maps N draws more or fewer"


def write_page(page: PageRequest, drawing: Drawing, program: str) -> None:
    """Writes the page, and says on standard error what it shows and what it does not."""
    if not drawing.rows:
        say(NO_REPORT)
        return
    from smemreuse.report.page import suite_page  # which only this needs

    title = f"Shared memory of the kernels of {printable(program)}"
    notes = [*drawing.notes, *drawing.troubles]
    made = suite_page(drawing.rows, drawing.maps, title, notes).encode()
    write_output(page.file, made, page.force)
    lines = [f"{wrote(page.file, len(drawing.rows), len(made))}", *drawing.notes]
    for line in lines:
        say(line)
