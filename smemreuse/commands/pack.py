"""`smemreuse pack FILE.csv`: the planner alone, on a table of live ranges."""

from __future__ import annotations

import math
import os
import sys
import time

import click
from rich.console import Console

from smemreuse.commands.csvtable import read_table, table_text
from smemreuse.commands.output import Target, emit_next, target_options
from smemreuse.commands.verb import Verb
from smemreuse.errors import InputError
from smemreuse.planner import Problem, validate
from smemreuse.planner.exact import Budget
from smemreuse.planner.fit import Decision, decided, minimized
from smemreuse.report.next_step import after_pack

SECONDS = 10.0
NODES = 10**9
JOBS = min(os.cpu_count() or 1, 8)


def _checked_seconds(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):  # below no bound and above none
        raise InputError("--seconds is nan; give a number")
    return value


@click.command(cls=Verb)
@click.argument("file", type=click.Path())
@click.option(
    "--capacity", type=click.IntRange(min=0), help="The bytes that the packing must fit into."
)
@click.option(
    "--minimize", is_flag=True, help="Go on to the smallest arena after one fits into --capacity."
)
@target_options("Where the CSV goes; default: stdout.")
@click.option(
    "--seconds",
    callback=_checked_seconds,
    type=click.FloatRange(min=0),
    default=SECONDS,
    show_default=True,
    help="The time to search for where no greedy order decides.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=JOBS,
    show_default=True,
    help="The number of processes that search for a packing of --capacity bytes.",
)
def pack(
    file: str,
    capacity: int | None,
    minimize: bool,
    target: Target,
    seconds: float,
    jobs: int,
) -> None:
    """Pack the live ranges of a CSV file, without a kernel.

    FILE has the columns `id,lower,upper,size[,alignment]`; the answer adds `offset`. A row is live
    from `lower` to before `upper`; sizes, alignments and offsets are bytes. With --capacity pack
    takes the first packing that fits.

    The exit code is 1 if nothing fits, or if pack found neither a packing nor a proof that there is
    none in time. It then writes the smallest packing that it found, and says on stderr which of
    the two it is.
    """
    table = read_table(file)
    problem = Problem.from_intervals(table.sizes, table.alignments, table.intervals, table.ids)
    begin = time.monotonic()
    decision = _searched(problem, capacity, minimize, seconds, jobs)
    taken = time.monotonic() - begin
    validate(problem, decision.placement)
    target.write(table_text(table, decision.placement.offsets))
    click.echo(_summary(problem, decision, capacity, taken), err=True)
    step = after_pack(
        file,
        fits=decision.fits,
        smallest=decision.placement.proved,
        capacity=capacity,
        seconds=seconds,
    )
    emit_next(step, aside=target.output in (None, "-"))
    if not decision.fits:
        sys.exit(1)


def _searched(
    problem: Problem, capacity: int | None, minimize: bool, seconds: float, jobs: int
) -> Decision:
    budget = Budget(NODES, time.monotonic() + seconds)
    with Console(stderr=True).status(f"packing, {seconds:g} s at most"):  # silent when piped
        if capacity is None:
            return Decision(True, minimized(problem, budget))
        decision = decided(problem, capacity, budget, jobs)
        if not (minimize and decision.fits):
            return decision
        smaller = minimized(problem, Budget(NODES, budget.deadline))
        return min(decision, Decision(True, smaller), key=lambda found: found.placement.arena)


def _summary(problem: Problem, decision: Decision, capacity: int | None, taken: float) -> str:
    """The arena, the bound, and what is proved of them."""
    placement = decision.placement
    arena, bound = placement.arena, problem.lower_bound
    text = f"{len(problem.sizes):,} ranges in {arena:,} bytes, lower bound {bound:,}"
    if decision.fits is None:
        return (
            f"{text}: no packing of {capacity:,} bytes was found in {taken:.1f} s, "
            "and it is not proved that there is none"
        )
    if not decision.fits:
        return f"{text}: does not fit into {capacity:,} bytes (proved)"
    if placement.proved:
        return f"{text}: proved smallest"
    return f"{text}: not proved smallest" if capacity is None else f"{text}: fits"
