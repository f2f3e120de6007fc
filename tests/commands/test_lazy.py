"""A verb imports what it needs and no more."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import click
import pytest

from smemreuse.cli import VERBS, main
from tests.conftest import DUMPS, ROOT

BATCHED = str(DUMPS / "batched_gemm.sm_80.tir")
HEAVY = (
    "numpy",
    "rich",
    "networkx",
    "joblib",
    "plotly",
    "graphviz",
    "ortools",
    "tilelang",
    "tvm",
    "torch",
)
LOADED = f"""\
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from smemreuse.cli import main
with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
    try:
        main(sys.argv[1:])
    except SystemExit:
        pass
print(json.dumps([one for one in {HEAVY} if one in sys.modules]))
"""


def loaded_by(*args: str) -> set[str]:
    """Which of the heavy packages the command line has imported when it is done."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *args], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("args", [("--version",), ("--help",), (), ("no-such-verb",)])
def test_without_a_verb_nothing_heavy_is_loaded(args: tuple[str, ...]) -> None:
    assert loaded_by(*args) == set()


@pytest.mark.parametrize(
    ("args", "needed"),
    [
        (("advise", "--gemm", "64", "64", "64"), {"rich"}),
        (("advise", "--gemm", "64", "64", "64", "-o", "/dev/null"), {"rich", "plotly"}),
        (("analyze", BATCHED), {"rich"}),
        (("compare", BATCHED), {"rich"}),
        (("plan", BATCHED), {"rich"}),
        (("check", BATCHED), {"rich"}),
        (("explain", BATCHED), {"rich"}),
        (("apply", BATCHED, "-o", "/dev/null"), set()),
        (("graph", BATCHED, "--format", "dot", "-o", "/dev/null"), {"graphviz"}),
        (("report", BATCHED, "-o", "/dev/null"), {"rich"}),
        (("pack", "/dev/null"), {"rich"}),
        (("run", "/dev/null/no-script"), {"rich"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_draws_is_loaded_where_it_draws(args: tuple[str, ...], needed: set[str]) -> None:
    """Analysis needs NumPy, and the planner's conflicts are a graph of networkx."""
    assert loaded_by(*args) - {"numpy", "networkx"} == needed


def test_the_summaries_are_those_of_the_verbs() -> None:
    for name, summary in VERBS.items():
        command = getattr(importlib.import_module(f"smemreuse.commands.{name}"), name)
        first, *_ = (command.help or "").split("\n\n")
        assert " ".join(first.split()).startswith(summary)
        assert main.commands[name].get_short_help_str(60) == command.get_short_help_str(60)


def test_a_verb_that_does_not_exist_is_met_with_those_that_do() -> None:
    with pytest.raises(click.exceptions.NoSuchCommand, match="expain"):
        main.main(["expain"], standalone_mode=False)


def test_the_shell_completes_what_a_verb_that_is_not_yet_imported_takes() -> None:
    asked = {
        "_SMEMREUSE_COMPLETE": "bash_complete",
        "COMP_WORDS": "smemreuse plan --pack",
        "COMP_CWORD": "2",
    }
    program = "from smemreuse.cli import main; main(prog_name='smemreuse')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **asked},
    )
    assert done.stdout == "plain,--packer\n"
    assert done.stderr == ""
