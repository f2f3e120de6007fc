"""Which options of `run` go together: what would do nothing is refused."""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.core import ParameterSource

from smemreuse.compilers.records import NO_POLICY


def check_options(context: click.Context) -> None:
    """Raises `click.UsageError` for options that contradict each other, or do nothing together."""
    for message in _contradictions(context):
        raise click.UsageError(message)


def _contradictions(context: click.Context) -> Iterator[str]:
    given = [name for name in context.params if _is_given(context, name)]
    if context.params["policy"] == NO_POLICY:
        for name in ("mend", "strict", "packer", "objective"):
            if name in given:
                yield f"--policy none changes nothing, and --{name} would."
    if "arch" in given and not context.params["lower_only"]:
        yield "--arch is for --lower-only: what is compiled is for the GPU that there is."
    if "maps" in given and context.params["report_file"] is None:
        yield "--maps is for the page: give --report FILE."


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
