"""`smemreuse apply FILE -o OUT`: the dump with its allocations merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import click

from smemreuse.audit import BarrierStage
from smemreuse.commands.options import Planning, barriers_option, mend_option, planning_options
from smemreuse.commands.output import Target, emit_next, say_folded, target_options
from smemreuse.commands.subjects import note_declared
from smemreuse.commands.verb import Verb
from smemreuse.compilers.text.reader import Dump, read_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.errors import SmemReuseError
from smemreuse.explainer.plans import compiler_of, default_merge, judged_default
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import grounds_of
from smemreuse.linter.linter import OF_GROUNDS
from smemreuse.pipeline.planning import Chosen, choose_for
from smemreuse.report.next_step import after_apply
from smemreuse.report.residents import AS_LARGE, why_as_default
from smemreuse.results.plan import Plan
from smemreuse.results.preconditions import Preconditions, condition_words
from smemreuse.results.verdict import Verdict
from smemreuse.results.words import DEFAULT_MERGE
from smemreuse.targets.architectures import Architecture, architecture_for
from smemreuse.targets.blocks import block_memory


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@target_options("`-` for standard output.", required=True)
@planning_options(strict=True)
@mend_option
@click.option(
    "--trim",
    is_flag=True,
    help="Take out barriers and proxy fences whose absence is proved harmless.",
)
@barriers_option
@click.option("--unchecked", is_flag=True, help="Apply the plan even if it is not proved sound.")
def apply(
    file: str,
    target: Target,
    planning: Planning,
    mend: bool,
    trim: bool,
    barriers: str,
    unchecked: bool,
) -> None:
    """Write the TIR with its shared buffers merged into one arena.

    Each kernel gets one arena for each storage scope, and each buffer is a pointer into it. Where
    the plan that you ask for is not proved, apply takes the tightest one that is (see --unchecked).

    --fix also inserts the fewest proxy fences, waits and barriers that make the kernels clean of
    hazards of their own. It names each on stderr, and each hazard that it cannot fix.

    --trim takes out the barriers and proxy fences without which lint proves the kernel clean,
    assuming nothing, and the plan proved; after --fix, where both are asked. Kernels that get
    their barriers from a later pass keep all that they have.
    """

    options = planning.options

    def chosen(kernel: Kernel, scope: str) -> Chosen:
        return choose_for(kernel, scope, options, planning.arch, unchecked=unchecked)

    def planned(kernel: Kernel, scope: str) -> Plan:
        """The wanted plan if it may be applied, else the tightest that is proved."""
        found = chosen(kernel, scope)
        for each in found.refused:
            size = f"a plan of {each.plan.arena_bytes:,} bytes"
            say_folded([f"{kernel.name}: {size} was {each.verdict.refusal}"])
        verdict = None if unchecked else found.candidate.verdict
        applied.append(_Applied(kernel, found.plan, verdict, BarrierStage(barriers)))
        return found.plan

    applied: list[_Applied] = []
    try:
        dump = read_dump(file)
        before = dump.source
        if mend:
            dump = _mended(dump, BarrierStage(barriers))
        if trim:
            dump = _trimmed(dump, BarrierStage(barriers), chosen)
        merged = merge_text(dump, planned)
        note_declared(file, dump.kernels)
    except SmemReuseError as error:
        raise error.located(file=file) from None
    target.write(merged.source)
    if str(target.output) != "-":
        click.echo(f"wrote {target.output}", err=True)
    if not applied:
        say_folded(["nothing to merge: no scope has two buffers"])
    for line, one in zip(merged.summary, applied, strict=True):
        say_folded([f"{line}; {one.words}", *one.hazard_lines(file)])
    large = [*_too_large(applied, planning.arch)]
    for kernel, taken, arch in large:
        more = f"more than {arch.name} has, which is {arch.per_block:,}"
        say_folded([f"{kernel.name}: a block takes {taken:,} bytes, {more}"])
    output = str(target.output)
    too_large_for = large[0][2].name if large else None
    changed = dump.source != before
    gains = changed or any(one.plan.sharing_pairs() for one in applied)
    needed = changed or not all(one.is_as_default for one in applied)
    step = after_apply(
        *(file, output, bool(merged.summary), too_large_for),
        gains=gains,
        needed=needed,
        hazardous=any(one.grounds is not None and one.grounds.has_certain for one in applied),
    )
    emit_next(step, aside=output == "-")


NOT_CHECKED = "not checked, by --unchecked"


@dataclass(frozen=True)
class _Applied:
    """A plan that is applied to a kernel, and the verdict on it, None where none was asked for;
    `barriers` is the stage that the kernel is linted at."""

    kernel: Kernel
    plan: Plan
    verdict: Verdict | None
    barriers: BarrierStage

    @cached_property
    def grounds(self) -> Preconditions | None:
        """What lint finds of a kernel for which a plan that shares bytes is sound."""
        if self.verdict is None or not (self.verdict.sound and self.plan.sharing_pairs()):
            return None
        return grounds_of(self.kernel, self.barriers, most=OF_GROUNDS)

    @property
    def is_as_default(self) -> bool:
        """Whether the default merge takes as many bytes, and is proved, too."""
        default = judged_default(self.kernel, self.plan.scope)
        return why_as_default(self.kernel, self.plan, default, None) == AS_LARGE

    @property
    def words(self) -> str:
        """What the compiler's default merge takes instead, if it makes a layout, and what is known
        of the plan's soundness."""
        known = NOT_CHECKED
        if self.verdict is not None:
            known = f"{self.verdict.proof}{condition_words(self.verdict, self.grounds)}"
        found = default_merge(self.kernel, self.plan.scope)
        if found is None:
            return known
        usual = found[1].arena_text
        merge = f"{compiler_of(self.kernel)}'s {DEFAULT_MERGE}"
        if usual == self.plan.arena_text:
            return f"no byte is gained over {merge}; {known}"
        return f"{merge} takes {usual}; {known}"

    def hazard_lines(self, file: str) -> Iterator[str]:
        """The hazards of the kernel itself, which is read from a file, as `check` has them."""
        if self.grounds is not None and self.grounds.report.hazards:
            from smemreuse.report.preconditions import grounds_lines  # and what draws

            yield from (line.plain for line in grounds_lines(self.grounds, file=file))


def _too_large(
    applied: Sequence[_Applied], wanted: Architecture | None
) -> Iterator[tuple[Kernel, int, Architecture]]:
    """The kernels that no GPU of their architecture launches with the arenas that they got, and the
    bytes of a block."""
    for kernel in dict.fromkeys(one.kernel for one in applied):
        arch, _ = architecture_for(kernel, wanted)
        memory = block_memory(kernel, [one.plan for one in applied if one.kernel is kernel])
        if memory.total is not None and memory.fits(arch) is False:
            yield kernel, memory.total, arch


def _mended(dump: Dump, barriers: BarrierStage) -> Dump:
    """The dump with its mends in, which are told."""
    from smemreuse.compilers.text.mend import mend_text  # and the linter, which only this needs

    found = mend_text(dump, barriers)
    for mending in found.mendings:
        say_folded(mending.sentences)
    return found.dump


def _trimmed(dump: Dump, barriers: BarrierStage, chosen: Callable[[Kernel, str], Chosen]) -> Dump:
    """The dump without the barriers and fences that its kernels do not need, which are told."""
    from smemreuse.compilers.text.trim import trim_text  # and the linter, which only this needs

    def plans(kernel: Kernel) -> tuple[Plan, ...]:
        scopes = (one for one in kernel.shared_scopes() if len(kernel.allocations(one)) > 1)
        return tuple(chosen(kernel, scope).plan for scope in scopes)

    found = trim_text(dump, plans, barriers)
    for trimming in found.trimmings:
        say_folded(trimming.sentences)
    return found.dump
