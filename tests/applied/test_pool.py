"""A task runs in a process of its own: what ends it ends nothing else."""

from __future__ import annotations

import os
import sys

import pytest

from scripts.applied.pool import forked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


def work(task: int) -> dict[str, int]:
    if task == 2:
        raise ValueError("two")
    if task == 3:
        os._exit(7)
    return {"twice": 2 * task}


def test_results_and_failures_come_with_their_tasks() -> None:
    found = {task: (made, why) for task, made, why in forked([1, 2, 3, 4], work, 2, 60)}
    assert found[1] == ({"twice": 2}, "")
    assert found[4] == ({"twice": 8}, "")
    assert found[2][0] is None
    assert "ValueError: two" in found[2][1]
    assert found[3][0] is None
    assert found[3][1].startswith("exit 7")
