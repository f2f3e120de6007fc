"""A verb imports what it needs and no more."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import click
import pytest
from click.testing import CliRunner

from smemreuse.cli import SECTIONS, VERBS, main
from tests.conftest import DUMPS, ROOT

KERNEL = str(DUMPS / "halo.sm_80.tir")
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
import importlib, io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from smemreuse.cli import main
before, asked = json.loads(sys.stdin.read())
for package in before:
    importlib.import_module(package)
for args in asked:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            main(args)
        except SystemExit:
            pass
    print(json.dumps([one for one in {HEAVY} if one in sys.modules]), flush=True)
    os._exit(0)
"""
"""Forks for each command line, as none may find what another has imported."""

Args = tuple[str, ...]


def loaded_by(asked: Sequence[Args], before: Args = ()) -> dict[Args, set[str]]:
    """Which heavy packages each command line imports, besides those imported before all of them."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        input=json.dumps([before, asked]),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    answers = [set(json.loads(line)) - set(before) for line in done.stdout.splitlines()]
    return dict(zip(asked, answers, strict=True))


def test_without_a_verb_nothing_heavy_is_loaded() -> None:
    asked = [("--version",), ("--help",), (), ("no-such-verb",)]
    assert loaded_by(asked) == {args: set() for args in asked}


DRAWING = {
    ("advise", "--gemm", "64", "64", "64"): {"rich"},
    ("advise", "--gemm", "64", "64", "64", "-o", "/dev/null"): {"rich", "plotly"},
    ("analyze", KERNEL): {"rich"},
    ("compare", KERNEL): {"rich"},
    ("plan", KERNEL): {"rich"},
    ("check", KERNEL): {"rich"},
    ("explain", KERNEL): {"rich"},
    ("apply", KERNEL, "-o", "/dev/null"): set(),
    ("graph", KERNEL, "--format", "dot", "-o", "/dev/null"): {"graphviz"},
    ("report", KERNEL, "-o", "/dev/null"): {"rich"},
    ("pack", "/dev/null"): {"rich"},
    ("run", "/dev/null/no-script"): {"rich"},
}
"""What each verb loads besides NumPy, for the analysis, and networkx, for the planner."""


def test_what_draws_is_loaded_where_it_draws() -> None:
    assert loaded_by(list(DRAWING), before=("numpy", "networkx")) == DRAWING


def test_the_summaries_are_those_of_the_verbs() -> None:
    for name, summary in VERBS.items():
        command = getattr(importlib.import_module(f"smemreuse.commands.{name}"), name)
        first, *_ = (command.help or "").split("\n\n")
        assert " ".join(first.split()).startswith(summary)
        assert main.commands[name].get_short_help_str(60) == command.get_short_help_str(60)


def test_the_list_of_verbs_cuts_no_sentence() -> None:
    """Each verb stands once, under a heading, with its sentence whole and on its line."""
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout.splitlines()
    for name, summary in VERBS.items():
        assert summary.endswith(".")
        assert [line.split(None, 1)[1] for line in lines if line.startswith(f"  {name} ")] == [
            summary
        ]
    assert {f"{section}:" for section in SECTIONS} <= {*lines}
    assert {*VERBS} == {*main.commands}


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
