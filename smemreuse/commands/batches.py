"""Work on many inputs: one at a time, or spread over processes or machines by joblib."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar

import click

from smemreuse import plugins
from smemreuse.commands.inputs import (
    Inputs,
    Source,
    files_argument,
    find_inputs,
    note_if_empty,
)
from smemreuse.commands.kept import KeptResults, key_of
from smemreuse.commands.output import emit_next
from smemreuse.commands.verb import (
    FINDING,
    Decorator,
    grouped,
    internal_errors,
    say,
    say_finding,
)
from smemreuse.errors import BackendError, InputError, SmemReuseError, printable
from smemreuse.extras import needing
from smemreuse.progress import track
from smemreuse.report.next_step import NextStep

S = TypeVar("S")
T = TypeVar("T")

LOCAL = "loky"
OTHER_PLUGINS = (
    f"a worker has other plugins, or another {plugins.CONFIG}, than the command; install the same "
    f"there, and have {plugins.VARIABLE} name the same file"
)
_CHUNK = 16
"""Inputs for each worker that are in hand at once where a backend gives no stream of results."""


@dataclass(frozen=True)
class Spread:
    """Over how many processes work is spread, and by which backend of joblib's."""

    jobs: int = 1
    backend: str = LOCAL

    @property
    def here(self) -> bool:
        """Whether all is done in this process."""
        return self.jobs == 1 and self.backend == LOCAL


@dataclass(frozen=True)
class Found(Generic[T]):
    """What one input gave: results, remarks for standard error, and why there are no results."""

    results: tuple[T, ...] = ()
    remarks: tuple[str, ...] = ()
    error: SmemReuseError | None = None


Work = Callable[[Source], tuple[Sequence[T], Sequence[str]]]
"""What is done with an input: results that are small enough to send and keep, and remarks. It is
named by its module, or a `functools.partial` of what is."""


_JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="The number of processes that share the files; 0 for one on each core.",
)
_BACKEND = click.option(
    "--backend",
    default=LOCAL,
    show_default=True,
    metavar="NAME",
    help="The joblib backend for --jobs. `loky`: processes on this machine. `dask`: the cluster at "
    "DASK_SCHEDULER_ADDRESS, or one on this machine. `ray`: the cluster that Ray finds or starts.",
)
_ONLY_FINDINGS = click.option(
    "--only-findings",
    is_flag=True,
    help="Show only kernels with findings; `lint` groups the hazards of many kernels by cause.",
)
_NO_CACHE = click.option(
    "--no-cache",
    is_flag=True,
    help="Compute each dump anew, and store no results. By default smemreuse stores them in "
    "SMEMREUSE_CACHE_DIR or the user's cache folder.",
)
_FORMAT = click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "sarif", "github"]),
    default="table",
    show_default=True,
    help="`table` is for people, `json` for programs. `sarif` (2.1.0) and `github` (annotations) "
    "have the findings alone.",
)


@dataclass
class Batch:
    """The files that a verb is given, how the work on them is spread, and what is told of it.

    `whole` is whether every file could be read.
    """

    files: tuple[str, ...]
    jobs: int = 1
    backend: str = LOCAL
    only_findings: bool = False
    no_cache: bool = False
    output_format: str = "table"
    whole: bool = field(default=True, init=False)

    @cached_property
    def inputs(self) -> Inputs:
        return find_inputs(self.files)

    @property
    def single(self) -> bool:
        """Whether one file was asked for by its name."""
        return self.inputs.single

    def results(
        self, work: Work[T], doing: str, *, here: bool = False, kept: bool = False
    ) -> list[T]:
        """As `of_each`; `here` keeps all in this process, `kept` lets results be kept on disk.
        Says where there is nothing."""
        spread = Spread() if here else Spread(self.jobs, self.backend)
        kept = kept and not self.no_cache
        found, self.whole = of_each(self.inputs, work, spread, doing, kept=kept)
        note_if_empty(found, self.files)
        return found

    def end(
        self, reasons: Sequence[str] = (), step: NextStep | None = None, *, aside: bool = False
    ) -> None:
        """Ends the process where something could not be read, which has been said of each file, or
        for the `reasons` of a finding, which are said. People are told the next `step`, on standard
        error if `aside`."""
        if reasons and self.whole:
            say_finding(reasons)
        if step is not None and self.output_format == "table":
            emit_next(step, aside=aside)
        if not self.whole:
            sys.exit(InputError.exit_code)
        if reasons:
            sys.exit(FINDING)


def batch_options(*more: Decorator, findings: bool = True) -> Decorator:
    """FILE..., `--jobs`, `--backend` and `--no-cache`, as `batch`; with `findings` what is told of
    them, too.

    `more` are options that stand before those of the spreading.
    """
    first, last = ([_ONLY_FINDINGS], [_FORMAT]) if findings else ([], [])
    options: list[Decorator] = [*first, *more, _JOBS, _BACKEND, _NO_CACHE, *last]
    return grouped("batch", Batch, files_argument, *options)


def of_each(
    inputs: Inputs,
    work: Work[T],
    spread: Spread = Spread(),
    doing: str = "reading",
    *,
    kept: bool = False,
) -> tuple[list[T], bool]:
    """The results of `work` for all inputs, in their order, and whether every input was read.

    One of many that cannot be read is reported on standard error, and the others are still read;
    the caller should then exit with the code of `InputError`. Raises the error of an only input.
    Results that are `kept` on disk are taken from there.
    """
    results: list[T] = []
    whole = not inputs.errors
    for error in inputs.errors:
        say(error)
    spread = spread if len(inputs) > 1 else Spread()
    calls = spread_over(_Call(work, plugins.stamp(), kept), inputs.sources(), spread)
    for found in track(calls, doing, total=len(inputs)):
        if found.error is not None:
            if inputs.single:
                raise found.error
            say(found.error)
            whole = False
        for remark in found.remarks:
            click.echo(remark, err=True)
        results += found.results
    return results, whole


@dataclass(frozen=True)
class _Call(Generic[T]):
    """Work whose errors and faults of our own are results: they cost the other inputs nothing.

    `added` is what users have added where the command runs. Raises `BackendError` where that is
    not so here, for a worker elsewhere would plan by other rows. Results are `kept` on disk unless
    code of users decides them, too, which no key has.
    """

    work: Work[T]
    added: str
    kept: bool = False

    def __call__(self, source: Source) -> Found[T]:
        if plugins.stamp() != self.added:
            raise BackendError(OTHER_PLUGINS)
        if source.error is not None:
            return Found(error=source.error)
        return found_by(self.work, source, kept=self.kept)


def found_by(work: Work[T], source: Source, *, kept: bool) -> Found[T]:
    """What work gives for a text that could be read: as it was kept on disk, where that may be."""
    store = KeptResults.default() if kept and not plugins.is_code() else None
    if store is None:
        return _worked_out(work, source)
    key = key_of(work, source, plugins.stamp())
    before = store.get(key)
    if isinstance(before, Found):
        return before
    found = _worked_out(work, source)
    if found.error is None:
        store.put(key, found)
    return found


def _worked_out(work: Work[T], source: Source) -> Found[T]:
    try:
        with internal_errors(source.file):
            results, remarks = work(source)
        return Found(tuple(results), tuple(remarks))
    except SmemReuseError as error:
        return Found(error=error.located(file=source.file))


# Spreading --------------------------------------------------------------------------------------


def spread_over(work: Callable[[S], T], items: Iterable[S], how: Spread) -> Iterator[T]:
    """The result of each item, in their order, as they come; few items are in hand at once."""
    if how.here:
        return map(work, items)
    return _by_joblib(work, items, how)


def _by_joblib(work: Callable[[S], T], items: Iterable[S], how: Spread) -> Iterator[T]:
    import joblib  # which work in this process does not need
    from joblib.parallel import get_active_backend

    jobs = how.jobs or -1
    with ExitStack() as stack:
        stack.enter_context(_backend(how.backend, jobs))
        _enter(stack, joblib, how.backend, jobs)
        backend, _ = get_active_backend()
        call = joblib.delayed(work)
        try:
            if backend.supports_return_generator:
                yield from joblib.Parallel(return_as="generator")(map(call, items))
                return
            workers = backend.effective_n_jobs(jobs)
            rest = iter(items)
            while chunk := [*islice(rest, _CHUNK * workers)]:
                yield from joblib.Parallel()(map(call, chunk))
        except joblib.externals.loky.process_executor.BrokenProcessPool as error:
            reason = str(error).partition("\n")[0]
            message = f"a process that shared the work ended: {reason}; try fewer --jobs"
            raise BackendError(message) from None


def _enter(stack: ExitStack, joblib: Any, backend: str, jobs: int) -> None:
    """Makes a backend the active one. Raises `BackendError` where joblib has none of that name."""
    try:
        stack.enter_context(joblib.parallel_config(backend=backend, n_jobs=jobs))
    except (ImportError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise BackendError(f"--backend {printable(backend)} cannot be used: {reason}") from None


def _backend(name: str, jobs: int) -> AbstractContextManager[object]:
    """The context that a backend needs: a client for Dask, a registration with joblib for Ray."""
    if name == "dask":
        return _dask_client(jobs)
    if name == "ray":
        try:
            from ray.util.joblib import register_ray
        except ImportError:
            raise BackendError("--backend ray needs Ray: pip install 'ray[default]'") from None
        register_ray()
    return ExitStack()


def _dask_client(jobs: int) -> AbstractContextManager[object]:
    """A client of the cluster that Dask's own settings name, or of one on this machine."""
    with needing("dask", "Dask"):
        import dask
        from distributed import Client
    address = dask.config.get("scheduler-address", None)
    try:
        if address:
            client = Client(address, timeout="10s")
        else:
            workers = jobs if jobs > 0 else os.cpu_count()
            # Its profiler walks the stack every 10 ms, and those of an analysis are deep.
            with dask.config.set({"distributed.worker.profile.enabled": False}):
                client = Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    except OSError as error:
        where = address or "this machine"
        raise BackendError(f"no Dask cluster at {where}: {error}") from None
    assert isinstance(client, AbstractContextManager)
    return client
