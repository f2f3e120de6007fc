"""Tables for people, made with rich; plain ASCII when the output is not a terminal."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from smemreuse.errors import printable
from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Buffer, unique_names
from smemreuse.ir.labels import brief, last_line
from smemreuse.report.columns import NUMBER, TEXT, Col, cells_of, percent_text, table_of
from smemreuse.report.data import Subject
from smemreuse.report.folding import hanging
from smemreuse.report.verdicts import hoped_words
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.results.verdict import Verdict

_PIPED_WIDTH = 160


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the program with exit code 1, which is that of a finding."""
        raise

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Names and statements are data: none of their characters may steer a terminal. A line that
        is too long is folded so that the rest hangs below its beginning."""
        wide = (options or self.options).max_width
        if isinstance(renderable, Text) and wide == self.width and not self._is_soft(options):
            renderable = hanging(self, renderable, wide)
        for segment in super().render(renderable, options):
            if segment.control or _is_plain(segment.text):
                yield segment
            else:
                yield segment._replace(text="\n".join(map(printable, segment.text.split("\n"))))

    @staticmethod
    def _is_soft(options: ConsoleOptions | None) -> bool:
        """Whether lines are not to be folded at all."""
        return options is not None and bool(options.no_wrap)


def _is_plain(text: str) -> bool:
    return text.isprintable() or all(char.isprintable() or char == "\n" for char in text)


def console() -> Console:
    """Standard output; when piped without colour, and wide unless `COLUMNS` says otherwise."""
    out = _Console(highlight=False)
    return (
        out if out.is_terminal else _Console(highlight=False, width=_piped_width(), no_color=True)
    )


def _piped_width() -> int:
    return _columns() or _PIPED_WIDTH


def _columns() -> int:
    """The width that `COLUMNS` asks for; 0 where it says nothing."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else 0


def print_told(out: Console, table: RenderableType, lines: Iterable[Text]) -> None:
    """Prints a table, and lines below it, which are whole where no width is asked for."""
    out.print(table)
    for line in lines:
        out.print(line, soft_wrap=not (out.is_terminal or _columns()))


def hoped_line(subject: Subject, plan: Plan, verdict: Verdict, note: str = "") -> Text:
    """What a smaller plan than that of `dataflow` would take, and why it is not proved; `note` says
    what it would gain."""
    where = f"{printable(Path(subject.file).name)}: {subject.kernel.name} ({subject.scope})"
    return Text(f"{where}: {hoped_words(plan, verdict, note)}")


def no_buffers(file: str, kernel: str) -> Text:
    """All that there is to say of a kernel without shared buffers."""
    return Text(f"{printable(file)}: {kernel} has no shared buffers")


def _kernel_name(subject: Subject) -> str:
    return f"{printable(subject.file)}: {subject.kernel.name}"


def plan_table(out: Console, subject: Subject, plan: Plan, proof: str) -> Table:
    """One plan: where each buffer lies, in order of offset; `proof` says what is known of its
    soundness."""
    title = (
        f"{_kernel_name(subject)} ({subject.scope}), policy {plan.policy}, {proof}: "
        f"arena {plan.arena_text} bytes, lower bound {plan.lower_bound_bytes:,} bytes"
        f"{_above(plan)}, proved smallest: {'yes' if plan.optimal else 'no'}"
    )
    numbers = ((name, NUMBER) for name in ("offset", "end", "bytes", "alignment"))
    columns = cells_of(("buffer", TEXT), *numbers, ("live [begin, end)", TEXT))
    return table_of(out, title, _places(plan), *columns)


def _above(plan: Plan) -> str:
    """The packing gap, where there is one."""
    bound = plan.lower_bound_bytes
    if plan.arena_bytes == bound or not bound:
        return ""
    return f" ({percent_text(plan.arena_bytes, bound)})"


def _places(plan: Plan) -> Iterator[tuple[str, ...]]:
    names = unique_names(tuple(plan.buffers))
    for buffer, offset in sorted(plan.offsets.items(), key=lambda item: (item[1], names[item[0]])):
        size, live = buffer.size or 0, plan.live[buffer]
        place = (f"{value:,}" for value in (offset, offset + size, size, plan.alignments[buffer]))
        yield names[buffer], *place, f"[{live.begin}, {live.end})"
    for buffer, expr in plan.symbolic_offsets.items():
        sizes = (format_expr(buffer.size_expr), str(plan.alignments[buffer]))
        yield names[buffer], format_expr(expr), "", *sizes, "shares with nothing (symbolic)"
    for buffer in plan.buffers:
        if buffer not in plan.offsets and buffer not in plan.symbolic_offsets:
            yield names[buffer], "-", "-", f"{buffer.size or 0:,}", "", "unused"


def analyze_table(
    out: Console,
    subject: Subject,
    policy: str,
    sequence: Linearization,
    ranges: Mapping[Buffer, LiveRange],
) -> Table:
    """The linear sequence with scope-pair offsets, touches, and gen and kill events."""
    title = f"{_kernel_name(subject)} ({subject.scope}), policy {policy}"
    wide = out.width >= _WIDE
    columns = (
        Col[_ListedEntry]("#", NUMBER, lambda one: str(one.position)),
        Col[_ListedEntry]("offset", NUMBER, lambda one: one.offset, wide),
        Col[_ListedEntry]("statement", TEXT, lambda one: one.text),
        Col[_ListedEntry]("touched", TEXT, lambda one: one.touched, wide),
        Col[_ListedEntry]("gen", TEXT, lambda one: one.gen, wide),
        Col[_ListedEntry]("kill", TEXT, lambda one: one.kill, wide),
        Col[_ListedEntry]("buffers", TEXT, lambda one: one.buffers, not wide),
        Col[_ListedEntry]("line", NUMBER, lambda one: one.line),
    )
    return table_of(out, title, _statements(subject, sequence, ranges), *columns)


def analyze_legend(out: Console) -> Iterator[Text]:
    """What the columns of `analyze_table` mean."""
    yield Text("gen: live from here on; kill: the last use", style="dim")
    if out.width >= _WIDE:
        yield Text("offset: entries to the other end of the scope", style="dim")


_WIDE = 120
"""Characters from which on each event has a column of its own."""


@dataclass(frozen=True)
class _ListedEntry:
    """One entry of the linear sequence; `touched`, `gen` and `kill` are names of buffers."""

    position: int
    offset: str
    text: str
    touched: str
    gen: str
    kill: str
    line: str

    @property
    def buffers(self) -> str:
        """Each buffer, with what happens to it here, if anything."""
        events = {"gen": self.gen.split(), "kill": self.kill.split()}
        names = dict.fromkeys([*self.touched.split(), *self.gen.split(), *self.kill.split()])
        told = []
        for name in names:
            here = [event for event, those in events.items() if name in those]
            told.append(f"{name} ({', '.join(here)})" if here else name)
        return ", ".join(told)


def _statements(
    subject: Subject, sequence: Linearization, ranges: Mapping[Buffer, LiveRange]
) -> Iterator[_ListedEntry]:
    names = unique_names(subject.kernel.allocations(subject.scope))
    gens, kills = defaultdict(list), defaultdict(list)
    for buffer, live in ranges.items():
        gens[live.gen].append(names[buffer])
        kills[live.kill].append(names[buffer])
    depth = 0
    for position, entry in enumerate(sequence.entries):
        is_end = entry.scope_pair_offset < 0
        depth -= is_end
        text = "  " * depth + ("end " if is_end else "") + brief(entry.stmt)
        depth += entry.scope_pair_offset > 0
        touched = " ".join(names[touch.buffer] for touch in entry.touched)
        events = (" ".join(gens[position]), " ".join(kills[position]))
        line = str((last_line(entry.stmt) if is_end else entry.stmt.line) or "")
        yield _ListedEntry(position, str(entry.scope_pair_offset), text, touched, *events, line)
