"""Programs that lower fixtures, run through `smemreuse run` in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.schemas import require_valid

KERNELS = f"""\
import os, sys
sys.path.insert(0, {str(ROOT)!r})

def lower(name, arch="sm_80"):
    import tilelang
    from fixtures.kernels import FIXTURES
    func = FIXTURES[name].make(**FIXTURES[name].configs["small"])
    target = tilelang.tvm.target.Target({{"kind": "cuda", "arch": arch}})
    with target:
        return tilelang.lower(func, target=target)
"""


def smemreuse(*args: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "smemreuse", *map(str, args)],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **env},
    )


def table(*args: str | Path, cwd: Path, **env: str) -> dict[str, Any]:
    """The run's own account, and its exit code."""
    done = smemreuse("run", "--json", "out.json", *args, cwd=cwd, **env)
    assert (cwd / "out.json").exists(), done.stderr
    found = json.loads((cwd / "out.json").read_text())
    assert isinstance(found, dict)
    require_valid(found)
    return found
