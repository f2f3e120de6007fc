"""Options that come in groups, and how a verb on many files ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import click
import pytest
from click.testing import CliRunner

from smemreuse.cli import VERBS, load_verb
from smemreuse.commands.batches import Batch
from smemreuse.commands.inputs import Source
from smemreuse.commands.verb import grouped
from tests.conftest import DUMPS

GOOD, MISSING = str(DUMPS / "halo.sm_80.tir"), str(DUMPS / "no such file.tir")


@dataclass
class Pair:
    """Two options, one that no option gives, and one that nobody may give."""

    left: int
    right: int
    middle: str = "-"
    made: list[int] = field(default_factory=list, init=False)


@click.command
@grouped(
    "pair",
    Pair,
    click.option("--left", type=int, default=1),
    click.option("--right", type=int, default=2),
)
@click.option("--apart", is_flag=True)
def command(pair: Pair, apart: bool) -> None:
    """A verb."""
    click.echo(f"{pair} {apart}")


def test_a_group_is_one_argument_of_its_verb() -> None:
    told = CliRunner().invoke(command, ["--right", "5", "--apart"]).stdout
    assert told == "Pair(left=1, right=5, middle='-', made=[]) True\n"


def test_options_stand_in_the_order_in_which_they_are_written() -> None:
    assert [each.name for each in command.params] == ["left", "right", "apart"]


@pytest.mark.parametrize("verb", VERBS)
def test_no_option_is_there_twice(verb: str) -> None:
    names = [name for each in load_verb(verb).params for name in each.opts]
    assert len(names) == len({*names})


def _names(source: Source) -> tuple[Sequence[str], Sequence[str]]:
    if source.error is not None:
        raise source.error
    return [source.file], []


@pytest.mark.parametrize(
    ("files", "failed", "code"),
    [
        ((GOOD,), False, None),
        ((GOOD,), True, 1),
        ((GOOD, MISSING), False, 2),
        ((GOOD, MISSING), True, 2),
    ],
)
def test_what_cannot_be_read_counts_before_what_was_found(
    files: tuple[str, ...], failed: bool, code: int | None
) -> None:
    batch = Batch(files)
    assert batch.results(_names, "reading") == [GOOD]
    if code is None:
        batch.end(["there is a finding"] if failed else [])
        return
    with pytest.raises(SystemExit) as end:
        batch.end(["there is a finding"] if failed else [])
    assert end.value.code == code
