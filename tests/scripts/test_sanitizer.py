"""What a tool of compute-sanitizer tells, or why it tells nothing; a stand-in on PATH plays it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import sanitize_on_gpu
from scripts.sanitize_on_gpu import Task, measured, tasks
from scripts.sanitizer import SANITIZER, TOOLS, sanitized
from smemreuse.results.reproduction import AS_IT_IS, DELAYED

SAYS = """echo '{"bits": [], "hangs": true}'
echo '========= Error: Race reported between Write access at 1 and Read access at 2'
echo '========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)'
"""


@pytest.fixture
def plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a stand-in with this body first on PATH."""

    def play(body: str) -> None:
        path = tmp_path / SANITIZER
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return play


def test_errors_and_the_first_of_them_are_told(plays: Callable[[str], None]) -> None:
    plays(SAYS)
    told = sanitized("racecheck", ["true"], 10)
    assert (told.errors, told.why) == (2, "")
    assert told.first.startswith("Error: Race reported between Write access")


def test_what_takes_too_long_is_killed_with_its_children(
    plays: Callable[[str], None], tmp_path: Path
) -> None:
    late = tmp_path / "late"
    plays(f"(sleep 2; touch {late}) & sleep 60")
    told = sanitized("memcheck", ["true"], 0.5)
    assert (told.errors, told.why) == (None, "not done in 0 s")
    assert not late.exists()


def test_without_a_summary_it_has_failed(plays: Callable[[str], None]) -> None:
    plays("echo 'Device not supported'")
    assert sanitized("memcheck", ["true"], 10).why == "failed: Device not supported"


def test_the_answer_of_the_file_itself_is_kept(plays: Callable[[str], None]) -> None:
    plays(SAYS)
    found = measured(Task(Path("finding.py"), AS_IT_IS, "racecheck"))
    assert (found["errors"], found["hangs"], found["error"]) == (2, True, "")


def test_each_committed_file_is_run_as_it_is_and_delayed_under_each_tool() -> None:
    found = tasks(())
    assert {one.tool for one in found} == {*TOOLS}
    assert {one.variant for one in found} == {AS_IT_IS, DELAYED}
    scripts = {*sanitize_on_gpu.FINDINGS.glob("*.py")}
    assert {one.script for one in found if one.variant == AS_IT_IS} == scripts
    assert {one.script.stem for one in tasks(("mla",))} == {"mla_decode_kernel-0ec99f1e"}
