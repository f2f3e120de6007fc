"""The `smemreuse` command."""

from __future__ import annotations

import io
import sys
from typing import Any, NoReturn

import click

from smemreuse import __version__
from smemreuse.commands.analyze import analyze
from smemreuse.commands.apply import apply
from smemreuse.commands.check import check
from smemreuse.commands.compare import compare
from smemreuse.commands.explain import explain
from smemreuse.commands.graph import graph
from smemreuse.commands.pack import pack
from smemreuse.commands.plan import plan
from smemreuse.commands.report import report
from smemreuse.commands.run import run
from smemreuse.compilers.text.depth import TOO_DEEP
from smemreuse.errors import InputError, SmemReuseError


class _Group(click.Group):
    """Turns the errors meant for the user into one line and their exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names the terminal cannot write
        try:
            return super().invoke(ctx)
        except RecursionError:
            _exit_with(InputError(TOO_DEEP))
        except SmemReuseError as error:
            _exit_with(error)


def _exit_with(error: SmemReuseError) -> NoReturn:
    click.echo(f"smemreuse: {error}", err=True)
    sys.exit(error.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="smemreuse")
def main() -> None:
    """Find how little shared memory a GPU kernel needs, and why.

    FILE is a kernel dumped as TVMScript: `print(mod.script())`. No TVM is needed to read it, and
    nothing in it is executed. `run` executes a TileLang SCRIPT, and needs TileLang.
    """


for command in (compare, explain, analyze, plan, apply, check, graph, report, run, pack):
    main.add_command(command)
