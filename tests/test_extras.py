"""What an extra brings, where it is missing: one line that names the extra, wherever it is met."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from smemreuse.errors import BackendError
from smemreuse.extras import install_command, require
from tests.conftest import ROOT

PRELUDE = "import sys; sys.modules[{hidden!r}] = None\n"  # as if it were not installed
STUB = "class Missing: pass\n"


def python(hidden: str, code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python in an environment that lacks a package; the other packages are empty ones."""
    for package in {"tilelang", "torch", "elftools"} - {hidden}:
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text(STUB)
    return subprocess.run(
        [sys.executable, "-c", PRELUDE.format(hidden=hidden) + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": f"{folder}:{ROOT}", "PATH": "/usr/bin:/bin"},
        check=False,
    )


@pytest.mark.parametrize("package", ["elftools", "tilelang"])
def test_an_import_names_the_extra(package: str, tmp_path: Path) -> None:
    done = python(package, "import smemreuse.tilelang", tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("smemreuse.errors.BackendError: TileLang cannot be imported")
    assert package in last.partition("(")[2]
    assert f"`{install_command('tilelang')}`" in last


def test_the_door_to_tvm_names_its_extra(tmp_path: Path) -> None:
    done = python("tvm", "import smemreuse.tvm", tmp_path)
    assert f"`{install_command('tvm')}`" in done.stderr.splitlines()[-1]


RUN = "from smemreuse.cli import main; sys.argv = ['smemreuse', 'run', *{!r}]; main()"


@pytest.mark.parametrize("package", ["elftools", "tilelang", "torch"])
@pytest.mark.parametrize("options", [[], ["--policy", "none"]])
def test_a_run_names_the_extra_in_one_line(
    package: str, options: list[str], tmp_path: Path
) -> None:
    if package == "torch" and not options:
        pytest.skip("TileLang itself imports torch, and this one is a stub")
    script = tmp_path / "script.py"
    script.write_text("print('ran')")
    done = python(package, RUN.format([*options, str(script)]), tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert package in line
    assert f"`{install_command('tilelang')}`" in line


@pytest.mark.parametrize(
    ("recorded", "command"),
    [
        (None, "'smemreuse[graph]'"),
        ({"url": "file:///a/b", "dir_info": {}}, "'smemreuse[graph] @ file:///a/b'"),
        ({"url": "file:///a%20b", "dir_info": {"editable": True}}, "-e '/a b[graph]'"),
        (
            {"url": "https://x.org/s.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "'smemreuse[graph] @ git+https://x.org/s.git@abc'",
        ),
        (
            {"url": "https://x.org/s.whl", "archive_info": {}},
            "'smemreuse[graph] @ https://x.org/s.whl'",
        ),
    ],
)
def test_an_extra_comes_from_where_the_package_came_from(
    recorded: dict[str, object] | None,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "smemreuse-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: smemreuse\nVersion: 0.1.0\n")
    if recorded is not None:
        (folder / "direct_url.json").write_text(json.dumps(recorded))
    monkeypatch.syspath_prepend(tmp_path)
    assert install_command("graph") == f"pip install {command}"


def test_what_is_not_installed_names_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smemreuse.extras.PACKAGE", "no-such-package")
    assert install_command("graph") == "pip install 'no-such-package[graph]'"


def test_packages_that_are_there_are_not_imported() -> None:
    require("tilelang", "TileLang", "json")
    with pytest.raises(BackendError, match="no_such_package is missing"):
        require("tilelang", "TileLang", "json", "no_such_package")
