"""`smemreuse diff OLD NEW`: why kernels take more shared memory than they did."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.text import Text

from smemreuse.commands.batches import of_each
from smemreuse.commands.inputs import STDIN, Source, find_inputs
from smemreuse.commands.options import Planning, planning_options
from smemreuse.commands.output import (
    Target,
    emit_answer,
    emit_next,
    format_option,
    target_options,
    wrote,
)
from smemreuse.commands.resultfile import is_result, read_layouts
from smemreuse.commands.subjects import subjects_of
from smemreuse.commands.verb import FINDING, Verb, internal_errors, say, say_finding
from smemreuse.errors import InputError, SmemReuseError
from smemreuse.explainer.difference import difference_of, with_moves
from smemreuse.explainer.layouts import layout_of
from smemreuse.explainer.matching import Matched, matched_kernels
from smemreuse.explainer.overview import map_of
from smemreuse.pipeline.planning import planned
from smemreuse.progress import track
from smemreuse.report.data import Data, Subject
from smemreuse.report.difference import (
    ACROSS,
    BLOCKS,
    BY_POLICY,
    CHOSEN,
    LEGEND,
    UNTOLD,
    across,
    counts_line,
    difference_entries,
    difference_lines,
    doubt_lines,
    growth_clauses,
    in_all_line,
    in_order,
    only_line,
    side_data,
)
from smemreuse.report.next_compared import after_diff
from smemreuse.report.overview import overview_entry
from smemreuse.report.titles import titles
from smemreuse.results.comparison import APPLIED
from smemreuse.results.difference import CauseKind, Difference, NamedLayout, by_kernel
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture


@click.command(cls=Verb)
@click.argument("old", type=click.Path(allow_dash=True))
@click.argument("new", type=click.Path(allow_dash=True))
@planning_options()
@target_options(
    "Write a page too, with both memory maps side by side; for dumps.", "--page", metavar="HTML"
)
@click.option(
    "--allow-growth", is_flag=True, help="Give exit code 0 even if a kernel takes more bytes."
)
@format_option
def diff(
    old: str, new: str, planning: Planning, target: Target, allow_growth: bool, output_format: str
) -> None:
    """Say why kernels take more shared memory than they did, by cause.

    OLD and NEW are dumps, folders of dumps, or what `compare` or `plan` wrote with --format json.
    Kernels and buffers are matched by name. diff makes the changes from OLD to NEW one at a time
    and plans after each, so the bytes of the causes add up to the difference.

    The exit code is 1 if a kernel takes more bytes than before in all its storage scopes together,
    or lost a resident block. It is also 1 where diff cannot know: if each side has kernels that the
    other side lacks, or if neither side has a kernel.
    """
    target.check()
    page = target.output
    before, after = (_Side.read(file, planning, page is not None) for file in (old, new))
    matched = matched_kernels(before.layouts, after.layouts)
    found, whole = _differences(matched.pairs)
    emit_answer(
        output_format,
        "diff",
        _lines(found, matched, planning.policy),
        {
            "order": [kind.value for kind in CauseKind],
            "vanished": map(side_data, matched.vanished),
            "appeared": map(side_data, matched.appeared),
            "kernels": difference_entries(found),
        },
    )
    if page is not None:
        size = target.write(_page(found, before, after, planning.arch))
        click.echo(wrote(page, len(found), size), err=True)
    reasons = [] if allow_growth else growth_clauses(found, untold=matched.may_hide_growth)
    read_all = before.whole and after.whole and whole
    if reasons and read_all:
        say_finding([*reasons, "--allow-growth lets it pass"])
    if output_format == "table":
        dumps = (old, new) if before.are_dumps and after.are_dumps else None
        emit_next(
            after_diff(
                in_order(found),
                matched.may_hide_growth,
                dumps,
                planning.words("objective"),
                made_at=None if after.are_found else new,
            )
        )
    if not read_all:
        sys.exit(InputError.exit_code)  # which has been said of each file
    if reasons:
        sys.exit(FINDING)


@dataclass(frozen=True)
class _Side:
    """The plans of one of the two files; where they are of a dump, `plans` has them by place."""

    layouts: list[NamedLayout]
    plans: list[tuple[Subject, Plan]]
    whole: bool = True
    are_dumps: bool = True

    @classmethod
    def read(cls, given: str, planning: Planning, drawn: bool) -> _Side:
        """What a dump, a folder of dumps or a result has.

        Raises `InputError` for what cannot be read, or not be `drawn` if that is asked for. One
        dump of a folder that cannot be read is told on standard error; then it is not the `whole`.
        """
        if given != STDIN and not Path(given).is_dir() and is_result(given):
            if drawn:
                raise InputError("a result has no kernels to draw; --page needs dumps", file=given)
            return cls(read_layouts(given, planning.policy, planning.named), [], are_dumps=False)

        def plans_of(
            source: Source,
        ) -> tuple[list[tuple[Subject, Plan, NamedLayout]], Sequence[str]]:
            made = []
            options, arch = planning.options, planning.arch
            for one in subjects_of(source):
                plan = planned(one.kernel, one.scope, options, arch).plan
                made.append((one, plan, layout_of(one.file, one.kernel, plan, arch)))
            return made, ()

        found, whole = of_each(find_inputs([given]), plans_of, doing="planning")
        plans = [(subject, plan) for subject, plan, _ in found]
        return cls([layout for _, _, layout in found], plans, whole)

    @property
    def are_found(self) -> bool:
        """Whether the dumps are where a result names them, from here."""
        return self.are_dumps or all(Path(one.file).exists() for one in self.layouts)

    def has(self, layout: NamedLayout) -> bool:
        """Whether there is anything of a layout to draw."""
        return bool(layout.sizes) and any(one is layout for one in self.layouts)

    def entry(self, layout: NamedLayout, arch: Architecture | None) -> Data:
        """What a map of one of the plans is drawn from."""
        place = next(at for at, one in enumerate(self.layouts) if one is layout)
        subject, plan = self.plans[place]
        return overview_entry(subject, map_of(subject.kernel, plan), arch)


def _differences(pairs: Sequence[tuple[NamedLayout, NamedLayout]]) -> tuple[list[Difference], bool]:
    """The difference of each pair, and whether of all: a fault in one costs no other."""
    found, whole = [], True
    for old, new in track(pairs, "comparing"):
        try:
            with internal_errors(new.file):
                found.append(difference_of(old, new))
        except SmemReuseError as error:
            say(error)
            whole = False
    return with_moves(found), whole


def _page(found: Sequence[Difference], old: _Side, new: _Side, arch: Architecture | None) -> str:
    from smemreuse.report.page.comparison import ComparedMaps, comparison_page

    return comparison_page(
        ComparedMaps(one, old.entry(one.old, arch), new.entry(one.new, arch))
        for one in found
        if old.has(one.old) and new.has(one.new)
    )


def _lines(found: list[Difference], matched: Matched, policy: str) -> Iterator[Text]:
    yield from doubt_lines(found)
    yield Text(counts_line(found, _kernels_of(matched.vanished) + _kernels_of(matched.appeared)))
    found = in_order(found)
    several = len({one.new.file for one in found}) > 1
    places = [(one.new.file, one.new.kernel, one.new.scope) for one in found]
    named = titles(places, by_file=several)
    told = dict(zip(map(id, found), named, strict=True))
    for kernel in by_kernel(found):
        for one in kernel.scopes:
            if len(found) == 1 or _is_told(one):
                yield from difference_lines(one, told[id(one)], doubted=len(found) == 1)
        total = in_all_line(kernel, kernel.named.new.kernel)
        if total is not None and any(map(_is_told, kernel.scopes)):
            yield total
    for layout in matched.vanished:
        yield only_line(layout, "old")
    for layout in matched.appeared:
        yield only_line(layout, "new")
    if matched.may_hide_growth:
        yield Text(UNTOLD)
    if any(len(one.causes) > 1 for one in found if not one.are_strangers):
        yield Text(LEGEND, style="dim")
    if found:
        layouts = CHOSEN if policy == APPLIED else BY_POLICY.format(policy=policy)
        yield Text(layouts, style="dim")
    if any(one.blocks is not None for one in found if len(found) == 1 or _is_told(one)):
        yield Text(BLOCKS, style="dim")
    if across(found):
        yield Text(ACROSS, style="yellow")


def _kernels_of(layouts: Sequence[NamedLayout]) -> int:
    """How many kernels layouts are of, some of two storage scopes."""
    return len({(one.file, one.kernel) for one in layouts})


def _is_told(one: Difference) -> bool:
    """Whether there is anything to tell of one of many kernels."""
    return bool(one.bytes or one.causes or one.renamed or one.is_growth)
