"""What processes note in the folder that they share, and how it is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.records import Recorder, Settings, dumped, read_suite
from smemreuse.ir.source import SourceLine
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.hazards import LintReport
from smemreuse.results.suite import Judgement, Trouble
from smemreuse.results.verdict import SOUND, UNSOUND
from tests.conftest import ROOT

FOOTPRINT = KernelFootprint("k", "sm_90", 128, None, 4096, 2048, 0, 8, 16, 232_448, True)
PROVED = Judgement(SOUND)
WRONG = Judgement(UNSOUND, "rule 4")


def test_notes_of_one_kernel_are_joined(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.lowered("a/0", footprint=FOOTPRINT, ours=PROVED, kept=False, dump="k.tir")
    recorder.known("a/0", compiler=WRONG)
    recorder.known("a/0", footprint=replace(FOOTPRINT, registers=200, blocks_after=2))
    (kernel,) = read_suite(tmp_path).kernels
    assert (kernel.ours, kernel.compiler, kernel.dump) == (PROVED, WRONG, "k.tir")
    assert (kernel.footprint.registers, kernel.footprint.blocks_after) == (200, 2)
    assert (kernel.lowered, kernel.processes) == (1, {os.getpid()})


def test_a_kernel_that_many_processes_lower_counts_once(tmp_path: Path) -> None:
    lowers = (
        "import sys; from pathlib import Path; from tests.compilers.test_records import *\n"
        "Recorder(Path(sys.argv[1])).lowered('a/0', footprint=FOOTPRINT, ours=PROVED)"
    )
    Recorder(tmp_path).lowered("a/0", footprint=FOOTPRINT, ours=PROVED)
    subprocess.run([sys.executable, "-c", lowers, tmp_path], check=True, cwd=ROOT)
    assert len(list(tmp_path.iterdir())) == 2
    (kernel,) = read_suite(tmp_path).kernels
    assert (kernel.lowered, len(kernel.processes)) == (2, 2)


def test_calls_that_made_a_kernel_are_kept_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    one, two = Elaboration("f", SourceLine("a.py", 3), {"M": 1}, "t::a"), Elaboration(test="t::b")
    for made in (one, two, one, None, Elaboration()):
        recorder.lowered("a/0", made, footprint=FOOTPRINT)
    (kernel,) = read_suite(tmp_path).kernels
    assert (kernel.elaborations, kernel.lowered) == ([one, two], 5)


def test_a_process_that_is_killed_costs_its_last_line(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.lowered("a/0", footprint=FOOTPRINT, ours=PROVED)
    whole = next(tmp_path.iterdir())
    whole.write_bytes(whole.read_bytes() + b'{"event": "known", "key": "a/0", "fields": {"comp')
    suite = read_suite(tmp_path)
    assert (len(suite.kernels), suite.lost, suite.kernels[0].compiler) == (1, 1, None)
    recorder.known("unknown/0", compiler=PROVED)
    (tmp_path / "other.jsonl").write_text("[]\n\n3\n")
    assert read_suite(tmp_path).lost == 4


def test_what_was_lowered_here_before_it_was_reloaded_is_no_news(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.note("reloaded", name="seen", source="1")
    recorder.note("compiling", source="1")
    recorder.note("reloaded", name="unseen", source="2")
    assert read_suite(tmp_path).reloaded == ["unseen"]


def test_troubles_are_counted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for _ in range(2):
        recorder.note("failed", name="k", why="no")
    recorder.note("left", name="k", why="fault")
    recorder.note("untold", name="k", why="odd")
    recorder.note("stopped", name="k")
    suite = read_suite(tmp_path)
    assert (suite.failed, suite.left) == ({Trouble("k", "no"): 2}, {Trouble("k", "fault"): 1})
    assert (suite.stopped, suite.untold) == (1, {Trouble("k", "odd"): 1})


def test_notes_behind_the_end_of_the_run_go_nowhere(tmp_path: Path) -> None:
    Recorder(tmp_path / "gone").note("stopped", name="k")
    assert list(tmp_path.iterdir()) == []


def test_what_takes_longer_comes_later(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.lowered("a/0", footprint=FOOTPRINT, ours=PROVED)
    recorder.known("a/0", mends=["a barrier"], unmended=["a race: no place"])
    recorder.known("a/0", lint=LintReport("k", False, unknown=("why",)))
    recorder.known("a/0", scopes=[])
    (kernel,) = read_suite(tmp_path).kernels
    assert (kernel.mends, kernel.unmended) == (("a barrier",), ("a race: no place",))
    assert kernel.lint == LintReport("k", False, unknown=("why",))
    assert kernel.received == ("a", 0)


def test_a_function_of_which_nothing_comes_any_more_is_told(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.note("received", name="done")
    recorder.lowered("a/0", footprint=FOOTPRINT, ours=PROVED)
    recorder.note("received", name="killed")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(recorder.note, "stopped", name="other").result()
    assert read_suite(tmp_path).unfinished == ["killed"]


def test_settings_reach_children() -> None:
    settings = Settings("folder", "none", lower_only=True, arch="sm_80", drawn=True)
    assert Settings.from_text(settings.as_text()) == settings
    assert json.loads(settings.as_text())["policy"] == "none"


def test_no_dump_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "k.tir").write_text("mine")
    assert [dumped(tmp_path, "k", text) for text in ("a", "b", "a", "mine")] == [
        *("k-2.tir", "k-3.tir", "k-2.tir", "k.tir")
    ]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["k-2.tir", "k-3.tir", "k.tir"]


def test_many_write_dumps_at_once(tmp_path: Path) -> None:
    texts = [str(number % 10) for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda text: dumped(tmp_path, "k", text), texts))
    assert len(set(names)) == 10
    assert all((tmp_path / one).read_text() == text for one, text in zip(names, texts, strict=True))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Compilation error:\nint x;\nk.cu(3): error: no y\n1 error", "k.cu(3): error: no y"),
        ("x\nError:\nnvcc fatal   : Unknown option", "nvcc fatal   : Unknown option"),
        ("Check failed: a == b", "Check failed: a == b"),
        ('Traceback (most recent call last):\n  File "x"\nTVMError: no', "TVMError: no"),
        ("Layout conflict in loop:\n    loop Fragment(...)\n", "Layout conflict in loop:"),
        ("", ""),
    ],
)
def test_the_line_that_tells(text: str, told: str) -> None:
    found = error_line(RuntimeError(text))
    assert found == f"RuntimeError: {told}"
