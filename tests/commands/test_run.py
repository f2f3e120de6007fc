"""`run` without TileLang: a script runs as `python SCRIPT` runs it, and bad input is refused."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from smemreuse.compilers.text.depth import TOO_DEEP
from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import PlanError
from smemreuse.extras import install_command
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.results.run import RunKernel
from smemreuse.versions.merges import merge_of
from tests.commands.running import assert_one_line_error, run
from tests.conftest import DUMPS

module = importlib.import_module("smemreuse.commands.run_script")
EXECUTE = (
    "import sys; from smemreuse.commands.script import execute; "
    "sys.exit(execute({!r}, {!r}).exit_code)"
)
ENDED = (
    "import sys; from smemreuse.commands.script import execute; limit = sys.getrecursionlimit(); "
    "execute({!r}, {!r}); assert sys.getrecursionlimit() == limit; print('ended')"
)
NO_TILELANG = (
    "import sys; sys.modules['tilelang'] = None; from smemreuse.cli import main; main(sys.argv[1:])"
)

BODIES = {
    "returns": "print('done')",
    "is main": "import sys; print(__name__, __file__, sys.argv, sys.path[0], __doc__, __package__)",
    "imports its neighbour": "import neighbour; print(neighbour.__file__)",
    "reads its source": "import inspect\ndef f(): pass\nprint(inspect.getsource(f))",
    "sees itself in sys.modules": "import sys; x = 1; print(sys.modules['__main__'].x)",
    "exits": "import sys; sys.exit()",
    "exits with None": "raise SystemExit(None)",
    "exits with 0": "import sys; sys.exit(0)",
    "exits with 3": "import sys; print('out'); sys.exit(3)",
    "exits with -1": "import sys; sys.exit(-1)",
    "exits with True": "import sys; sys.exit(True)",
    "exits with a text": "import sys; sys.exit('no GPU here')",
    "exits with an empty text": "import sys; sys.exit('')",
    "exits with a list": "import sys; sys.exit([1, 2])",
    "raises": "def f():\n    raise ValueError('wrong')\nprint('before')\nf()",
    "raises while handling": "try:\n    1 / 0\nexcept ArithmeticError:\n    raise ValueError('x')",
    "raises what is no Exception": "raise GeneratorExit('odd')",
    "recurses without end": "import sys\ndef f(): f()\nsys.setrecursionlimit(200)\nf()",
    "raises below the standard library": "import json; json.loads('{')",
    "does not parse": "print('never')\ndef (:",
    "has an excepthook": (
        "import sys\nsys.excepthook = lambda kind, error, frames: print('hook', kind, error)\n"
        "raise ValueError('x')"
    ),
    "replaces sys.stdout": "import io, sys; sys.stdout = io.StringIO(); print('gone')",
}
ARGS = ("--policy", "x", "--", "-h", "")

LATE = "import time\ndef late():\n    time.sleep(0.2)\n    print('late')\n"
LEAVING = {
    "a thread": "import threading\nthreading.Thread(target=late).start()",
    "a thread's thread": (
        "import threading\nfirst = threading.Thread(target=late)\n"
        "threading.Thread(target=first.start).start()"
    ),
    "an open pool": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
        "pool.submit(print, 'early'), pool.submit(late)"
    ),
    "a thread, and fails": (
        "import threading\nthreading.Thread(target=late).start()\nraise ValueError"
    ),
    "a low recursion limit": "import sys\nsys.setrecursionlimit(90)\nlate()",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_script_runs_as_python_runs_it(body: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(body)
    (tmp_path / "neighbour.py").write_text("")
    plain = _python(str(script), *ARGS)
    ours = _python("-c", EXECUTE.format(str(script), ARGS))
    assert ours.stdout == plain.stdout
    assert _without_depth(ours.stderr) == _without_depth(plain.stderr)
    assert ours.returncode == plain.returncode


@pytest.mark.parametrize("body", LEAVING.values(), ids=LEAVING.keys())
def test_a_script_has_ended_with_what_it_left_behind(body: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LATE + body)
    ours = _python("-c", ENDED.format(str(script), ()))
    assert ours.stdout.splitlines()[-2:] == ["late", "ended"]
    assert sorted(_python(str(script)).stdout + "ended\n") == sorted(ours.stdout)


def test_a_daemon_is_not_waited_for(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    late = LATE.replace("0.2", "60")  # which nobody waits for
    script.write_text(late + "import threading\nthreading.Thread(target=late, daemon=True).start()")
    assert _python("-c", ENDED.format(str(script), ())).stdout == "ended\n"


@pytest.mark.parametrize(
    ("error", "message"),
    [(PlanError("no plan"), "no plan"), (RecursionError("too deep"), TOO_DEEP)],
)
def test_a_kernel_that_cannot_be_explained_is_listed_with_its_bytes(
    error: Exception,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_lowered: LoweredKernel, _title: str, *, linted: bool) -> RunKernel:
        raise error

    monkeypatch.setattr(module, "run_kernel", fail)
    (kernel,) = read_dump(DUMPS / "batched_gemm.sm_80.tir").kernels
    (told,) = module._explained([LoweredKernel(kernel, merge_of(kernel))], "x.py")
    assert (told.plans, told.footprint.name) == ((), kernel.name)
    assert capsys.readouterr().err == f"smemreuse: {kernel.name} is not explained: {message}\n"


def _without_depth(text: str) -> str:
    """Our own frames below the script's count towards the limit of recursion."""
    return re.sub(r"repeated \d+ more", "repeated more", text)


def test_a_relative_script_too(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "script.py").write_text(BODIES["is main"] + "\nraise ValueError")
    (tmp_path / "link.py").symlink_to("there/script.py")
    for script in ("there/script.py", "link.py"):
        plain = _python(script, cwd=tmp_path)
        ours = _python("-c", EXECUTE.format(script, ()), cwd=tmp_path)
        assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)


def test_what_a_script_lets_pass_is_told_from_what_it_exits_with(tmp_path: Path) -> None:
    asks = "from smemreuse.commands.script import execute; print(execute({!r}, ()).uncaught)"
    script = tmp_path / "script.py"
    for body, uncaught in (("raise ValueError", True), ("raise SystemExit(1)", False), ("", False)):
        script.write_text(body)
        assert _python("-c", asks.format(str(script))).stdout == f"{uncaught}\n"


def test_an_interrupt_is_the_shells_130(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise KeyboardInterrupt")
    done = _python("-c", EXECUTE.format(str(script), ()))
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


def _python(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], check=False, capture_output=True, text=True, cwd=cwd
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """One that leaves a mark when it runs."""
    path = tmp_path / "script.py"
    path.write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()")
    return path


def assert_refused(tmp_path: Path, *args: str | Path) -> str:
    result = run("run", *args)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert not (tmp_path / "ran").exists()
    return result.stderr


def test_a_missing_script(tmp_path: Path) -> None:
    error = assert_refused(tmp_path, tmp_path / "none.py")
    assert "none.py: cannot be read: No such file" in error
    error = assert_refused(tmp_path, tmp_path / ("x" * 300))
    assert "cannot be read: File name too long" in error


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    assert "is a folder; give a Python script" in assert_refused(tmp_path, tmp_path)


def test_an_existing_file_is_refused_before_the_script_runs(tmp_path: Path, script: Path) -> None:
    there = tmp_path / "there.json"
    there.write_text("kept")
    error = assert_refused(tmp_path, "--json", there, script)
    assert "there.json: exists already; --force overwrites it" in error
    assert there.read_text() == "kept"


def test_a_file_that_cannot_be_written_is_refused_before_the_script_runs(
    tmp_path: Path, script: Path
) -> None:
    error = assert_refused(tmp_path, "--json", tmp_path / "no" / "where.json", script)
    assert "there is no folder" in error
    assert "is a directory" in assert_refused(tmp_path, "--force", "--json", tmp_path, script)
    long = tmp_path / ("x" * 300)
    assert "cannot be written: File name too long" in assert_refused(
        tmp_path, "--report", long, script
    )


def test_options_of_ours_come_first(tmp_path: Path, script: Path) -> None:
    result = run("run", "--policy", "none-such", script)
    assert result.exit_code == 2
    assert "none-such" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_without_tilelang_one_line_says_what_to_install(tmp_path: Path, script: Path) -> None:
    done = _python("-c", NO_TILELANG, "run", str(script))
    assert_one_line_error(done.returncode, done.stdout, done.stderr)
    assert install_command("tilelang") in done.stderr
    assert not (tmp_path / "ran").exists()
