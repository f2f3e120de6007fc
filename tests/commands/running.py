"""Runs the command line as a user does, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from cProfile import Profile
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from smemreuse.cli import main

SMEMREUSE = Path(sys.executable).with_name("smemreuse")

SMALLEST = ("--objective", "bytes")
"""What asks for the smallest arena, whether it buys a block or not."""

VERBS: dict[str, Callable[[str], list[str]]] = {
    "analyze": lambda file: ["analyze", file],
    "analyze-inner-json": lambda file: ["analyze", "--policy", "inner", "--format", "json", file],
    "compare": lambda file: ["compare", file],
    "compare-json": lambda file: ["compare", "--format", "json", file],
    "plan": lambda file: ["plan", file],
    "plan-tilelang-json": lambda file: [
        *("plan", "--policy", "inner", "--packer", "tilelang", "--format", "json", file)
    ],
    "apply": lambda file: ["apply", file, "-o", "-"],
}
"""Every verb on one file; `apply` writes to standard output."""


def run(*args: str | Path) -> Result:
    """The verb in this process; a crash, or a fault of ours that it tells of, is raised."""
    result = run_faulty(*args)
    assert "fault of smemreuse" not in result.stderr, result.stderr
    return result


def run_faulty(*args: str | Path) -> Result:
    """The same where a fault of ours is expected, which must not end in a traceback."""
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.stderr
    return result


def run_json(*args: str | Path) -> Any:
    """The verb's answer, which must be one JSON document and nothing else on standard output."""
    result = run(*args)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def run_process(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The installed `smemreuse` program."""
    return subprocess.run([SMEMREUSE, *args], capture_output=True, text=True, **options)


def run_without_reader(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The installed program, writing to a pipe whose reader has gone away."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [SMEMREUSE, *args], stdout=writer, stderr=subprocess.PIPE, text=True, **options
        )
    finally:
        os.close(writer)


def calls_of(action: Callable[[], object]) -> int:
    """How many functions `action` calls in this thread: its work, however fast the machine is."""
    profile = Profile()
    profile.runcall(action)
    return sum(entry.callcount for entry in profile.getstats())


def assert_one_line_error(code: int, stdout: str, stderr: str) -> None:
    """Bad input: exit code 2, nothing on standard output, one line on standard error."""
    assert "Traceback" not in stderr
    assert code == 2, stderr
    assert stdout == ""
    assert stderr.startswith("smemreuse: ")
    assert stderr.endswith("\n")
    assert stderr.count("\n") == 1, stderr
