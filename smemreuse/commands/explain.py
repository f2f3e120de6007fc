"""`smemreuse explain FILE [A [B]]`: why two buffers may share bytes, or what forbids it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import click
from rich.console import RenderableType

from smemreuse.commands.inputs import note_if_empty
from smemreuse.commands.options import Planning, arch_option, objective_option
from smemreuse.commands.output import emit_answer, emit_next, format_option
from smemreuse.commands.subjects import note_unused, of_kernel, read_subjects
from smemreuse.commands.verb import FINDING, Verb
from smemreuse.errors import InputError
from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.pairs import explained_pairs
from smemreuse.explainer.plans import (
    compiler_of,
    hoped_for,
    judged_default,
    judged_plan,
    side_by_side,
    wanted_hope,
)
from smemreuse.ir.kernel import unique_names
from smemreuse.linter import grounds_of
from smemreuse.linter.linter import OF_GROUNDS
from smemreuse.pipeline.options import checked_options
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.report.data import Subject
from smemreuse.report.explanations import explain_entry, explain_lines, explain_summary
from smemreuse.report.headroom import ShippedHeadroom, headroom_data
from smemreuse.report.layouts import Layouts
from smemreuse.report.next_steps import after_explain, after_pairs
from smemreuse.report.residents import NO_FASTER, gain_note, why_all, why_as_default
from smemreuse.report.tables import console, no_buffers
from smemreuse.results.explanation import Explanation
from smemreuse.results.preconditions import Preconditions
from smemreuse.targets.architectures import Architecture


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@click.argument("buffers", metavar="[A [B]]", nargs=-1)
@click.option(
    "--kernel", "kernel_name", help="The kernel to explain, where several have these buffers."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List every pair of buffers, also those that are live together.",
)
@click.option(
    "--show",
    is_flag=True,
    help="With A and B: draw what forbids sharing as a timeline, agents side by side.",
)
@objective_option
@arch_option
@format_option
def explain(
    file: str,
    buffers: tuple[str, ...],
    kernel_name: str | None,
    everything: bool,
    show: bool,
    objective: str,
    arch: Architecture | None,
    output_format: str,
) -> None:
    """Say why buffers may share bytes, or what forbids it.

    With A and B, explain gives the rule and the statements, and exit code 1 if the two must not
    share bytes or if that is not proved. With A alone, it goes through all other buffers.

    Without both, it names the layout that ships for --objective. Of that layout it shows the
    position where most bytes are live, and the buffers there; what stops one more resident block;
    the cheapest changes that would take fewer bytes, and the fewest that gain a block; and which
    buffers may share, by reason. --all lists every pair, and what keeps it apart under the rule of
    the compilers' default merges (`outer`).
    """
    objective = checked_options("dataflow", "best", objective).objective
    if show and len(buffers) != 2:
        raise InputError("--show draws the witness of two buffers: give A and B", file=file)
    if len(buffers) > 2:
        raise InputError(f"at most two buffers, not {len(buffers)}", file=file)
    if len(set(buffers)) < len(buffers):
        raise InputError(
            f"{buffers[0]} always shares its bytes with itself; give two buffers", file=file
        )
    found = of_kernel(read_subjects([file]), kernel_name, file)
    note_if_empty(found, [file])
    note_unused(found)
    asked = ((one, explained_pairs(one.kernel, one.scope, buffers)) for one in found)
    explained = [(subject, pairs) for subject, pairs in asked if pairs is not None]
    if buffers and not explained:
        raise _missing(file, buffers, found, kernel_name)
    if output_format == "json":
        _emit_json(explained, buffers, objective, arch)
    else:
        summaries = (
            _Summary(each, pairs, buffers, everything, objective, arch)
            for each, pairs in explained
            if len(buffers) < 2
        )
        _emit_lines(explained, [*summaries], file, drawn=show)
    if len(buffers) == 2 and not _may_share(explained):
        sys.exit(FINDING)


Explained = Sequence[tuple[Subject, Sequence[Explanation]]]
"""Kernels and scopes with the pairs of buffers that are asked for."""


def _may_share(explained: Explained) -> bool:
    return all(one.may_share for _, pairs in explained for one in pairs)


def _emit_json(
    explained: Explained, buffers: Sequence[str], objective: str, arch: Architecture | None
) -> None:
    entries = (
        explain_entry(each, one, grounds)
        for each, pairs in explained
        for grounds in (_grounds(each, pairs),)
        for one in pairs
    )
    summaries = (
        headroom_data(
            each,
            headroom_of(each.kernel, each.scope, arch),
            plan_kernel(each.kernel, each.scope, objective=objective, arch=arch),
        )
        for each, _ in explained
        if not buffers and each.has_buffers
    )
    options = {"objective": objective, "arch": None if arch is None else arch.name}
    emit_answer(
        "json", "explain", (), {"summaries": summaries, "kernels": entries, "options": options}
    )


def _emit_lines(
    explained: Explained, summaries: Sequence[_Summary], file: str, *, drawn: bool
) -> None:
    if summaries:
        lines = chain.from_iterable(one.lines() for one in summaries)
    else:
        lines = chain.from_iterable(_in_full(*one, drawn=drawn) for one in explained)
    emit_answer("table", "explain", lines, {})
    whole = [one for one in summaries if one.headroom is not None]
    if whole or not any(pairs for _, pairs in explained):
        made = [(one.layouts, one.headroom) for one in whole if one.headroom is not None]
        step = after_explain(
            file,
            made,
            whole[0].options if whole else (),
            refuted=any(one.is_refuted for one in whole),
            hazardous=any(one.grounds and one.grounds.has_certain for one in whole),
            as_default=why_all(one.why_as_default for one in whole),
        )
        emit_next(step)
    else:
        emit_next(after_pairs(file, may_share=_may_share(explained)))


def _missing(
    file: str, wanted: Sequence[str], found: Sequence[Subject], kernel_name: str | None
) -> InputError:
    """Names the buffers that are not there, or says that the two are not in one place."""
    allocated = (subject.kernel.allocations(subject.scope) for subject in found)
    there = dict.fromkeys(name for each in allocated for name in unique_names(each).values())
    if not there:
        choices = "there are no shared buffers"
    else:
        choices = f"the shared buffers are {', '.join(there)}"
    where = f" in kernel {kernel_name}" if kernel_name else ""
    absent = [name for name in wanted if name not in there]
    if absent:
        what = f"there is no buffer {' and no buffer '.join(absent)}{where}"
    else:
        what = f"{' and '.join(wanted)} are not in the same kernel and scope"
    return InputError(f"{what}; {choices}", file=file)


def _grounds(subject: Subject, pairs: Sequence[Explanation]) -> Preconditions | None:
    """The preconditions of sharing that is proved; None where none is proved."""
    if not any(one.verdict.sound for one in pairs):
        return None
    return grounds_of(subject.kernel, most=None if len(pairs) == 1 else OF_GROUNDS)


def _in_full(
    subject: Subject, pairs: Sequence[Explanation], *, drawn: bool
) -> Iterator[RenderableType]:
    for one in pairs:
        yield from explain_lines(
            *(subject, one, _grounds(subject, pairs)), drawn=drawn, width=console().width
        )


@dataclass(frozen=True)
class _Summary:
    """A whole kernel and scope, or all pairs of one of its buffers, which is `wanted` then."""

    subject: Subject
    pairs: Sequence[Explanation]
    wanted: Sequence[str]
    everything: bool
    objective: str
    arch: Architecture | None

    @property
    def options(self) -> tuple[str, ...]:
        """As another verb takes them."""
        return Planning("best", self.objective, self.arch).words("objective", "arch")

    @cached_property
    def layouts(self) -> Layouts:
        kernel, scope = self.subject.kernel, self.subject.scope
        return Layouts(
            compiler_of(kernel),
            judged_plan(kernel, scope, objective=self.objective, arch=self.arch),
            judged_default(kernel, scope),
            side_by_side(kernel, scope),
        )

    @cached_property
    def grounds(self) -> Preconditions | None:
        return _grounds(self.subject, self.pairs)

    @property
    def is_refuted(self) -> bool:
        """Whether `lint` refutes what the proof of the shipped layout assumes."""
        plan, verdict = self.layouts.shipped
        if self.grounds is None or not (verdict.sound and plan.sharing_pairs()):
            return False
        return bool(self.grounds.refuted)

    @property
    def why_as_default(self) -> str:
        """Why the shipped layout gains nothing over the default merge; empty where it does."""
        shipped, _ = self.layouts.shipped
        return why_as_default(self.subject.kernel, shipped, self.layouts.default, self.arch)

    @cached_property
    def headroom(self) -> ShippedHeadroom | None:
        """That of the layout that ships; None where one buffer is asked for, or none is there."""
        kernel, scope = self.subject.kernel, self.subject.scope
        if self.wanted or not self.subject.has_buffers:
            return None
        others = [one for one in kernel.shared_scopes() if one != scope]
        beside = [
            plan_kernel(kernel, one, objective=self.objective, arch=self.arch) for one in others
        ]
        plan, _ = self.layouts.shipped
        shipped = headroom_of(kernel, scope, self.arch, plan=plan, beside=beside)
        smallest = headroom_of(kernel, scope, self.arch, beside=beside)
        return ShippedHeadroom(shipped, smallest, self.objective)

    def lines(self) -> Iterator[RenderableType]:
        if not self.subject.has_buffers:
            yield no_buffers(self.subject.file, self.subject.kernel.name)
            return
        made = (self.subject.kernel, self.subject.scope, "best", self.objective, self.arch)
        kernel, (shipped, _) = self.subject.kernel, self.layouts.shipped
        hoped = None if self.wanted else wanted_hope(kernel, hoped_for(*made), shipped, self.arch)
        yield from explain_summary(
            *(console(), self.subject, self.layouts, self.pairs, self.wanted),
            grounds=self.grounds,
            headroom=self.headroom,
            everything=self.everything,
            hoped=hoped,
            hoped_note="" if hoped is None else gain_note(kernel, hoped[0], shipped, self.arch),
            is_idle=self.why_as_default == NO_FASTER,
        )
