"""The `smemreuse` command. A verb is imported when it is called, and what it needs with it."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from smemreuse._version import __version__
from smemreuse.errors import SmemReuseError

VERBS = {
    "advise": "Say which tile: what each takes of a GPU, what bounds it, and how fast it can be at "
    "best.",
    "analyze": "List a kernel's linear sequence: scope-pair offsets, touches, gen and kill, live "
    "ranges.",
    "apply": "Write the merged TIR: one arena for each kernel and scope, every buffer a pointer "
    "into it.",
    "check": "Say whether a plan is sound, or name the rule, the buffers and a witness.",
    "compare": "Compare the policies: arena, lower bound, packing gap, and whether each plan is "
    "sound.",
    "diff": "Say why kernels take more shared memory than they did, by cause.",
    "explain": "Say why buffers may share bytes, or which rule and which statements forbid it.",
    "graph": "Draw a kernel's shared buffers with Graphviz.",
    "lint": "Find the hazards of kernels themselves: races, missing waits and fences, "
    "uninitialised reads.",
    "pack": "Pack live ranges: `id,lower,upper,size[,alignment]` in, the same plus `offset` out.",
    "plan": "Plan the merged allocation: where each buffer lies.",
    "report": "Write a self-contained page: a memory map of each kernel, with the policies to "
    "switch.",
    "run": "Run a TileLang SCRIPT with its ARGS, and say what shared memory its kernels took.",
}
"""The verbs and the first sentence of their help, which the list of verbs has without importing
them. Each is the command of its name in a module of its name in `smemreuse.commands`."""


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
    help="What to take for `smemreuse.toml`, which tells of your own device functions; by default "
    "the first one from the working directory upwards.",
)
@click.version_option(__version__, prog_name="smemreuse")
def main(config: str | None) -> None:
    """Find how little shared memory a GPU kernel needs, and why.

    FILE is a kernel dumped as TVMScript: `print(mod.script())`. No TVM is needed to read it, and
    nothing in it is executed. `run` executes a TileLang SCRIPT, and needs TileLang.
    """
