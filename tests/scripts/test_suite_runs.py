"""Runs of other repositories' tests (`scripts/suite_on_gpu.py`)."""

from __future__ import annotations

import sys

from scripts.suite_on_gpu import _ended

SAYS = "print('before', flush=True)\n"


def test_a_run_that_goes_on_too_long_is_ended_and_told() -> None:
    waits = SAYS + "import time\ntime.sleep(600)"
    assert _ended([sys.executable, "-c", waits], 2) == (None, "before\n")


def test_a_run_that_ends_has_its_exit_code() -> None:
    assert _ended([sys.executable, "-c", SAYS + "raise SystemExit(3)"], 60) == (3, "before\n")
