"""`smemreuse pack FILE.csv`: the planner alone, on a table of live ranges."""

from __future__ import annotations

import math
import sys
import time

import click
from rich.console import Console

from smemreuse.commands.csvtable import Table, read_table, table_text
from smemreuse.commands.output import force_option, write_output
from smemreuse.errors import InputError
from smemreuse.planner import Placement, Problem, validate
from smemreuse.planner.best import smallest
from smemreuse.planner.exact import Budget

SECONDS = 10.0
NODES = 10**9


def _checked_seconds(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):  # below no bound and above none
        raise InputError("--seconds is nan; give a number")
    return value


@click.command()
@click.argument("file", type=click.Path())
@click.option("--capacity", type=click.IntRange(min=0), help="Bytes that all must fit into.")
@click.option("-o", "--output", type=click.Path(), help="Where the CSV goes; default: stdout.")
@force_option
@click.option(
    "--seconds",
    callback=_checked_seconds,
    type=click.FloatRange(min=0),
    default=SECONDS,
    show_default=True,
    help="How long to search where no greedy order is proved smallest.",
)
def pack(file: str, capacity: int | None, output: str | None, force: bool, seconds: float) -> None:
    """Pack live ranges: `id,lower,upper,size[,alignment]` in, the same plus `offset` out.

    A row is live from `lower` to before `upper`; sizes, alignments and offsets are bytes. Exit 1
    when it does not fit into the capacity.
    """
    table = read_table(file)
    problem = Problem.from_intervals(table.sizes, table.alignments, table.intervals, table.ids)
    placement = _searched(problem, capacity, seconds)
    validate(problem, placement)
    write_output(output, table_text(table, placement.offsets).encode(), force)
    fits = capacity is None or placement.arena <= capacity
    click.echo(_summary(table, problem, placement, capacity), err=True)
    if not fits:
        sys.exit(1)


def _searched(problem: Problem, capacity: int | None, seconds: float) -> Placement:
    budget = Budget(NODES, time.monotonic() + seconds)
    with Console(stderr=True).status(f"packing, {seconds:g} s at most"):  # silent when piped
        return smallest(problem, budget, capacity)


def _summary(table: Table, problem: Problem, placement: Placement, capacity: int | None) -> str:
    """The arena, the bound, and what is proved of them."""
    arena, bound = placement.arena, problem.lower_bound
    text = f"{len(table.ids):,} ranges in {arena:,} bytes, lower bound {bound:,}"
    if capacity is not None and arena > capacity:
        why = "proved" if placement.proved or bound > capacity else "not proved"
        return f"{text}: does not fit into {capacity:,} bytes ({why})"
    if arena == bound or (placement.proved and capacity is None):
        return f"{text}: proved smallest"
    return f"{text}: not proved smallest" if capacity is None else f"{text}: fits"
