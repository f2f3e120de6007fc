"""`smemreuse apply FILE -o OUT`: the dump with its allocations merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import click

from smemreuse.audit import BarrierStage
from smemreuse.commands.options import Planning, barriers_option, mend_option, planning_options
from smemreuse.commands.output import Target, emit_next, say_folded, target_options
from smemreuse.commands.subjects import note_declared
from smemreuse.commands.verb import Verb
from smemreuse.compilers.text.reader import Dump, read_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.errors import SmemReuseError
from smemreuse.explainer.plans import compiler_of, default_merge
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.planning import Chosen, choose_for
from smemreuse.report.next_step import after_apply
from smemreuse.results.plan import Plan
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
        applied.append((kernel, found.plan))
        verdict = found.candidate.verdict
        proof = NOT_CHECKED if unchecked else f"{verdict.proof}{verdict.condition}"
        beside.append(_beside(kernel, found.plan, proof))
        return found.plan

    applied: list[tuple[Kernel, Plan]] = []
    beside: list[str] = []
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
    said = [f"{line}; {more}" for line, more in zip(merged.summary, beside, strict=True)]
    say_folded(said or ["nothing to merge: no scope has two buffers"])
    large = [*_too_large(applied, planning.arch)]
    for kernel, taken, arch in large:
        more = f"more than {arch.name} has, which is {arch.per_block:,}"
        say_folded([f"{kernel.name}: a block takes {taken:,} bytes, {more}"])
    output = str(target.output)
    too_large_for = large[0][2].name if large else None
    gains = dump.source != before or any(plan.sharing_pairs() for _, plan in applied)
    step = after_apply(file, output, bool(merged.summary), too_large_for, gains=gains)
    emit_next(step, aside=output == "-")


NOT_CHECKED = "not checked, by --unchecked"


def _beside(kernel: Kernel, plan: Plan, verdict: str) -> str:
    """What the compiler's default merge takes instead of a plan, if it makes a layout, and what is
    known of the plan's soundness."""
    found = default_merge(kernel, plan.scope)
    if found is None:
        return verdict
    usual = found[1].arena_text
    merge = f"{compiler_of(kernel)}'s {DEFAULT_MERGE}"
    if usual == plan.arena_text:
        return f"no byte is gained over {merge}; {verdict}"
    return f"{merge} takes {usual}; {verdict}"


def _too_large(
    applied: Sequence[tuple[Kernel, Plan]], wanted: Architecture | None
) -> Iterator[tuple[Kernel, int, Architecture]]:
    """The kernels that no GPU of their architecture launches with the arenas that they got, and the
    bytes of a block."""
    for kernel in dict.fromkeys(kernel for kernel, _ in applied):
        arch, _ = architecture_for(kernel, wanted)
        memory = block_memory(kernel, [plan for one, plan in applied if one is kernel])
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
