"""`smemreuse advise`: which tile, for who has no kernel yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from smemreuse.commands.options import worksheet_arch_option
from smemreuse.commands.output import (
    Target,
    emit_answer,
    emit_next,
    format_option,
    target_options,
)
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.report.next_steps import after_advise
from smemreuse.results.advice import Advice
from smemreuse.targets.architectures import DEFAULT_ARCH, Architecture, architecture
from smemreuse.targets.cards import Card, card_for
from smemreuse.worksheet import (
    Attention,
    Convolution,
    Decode,
    Elementwise,
    Gemm,
    Reduction,
    Workload,
)
from smemreuse.worksheet import advise as advise_problem
from smemreuse.worksheet.elements import SIZES

TOP = 10
DTYPE = "float16"


class Size(click.IntRange):
    """One of several numbers, behind which the next option may come too early."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and value.startswith("--") and isinstance(param, click.Option):
            self.fail(f"it takes {param.nargs} numbers, {param.metavar}; {value!r} is not one")
        size: int = super().convert(value, param, ctx)
        return size


SIZE = Size(1, 2**40)
PROBLEMS: Mapping[str, tuple[str, Callable[..., Workload], tuple[str, ...]]] = {
    "gemm": ("M N K", Gemm, ()),
    "convolution": ("N H W C F KH KW", Convolution, ("stride", "padding")),
    "attention": ("B H SQ SK D", Attention, ("causal",)),
    "decode": ("B H KVH S D", Decode, ()),
    "elementwise": ("N", Elementwise, ("operands",)),
    "reduction": ("ROWS COLS", Reduction, ("sums_only",)),
}
"""Each kind with its sizes, what is made of them, and the options that only it takes."""

_HELP = {
    "gemm": "C[M, N] = A[M, K] B[K, N].",
    "convolution": "N images of H x W x C, F filters of KH x KW.",
    "attention": "FlashAttention: batch, heads, queries, keys, dimension of a head.",
    "decode": "One query for each of H heads, on a cache of KVH heads and S keys.",
    "elementwise": "N results, each of --operands elements.",
    "reduction": "Rows normalized by their own statistic, as by LayerNorm or softmax.",
}


def _problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, (sizes, _, _) in reversed(list(PROBLEMS.items())):
        command = click.option(
            f"--{name}", nargs=len(sizes.split()), metavar=sizes, type=SIZE, help=_HELP[name]
        )(command)
    return command


@click.command(cls=Verb, context_settings={"allow_interspersed_args": False})
@click.argument("script", type=click.Path(), required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@_problem_options
@click.option("--causal", is_flag=True, default=None, help="With --attention: a causal mask.")
@click.option("--operands", type=click.IntRange(1, 16), help="With --elementwise; default: 2.")
@click.option("--stride", type=click.IntRange(1, 64), help="With --convolution; default: 1.")
@click.option("--padding", type=click.IntRange(0, 64), help="With --convolution; default: 0.")
@click.option(
    "--sums-only", is_flag=True, default=None, help="With --reduction: nothing is written back."
)
@click.option(
    "--dtype",
    type=click.Choice(list(SIZES)),
    default=DTYPE,
    show_default=True,
    help="Type of the operands; sums have 32 bits.",
)
@worksheet_arch_option
@click.option(
    "--card",
    "card_name",
    metavar="NAME|FILE",
    help="A card by name, or in a JSON file; default: the first of --arch.",
)
@click.option(
    "--top", type=click.IntRange(min=0), default=TOP, show_default=True, help="How many; 0 for all."
)
@target_options("Write a page with the roofline, too.")
@format_option
def advise(
    script: str | None,
    args: tuple[str, ...],
    dtype: str,
    arch: Architecture | None,
    card_name: str | None,
    top: int,
    target: Target,
    output_format: str,
    **given: Any,
) -> None:
    """Rank tiles: what each takes of a GPU, and what bounds its speed.

    SCRIPT is a TileLang script that tunes a kernel. It runs as `python SCRIPT ARGS` does, up to the
    first tuned function that it calls. advise lowers the configurations of that function, compiles
    none, and lists them in the order in which they are worth trying. Options stand before SCRIPT.

    Without SCRIPT advise is a worksheet: it needs no kernel. Its candidates are a grid of tiles,
    each with shared memory, registers, resident blocks, flops for each byte, stages and waves,
    ranked by the roofline of the card's data sheet. The exit code is 1 if no candidate fits.
    """
    if script is not None:
        _refuse_problems(script, given, target.output)
        from smemreuse.commands.tuned import advise_script

        known = _card(arch, card_name) if card_name else None
        if known is not None:
            arch = architecture(known.arch)
        sys.exit(advise_script(script, args, arch, known, top, output_format))
    target.check()
    found = advise_problem(_problem(given), _card(arch, card_name), dtype)
    if target.output is not None:
        from smemreuse.report.roofline import roofline_page

        target.write(roofline_page(found, top))
    if target.output != "-":
        _emit(found, top, output_format)
    if output_format == "table":
        words = _words(given, {"--arch": arch.name if arch else None, "--card": card_name}, dtype)
        page = None if target.output == "-" else target.output
        step = after_advise(words, page, fits=found.best is not None)
        emit_next(step, aside=target.output == "-")
    if found.best is None:
        sys.exit(1)


def _words(
    given: Mapping[str, Any], valued: Mapping[str, str | None], dtype: str
) -> Iterator[object]:
    """The problem and the card as they were given on the command line."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            yield option
        elif value is not None:
            yield from (option, *(value if isinstance(value, tuple) else (value,)))
    for option, text in valued.items():
        if text is not None:
            yield from (option, text)
    if dtype != DTYPE:
        yield from ("--dtype", dtype)


def _problem(given: Mapping[str, Any]) -> Workload:
    """The one that is asked for, with its own options and no others."""
    asked = [name for name in PROBLEMS if given[name] is not None]
    if len(asked) != 1:
        choice = ", ".join(f"--{name}" for name in PROBLEMS)
        raise InputError(f"give one problem of {choice}; there are {len(asked)}")
    (name,) = asked
    _, make, own = PROBLEMS[name]
    for other, (_, _, options) in PROBLEMS.items():
        for option in options:
            if given[option] is not None and other != name:
                raise InputError(f"--{option.replace('_', '-')} goes with --{other}; leave it out")
    sizes = given[name] if isinstance(given[name], tuple) else (given[name],)
    return make(*sizes, **{one: given[one] for one in own if given[one] is not None})


def _refuse_problems(script: str, given: Mapping[str, Any], output: str | None) -> None:
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is for a worksheet; leave it out", file=script)
    if output is not None:
        raise InputError("the page with the roofline is for a worksheet; leave out -o", file=script)


def _card(arch: Architecture | None, name: str | None) -> Card:
    """The card that is named; else the first of an architecture, by default of sm_90."""
    found = card_for(arch.name if arch else DEFAULT_ARCH, name)
    if arch is not None and found.arch != arch.name:
        raise InputError(f"the {found.name} is {found.arch}, not {arch.name}; leave out --arch")
    return found


def _emit(found: Advice, top: int, output_format: str) -> None:
    from smemreuse.report.advice import advice_data, advice_lines
    from smemreuse.report.tables import console

    lines = advice_lines(console(), found, top)
    emit_answer(output_format, "advice", lines, advice_data(found, top))
