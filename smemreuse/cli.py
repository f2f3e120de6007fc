"""The `smemreuse` command. A verb is imported when it is called, and what it needs with it."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from smemreuse._version import __version__
from smemreuse.errors import SmemReuseError

SECTIONS = {
    "Look": {
        "analyze": "List a kernel's statements in order, and each buffer's live range.",
        "compare": "Compare policies: arena, lower bound, and the verdict on each plan.",
        "plan": "Plan the merged allocation: where each buffer lies.",
        "explain": "Say why buffers may share bytes, or what forbids it.",
        "graph": "Draw a kernel's shared buffers with Graphviz.",
        "report": "Write a page with an interactive memory map of each kernel.",
    },
    "Gate": {
        "check": "Prove that a plan is sound, or show what goes wrong under it.",
        "lint": "Find hazards of kernels: races, missing waits, uninitialised reads.",
        "diff": "Say why kernels take more shared memory than they did, by cause.",
    },
    "Apply": {
        "apply": "Write the TIR with its shared buffers merged into one arena.",
        "run": "Run a TileLang SCRIPT, and say what shared memory its kernels take.",
    },
    "Show": {
        "reproduce": "Make lint's findings show on a GPU, and write a report on each.",
    },
    "Advise": {
        "fit": "Say what would make kernels fit into a block's shared memory.",
        "advise": "Rank tiles: what each takes of a GPU, and what bounds its speed.",
        "pack": "Pack the live ranges of a CSV file, without a kernel.",
    },
}
"""The verbs by what they are for, each with the first sentence of its help, which the list of verbs
has without importing them. A sentence fits on one line of 80 columns. Each verb is the command of
its name in a module of its name in `smemreuse.commands`."""

VERBS = {verb: summary for section in SECTIONS.values() for verb, summary in section.items()}


class _Verbs(click.Group):
    """Imports verbs late, and turns the errors meant for the user into one line and an exit code.

    Each verb is known by a stand-in with its name and summary.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, stand_in, rest = super().resolve_command(ctx, args)
        if stand_in and not ctx.resilient_parsing:
            _take_configuration(ctx.params.get("config"))
        return name, stand_in and load_verb(str(stand_in.name)), rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        wide = max(map(len, VERBS))
        for section, verbs in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(f"{verb:{wide}}", verbs[verb]) for verb in verbs])

    def invoke(self, ctx: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names the terminal cannot write
        from smemreuse.commands.verb import internal_errors, say

        try:
            with internal_errors():  # of what is no verb's, such as importing one
                return super().invoke(ctx)
        except SmemReuseError as error:
            say(error)
            sys.exit(error.exit_code)


def load_verb(verb: str) -> click.Command:
    command = getattr(importlib.import_module(f"smemreuse.commands.{verb}"), verb)
    assert isinstance(command, click.Command)
    return command


def _take_configuration(file: str | None) -> None:
    """Before a verb is imported, whose options list what users add."""
    from smemreuse import plugins

    if file is None:
        plugins.ensure()
    else:
        plugins.configure(file)


@click.group(
    cls=_Verbs,
    commands=[click.Command(name, help=summary) for name, summary in VERBS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="The `smemreuse.toml` to read, which declares your own device functions; by default the "
    "first one from the working directory upwards.",
)
@click.version_option(__version__, prog_name="smemreuse")
def main(config: str | None) -> None:
    """Find how little shared memory a GPU kernel needs, and why.

    FILE is a kernel dumped as TVMScript: `print(mod.script())`. No TVM is needed to read it, and
    nothing in it is executed. `run` executes a TileLang SCRIPT, and needs TileLang.
    """
