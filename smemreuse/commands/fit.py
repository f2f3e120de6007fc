"""`smemreuse fit FILE...`: what would have to change for kernels to fit into a block's memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from smemreuse.commands.batches import Batch, batch_options
from smemreuse.commands.inputs import Source
from smemreuse.commands.options import arch_option
from smemreuse.commands.output import emit_answer, format_option
from smemreuse.commands.subjects import subjects_of
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.explainer.headroom import within_limit
from smemreuse.explainer.plans import compiler_of, default_layout
from smemreuse.report.data import Subject
from smemreuse.report.fit import Fit, FitStep, FitTiles, fit_data, fit_lines
from smemreuse.report.headroom import place
from smemreuse.report.next_steps import after_fit
from smemreuse.report.titles import counted
from smemreuse.results.headroom import ChangeStep, SmallerTiles
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.blocks import block_memory


@click.command(cls=Verb)
@batch_options(findings=False)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="The bytes that each block may have; default: what --arch has.",
)
@arch_option
@format_option
def fit(batch: Batch, limit: int | None, arch: Architecture | None) -> None:
    """Say what would make kernels fit into a block's shared memory.

    FILE is a dump, a folder of dumps, or `-`. Of a kernel that takes more than --limit bytes, as
    smemreuse merges it, fit names the fewest changes with which it fits: stages less of a loop, an
    order of statements, a barrier between two buffers; and the bytes after each. Where these are
    not enough, it names the tiles that would have to be smaller, and to how many bytes. Whether the
    algorithm allows a change is for its author to know. Where none is known, it lists the changes
    that come closest, and the buffers that keep the kernel from fitting.
    `merge(objective="fit")` makes some changes itself.

    The exit code is 1 if a kernel does not fit as it is.
    """
    wanted = limit or (arch.per_block if arch is not None else None)
    if wanted is None:
        raise InputError("give the bytes that a block may have: --limit BYTES or --arch SM")
    found = batch.results(partial(fits_of, limit=wanted), "fitting", kept=True)
    answer = {"kernels": map(fit_data, found), "options": {"limit": wanted}}
    emit_answer(batch.output_format, "fit", fit_lines(found), answer)
    large = sum(not one.fits for one in found)
    takes = "takes" if large == 1 else "take"
    reasons = [f"{counted(large, 'kernel')} {takes} more than {wanted:,} bytes"] if large else []
    batch.end(reasons, after_fit(found))


def fits_of(source: Source, *, limit: int) -> tuple[Sequence[Fit], Sequence[str]]:
    """What it takes of the kernels of an input, each by the scope in which most of it lies; what
    others take counts, and is not changed. One without shared buffers takes none."""
    largest: dict[int, Subject] = {}
    for one in subjects_of(source):
        known = largest.setdefault(id(one.kernel), one)
        if (one.has_buffers, _bytes(one)) > (known.has_buffers, _bytes(known)):
            largest[id(one.kernel)] = one
    return [fit_of(one, limit) for one in largest.values()], ()


def _bytes(subject: Subject) -> int:
    """The bytes of the buffers of a scope, side by side."""
    return sum(one.size or 0 for one in subject.kernel.allocations(subject.scope))


def fit_of(subject: Subject, limit: int) -> Fit:
    """What it takes of one kernel."""
    if not subject.has_buffers:
        return _without_buffers(subject, limit)
    found = within_limit(subject.kernel, subject.scope, limit)
    return Fit(
        subject.file,
        subject.kernel.name,
        subject.scope,
        limit,
        found.bytes,
        _steps(found.steps, found.bytes_after),
        tuple((one.name, one.bytes) for one in found.live),
        place(found.step) if found.step is not None else "",
        found.why,
        _steps(found.least, found.least_after),
        found.apart,
        _default_bytes(subject),
        compiler_of(subject.kernel),
        None if found.smaller is None else _tiles(found.smaller),
    )


def _without_buffers(subject: Subject, limit: int) -> Fit:
    place = (subject.file, subject.kernel.name, subject.scope, limit)
    return Fit(*place, 0, (), (), "", "", default_bytes=0, compiler=compiler_of(subject.kernel))


def _tiles(found: SmallerTiles) -> FitTiles:
    return FitTiles(_steps(found.steps, found.bytes_after), found.tiles, found.bytes)


def _default_bytes(subject: Subject) -> int | None:
    """What a block of a kernel takes as its compiler merges by default."""
    kernel = subject.kernel
    plans = [default_layout(kernel, scope) for scope in kernel.shared_scopes()]
    made = [one for one in plans if one is not None]
    return block_memory(kernel, made).total if len(made) == len(plans) else None


def _steps(steps: Sequence[ChangeStep], sizes: Sequence[int]) -> tuple[FitStep, ...]:
    """Changes, and the bytes of a block after each."""
    both = zip(steps, sizes, strict=True)
    return tuple(FitStep(str(one.kind), one.buffers, one.condition, size) for one, size in both)
