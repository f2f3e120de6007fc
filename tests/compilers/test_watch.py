"""How a child process comes to take part in a run. What is waited for is a package of the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smemreuse.compilers.watch import NOT_FOLLOWED, SETTINGS, SITE
from tests.conftest import ROOT

WATCHES = """\
import sys
from smemreuse.compilers import watch
watch._enter = lambda *_: print("entered", "tilelang.late" in sys.modules)
"""


def python(program: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, SETTINGS: '{"folder": "."}', **env},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a package of the awaited name in it, which imports a part of itself."""
    package = tmp_path / "tilelang"
    package.mkdir()
    (package / "__init__.py").write_text("import tilelang.late\nvalue = 1\n")
    (package / "late.py").write_text("")
    return tmp_path


def test_it_is_entered_when_all_of_the_package_is_there(folder: Path) -> None:
    program = WATCHES + "with watch.watching():\n  import json, tilelang\n  print(tilelang.value)"
    assert python(program, folder).stdout == "entered True\n1\n"


def test_a_package_that_is_there_already_is_not_waited_for(folder: Path) -> None:
    program = WATCHES + "import tilelang\nwith watch.watching():\n  print('inside')"
    assert python(program, folder).stdout == "entered True\ninside\n"


def test_without_the_package_nothing_happens(tmp_path: Path) -> None:
    program = WATCHES + "sys.modules.pop('tilelang', None)\nwith watch.watching():\n  import json"
    assert python(program, tmp_path).stdout == ""


def test_a_fork_is_watched_where_only_children_are(folder: Path) -> None:
    program = WATCHES + (
        "import os\nwith watch.watching_children():\n  child = os.fork()\n"
        "  import tilelang\n  os.waitpid(child, 0) if child else None"
    )
    assert python(program, folder).stdout == "entered True\n"


@pytest.mark.parametrize("own", [True, False])
def test_the_site_takes_part_and_steps_aside(own: bool, folder: Path) -> None:
    """A `sitecustomize` of the machine's own is imported all the same."""
    if own:
        (folder / "sitecustomize.py").write_text("mark = 'own'\n")
    program = (
        "import sys, sitecustomize\nfrom smemreuse.compilers.watch import _Watcher\n"
        "print(getattr(sitecustomize, 'mark', None), isinstance(sys.meta_path[0], _Watcher))\n"
        "print([one for one in sys.path if one.endswith('site')])"
    )
    path = os.pathsep.join([str(SITE), str(ROOT), str(folder)])
    done = python(program, folder, PYTHONPATH=path)
    assert done.stdout == f"{'own' if own else None} True\n[]\n", done.stderr


STARTS = """\
import os, subprocess, sys
from smemreuse.compilers import watch
with watch.watching():
    os.environ["PYTHONPATH"] = os.pathsep.join([str(watch.SITE), os.environ["PYTHONPATH"]])
    STARTS
"""
BARE = "{k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}"
NAMED = "{os.fsencode(k): os.fsencode(v) for k, v in os.environ.items()}"


@pytest.mark.parametrize(
    ("starts", "seen"),
    [
        ("subprocess.run([sys.executable, '-c', ''])", True),
        ("subprocess.run([sys.executable, '-W', 'ignore', '-uc', ''])", True),
        (f"subprocess.run([sys.executable, '-c', 'pass', '-I'], env={NAMED})", True),
        ("subprocess.run([sys.executable, '-c', ''], env={})", False),
        (f"subprocess.run([sys.executable, '-c', ''], env={BARE})", False),
        ("subprocess.run([sys.executable, '-Ec', ''])", False),
        ("subprocess.run([os.fsencode(sys.executable), '-W', 'ignore', '-I', '-c', ''])", False),
        ("os.waitpid(os.posix_spawn(sys.executable, ['python', '-c', ''], {}), 0)", False),
        ("subprocess.run(['true'], env={})", True),  # which has no kernels
        ("subprocess.run('exit 0', shell=True, env={})", True),
    ],
)
def test_a_python_that_cannot_take_part_is_told(starts: str, seen: bool, folder: Path) -> None:
    done = python(STARTS.replace("STARTS", starts), folder)
    assert (done.returncode, done.stderr) == (0, "")
    notes = [json.loads(line) for one in folder.glob("*.jsonl") for line in one.open()]
    assert [one["why"] for one in notes] == ([] if seen else [NOT_FOLLOWED])


def test_behind_a_run_inside_the_one_around_it_goes_on(folder: Path) -> None:
    program = (
        "import os\nfrom smemreuse.compilers import watch\n"
        "watch._enter = lambda _, text: print('entered', text)\n"
        "watch.watch('outer')\n"
        "with watch.watching():\n  {}\nprint('behind')\nimport tilelang"
    )
    inner = 'entered {"folder": "."}\n'
    assert python(program.format("pass"), folder).stdout == "behind\nentered outer\n"
    both = f"{inner}entered outer\nbehind\n"
    assert python(program.format("import tilelang"), folder).stdout == both


def test_a_process_that_cannot_take_part_goes_on_and_says_so(folder: Path) -> None:
    """The package of that name is no TileLang."""
    program = "import tilelang; print(tilelang.value)"
    path = os.pathsep.join([str(SITE), str(ROOT), str(folder)])
    done = python(program, folder, PYTHONPATH=path)
    assert (done.stdout, done.returncode) == ("1\n", 0)
    (note,) = folder.glob("*.jsonl")
    assert '"event": "blind"' in note.read_text()
