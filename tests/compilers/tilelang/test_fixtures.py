"""The committed dumps are what today's fixtures lower to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.tilelang


def test_dumps_are_not_stale() -> None:
    script = ROOT / "scripts" / "regenerate_fixtures.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run scripts/regenerate_fixtures.py\n{done.stdout}{done.stderr}"
