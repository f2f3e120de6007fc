"""A program of many kernels in many processes, and the one table that it ends with."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from smemreuse.commands.output import emit_next, json_text, write_output, written_to_stdout
from smemreuse.commands.script import TERMINATED, End, execute, execute_module, lacks_gpu
from smemreuse.commands.suite_page import PageRequest, drawing_of, write_page
from smemreuse.commands.taking_part import taking_part
from smemreuse.commands.verb import say
from smemreuse.compilers.records import Settings
from smemreuse.errors import printable
from smemreuse.extras import require
from smemreuse.report.next_steps import Ran, after_run
from smemreuse.report.suite import suite_data, suite_lines, suite_table
from smemreuse.report.tables import console, print_told
from smemreuse.report.titles import counted, holding
from smemreuse.results.hazards import LintReport
from smemreuse.results.suite import Suite
from smemreuse.targets.architectures import architecture

NOT_RUN = 2
"""The exit code where smemreuse could not get into the compiler."""

TESTS_FAILED = 1
"""pytest's exit code for that."""

NO_GPU = "PyTorch sees no GPU here; `--lower-only` lowers kernels without one, and launches none"

NOTHING_LOWERED = "no kernel was lowered for CUDA by this process, or by those that it started"


@dataclass(frozen=True)
class Program:
    """A module or, where that is None, a script, and its arguments."""

    module: str | None
    script: str | None
    args: Sequence[str]

    @property
    def name(self) -> str:
        return str(self.script if self.module is None else self.module)

    @property
    def words(self) -> tuple[str, ...]:
        """As `run` takes it."""
        first = ("-m", self.module) if self.module is not None else (str(self.script),)
        return (*first, *self.args)

    def run(self) -> End:
        if self.module is not None:
            return execute_module(self.module, self.args)
        return execute(str(self.script), self.args)


@dataclass(frozen=True)
class Outputs:
    """The files that are asked for, and whether they may be overwritten."""

    json: str | None
    page: PageRequest | None
    force: bool

    def emit_next(
        self, program: Program, settings: Settings, found: Iterable[LintReport | None], **told: bool
    ) -> None:
        """The last line for people: what to do next; `found` are the reports on the kernels, `told`
        as `after_run` takes it."""
        if self.json is not None:
            return
        page = None if self.page is None else self.page.file
        written = page if page is not None and Path(page).exists() else None
        has_certain = any(
            one.certain and one.accepted is None
            for report in found
            if report is not None
            for one in report.hazards
        )
        ran = Ran(program.words, _words(settings), written, settings.dump)
        emit_next(after_run(ran, has_certain=has_certain, **told))


def _words(settings: Settings) -> tuple[str, ...]:
    """The options that are not the defaults, as `run` takes them."""
    usual, words = Settings(), []
    for name in ("policy", "packer", "objective", "arch"):
        value = getattr(settings, name)
        if value != getattr(usual, name):
            words += [f"--{name}", str(value)]
    flags = {
        "--strict": settings.strict,
        "--fix": settings.mend,
        "--lower-only": settings.lower_only,
    }
    return (*words, *(flag for flag, is_set in flags.items() if is_set))


def run_suite(program: Program, settings: Settings, outputs: Outputs) -> int:
    """Runs a program, tells what became of its kernels, and gives the exit code.

    Raises `BackendError` where there is no TileLang, and `InputError` where the program cannot be
    run or the file not be written.
    """
    if settings.arch is not None:
        architecture(settings.arch)  # which raises for one that is not known
    require("tilelang", "TileLang", "tilelang", "elftools", "torch")
    with taking_part(settings) as part:
        end = program.run()
        suite = part.suite
        own = _own_failures(suite, settings)
        exit_code = end.exit_code or own.exit_code
        if outputs.json is None:
            with written_to_stdout():
                print_suite(suite, audits_only=settings.audits_only, lower_only=settings.lower_only)
        else:
            document = _document(program, settings, suite, exit_code)
            write_output(outputs.json, document.encode(), outputs.force)
        if outputs.page is not None:
            drawing = drawing_of(part, suite, program.name, outputs.page)
            write_page(outputs.page, drawing, program.name)
    if end.stopped:
        say(f"{end.stopped}; that is as far as it went")
    elif suite.is_empty and not end.uncaught:
        say(NOTHING_LOWERED)
    lacked_gpu = end.lacked_gpu or (end.exit_code == TESTS_FAILED and lacks_gpu())
    if lacked_gpu and not settings.lower_only:
        say(NO_GPU)
    say_exit_code(end, program.name, own)
    outputs.emit_next(
        *(program, settings, (one.lint for one in suite.kernels)),
        is_empty=suite.is_empty,
        lacked_gpu=lacked_gpu and not settings.lower_only,
    )
    return exit_code


@dataclass(frozen=True)
class OwnExit:
    """The exit code of a run whose program ended with 0, and why it is not 0 as well."""

    exit_code: int = 0
    reasons: tuple[str, ...] = ()


def unhooked_failures(suite: Suite) -> OwnExit:
    """2 where smemreuse could not do what it was asked to."""
    processes = counted(suite.unhooked, "process", "es")
    reason = f"smemreuse could not get into the TileLang of {processes}"
    return OwnExit(NOT_RUN, (reason,)) if suite.unhooked else OwnExit()


def _own_failures(suite: Suite, settings: Settings) -> OwnExit:
    """As `unhooked_failures`; where merges are audited alone, 1 where some merge is unsound, was
    not audited for a fault of ours, or there was none."""
    if suite.unhooked or not settings.audits_only:
        return unhooked_failures(suite)
    refuted, left = len(suite.refuted), sum(suite.left.values())
    clauses = {
        f"{counted(refuted, 'merge')} of TileLang's unsound": refuted,
        f"{counted(left, 'kernel')} not judged": left,
        NOTHING_LOWERED: not suite.kernels,
    }
    reasons = tuple(holding(clauses))
    return OwnExit(int(bool(reasons)), reasons)


def say_exit_code(end: End, program: str, own: OwnExit) -> None:
    """A line that says why the exit code is not 0: it is the program's, whose traceback says so
    where there is one, or for what was found."""
    if end.exit_code == TERMINATED:
        say(f"exit code {end.exit_code}: {printable(program)} was ended by SIGTERM")
    elif end.exit_code and not end.uncaught:
        say(f"exit code {end.exit_code}: that of {printable(program)}")
    elif own.exit_code and not end.exit_code:
        say(f"exit code {own.exit_code}: {'; '.join(own.reasons)}")


def _document(program: Program, settings: Settings, suite: Suite, exit_code: int) -> str:
    return json_text(
        "suite",
        module=program.module,
        script=program.script,
        args=[*program.args],
        python=sys.executable,
        policy=settings.policy,
        objective=settings.objective,
        lower_only=settings.lower_only,
        exit_code=exit_code,
        **suite_data(suite),
    )


def print_suite(suite: Suite, *, audits_only: bool = False, lower_only: bool = False) -> None:
    """Prints the table of kernels and the notes on it; nothing where nothing happened."""
    if not suite.is_empty:
        out = console()
        table = suite_table(out, suite, audits_only=audits_only)
        lines = suite_lines(suite, audits_only=audits_only, lower_only=lower_only)
        print_told(out, table, lines)
