"""`run -m MODULE` without TileLang: a module runs as `python -m` runs it, with all that follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from smemreuse.commands.run import run as command
from smemreuse.errors import InputError, LoweredOnlyError
from tests.commands.running import assert_one_line_error, run
from tests.conftest import ROOT

EXECUTE = (
    "import sys; from smemreuse.commands.script import execute_module; "
    "sys.exit(execute_module({!r}, {!r}).exit_code)"
)
BODIES = {
    "is main": "import sys; print(__name__, __file__, sys.argv, sys.path[0], __package__, __doc__)",
    "is named by its spec": "print(__spec__.name, __loader__ is not None)",
    "imports its neighbour": "from . import neighbour; print(neighbour.__name__)",
    "sees itself in sys.modules": "import sys; x = 1; print(sys.modules['__main__'].x)",
    "exits with 3": "raise SystemExit(3)",
    "exits with a text": "import sys; sys.exit('no GPU here')",
    "raises": "def f():\n    raise ValueError('wrong')\nprint('before')\nf()",
    "does not parse": "print('never')\ndef (:",
    "imports what is not there": "import nowhere_to_be_found",
    "imports what fails": "import json.tool as t; t.nothing",
    "leaves a thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print(ROUND))).start()\nROUND = 'late'"
    ),
}
ARGS = ("-n", "2", "--policy", "x", "--", "-m", "")


def python(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "neighbour.py").write_text("")
    return tmp_path / "pack"


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("name", ["pack.module", "pack"])
def test_a_module_runs_as_python_runs_it(body: str, name: str, package: Path) -> None:
    (package / ("module.py" if name == "pack.module" else "__main__.py")).write_text(body)
    plain = python("-m", name, *ARGS, cwd=package.parent)
    ours = python("-c", EXECUTE.format(name, ARGS), cwd=package.parent)
    assert ours.stdout == plain.stdout
    assert ours.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]
    assert "smemreuse" not in ours.stderr
    assert ours.returncode == plain.returncode


def test_a_package_that_fails_is_told_as_python_tells_it(package: Path) -> None:
    (package / "__init__.py").write_text("import nowhere_to_be_found")
    plain = python("-m", "pack.neighbour", cwd=package.parent)
    ours = python("-c", EXECUTE.format("pack.neighbour", ()), cwd=package.parent)
    assert ours.returncode == plain.returncode == 1
    assert "nowhere_to_be_found" in ours.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pack.nothing", "there is no module 'pack.nothing'"),
        ("nothing.at_all", "there is no module 'nothing.at_all'"),
        ("", "there is no module ''"),
        ("pack", "pack: is a package without a __main__, and cannot be run"),
    ],
)
def test_what_is_no_module_is_told(
    name: str, told: str, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smemreuse.commands.script import execute_module

    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "argv", ["smemreuse"])
    monkeypatch.chdir(package.parent)
    with pytest.raises(InputError, match=told):
        execute_module(name, ())


def test_a_program_ends_where_it_needs_what_was_only_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from smemreuse.commands.script import execute

    monkeypatch.setattr(sys, "argv", ["smemreuse"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "script.py"
    raising = f"from smemreuse.errors import {LoweredOnlyError.__name__} as E\n"
    script.write_text(raising + "def f():\n    raise E('k is only lowered')\n\nf()\n")
    end = execute("script.py", ())
    assert (end.exit_code, end.uncaught) == (0, False)
    assert end.stopped == "script.py:3: k is only lowered"
    assert capsys.readouterr().err == ""


def parsed(*args: str) -> tuple[object, tuple[str, ...]]:
    """The module, and everything that is its own."""
    params = command.make_context("run", [*args]).params
    script = params["script"]
    return params["module"], (*([script] if script is not None else ()), *params["args"])


@pytest.mark.parametrize(
    ("args", "module", "rest"),
    [
        (("-m", "pytest", "-n", "2", "tests"), "pytest", ("-n", "2", "tests")),
        (("-mpytest", "--strict"), "pytest", ("--strict",)),
        (("--policy", "none", "-m", "p", "--policy", "q"), "p", ("--policy", "q")),
        (("--json", "-m", "-m", "p"), "p", ()),
        (("--policy=none", "-m", "p", "--", "x"), "p", ("--", "x")),
        (("script.py", "-m", "p"), None, ("script.py", "-m", "p")),
        (("--mend", "--", "-m"), None, ("-m",)),
    ],
)
def test_what_follows_the_module_is_its_own(
    args: tuple[str, ...], module: str | None, rest: tuple[str, ...]
) -> None:
    assert parsed(*args) == (module, rest)


def test_a_script_or_a_module_is_wanted() -> None:
    done = run("run")
    assert done.exit_code == 2
    assert "Give a SCRIPT, or -m MODULE." in done.stderr
    with pytest.raises(click.UsageError):
        command.main(["-m"], standalone_mode=False)


def test_what_changes_nothing_mends_nothing() -> None:
    done = run("run", "--policy", "none", "--mend", "-m", "this")
    assert (done.exit_code, "changes nothing" in done.stderr) == (2, True)


@pytest.mark.parametrize("what", [("-m", "this"), (__file__,)])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--policy", "none", "--strict"), "changes nothing, and --strict would"),
        (("--policy", "none", "--packer", "best"), "changes nothing, and --packer would"),
        (("--policy", "none", "--objective", "speed"), "changes nothing, and --objective would"),
        (("--arch", "sm_80"), "--arch is for --lower-only"),
        (("--maps", "3"), "--maps is for the page"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    options: tuple[str, ...], told: str, what: tuple[str, ...]
) -> None:
    done = run("run", *options, *what)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


@pytest.mark.parametrize("files", [("--json", "out", "--report", "./out"), ("--report", "-")])
def test_the_page_needs_a_file_of_its_own(
    files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("run", *files, "-m", "this")
    assert_one_line_error(done.exit_code, done.stdout, done.stderr)
    assert "needs a file of its own" in done.stderr


TERMINATED = """\
import multiprocessing, os, signal, time
if __name__ == "__main__":
    children = [
        multiprocessing.get_context("fork").Process(target=time.sleep, args=[60])
        for _ in range(30)
    ]
    for child in children:
        child.start(); child.terminate(); child.join()
    print(*{{child.exitcode for child in children}}, flush=True)
    {}
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""


def test_a_time_limit_is_an_interrupt_and_the_shells_143(package: Path) -> None:
    (package / "module.py").write_text(TERMINATED.format(""))
    told = EXECUTE.format("pack.module", ()).replace("sys.exit(", "print(")
    done = python("-c", told, cwd=package.parent)
    assert done.stdout.splitlines() == ["-15", "143"]
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_a_program_that_minds_the_signal_itself_is_left_to(package: Path) -> None:
    own = "signal.signal(signal.SIGTERM, lambda *_: exit(7))"
    (package / "module.py").write_text(TERMINATED.format(own))
    done = python("-c", EXECUTE.format("pack.module", ()), cwd=package.parent)
    assert done.returncode == 7


def test_a_folder_for_dumps_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run("run", "--dump", str(tmp_path / "taken" / "d"), "-m", "this")
    assert_one_line_error(done.exit_code, done.stdout, done.stderr)
