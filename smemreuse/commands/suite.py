"""A program of many kernels in many processes, and the one table that it ends with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from smemreuse.commands.output import json_text, write_output, written_to_stdout
from smemreuse.commands.script import End, execute, execute_module, lacks_gpu
from smemreuse.commands.suite_page import PageRequest, drawing_of, write_page
from smemreuse.commands.taking_part import taking_part
from smemreuse.commands.verb import say
from smemreuse.compilers.records import Settings
from smemreuse.extras import require
from smemreuse.report.suite import suite_data, suite_lines, suite_table
from smemreuse.report.tables import console, print_told
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
        exit_code = end.exit_code or _own_exit_code(suite, settings)
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
    return exit_code


def _own_exit_code(suite: Suite, settings: Settings) -> int:
    """Of a program that ended with 0: 2 where smemreuse could not do what it was asked to."""
    if suite.unhooked:
        return NOT_RUN
    return int(settings.audits_only and _audit_fails(suite))


def _audit_fails(suite: Suite) -> bool:
    """Whether some merge is unsound, was not audited for a fault of ours, or there was none."""
    return bool(suite.refuted or suite.left) or not suite.kernels


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
