"""Every fixture's plan is proved smallest, and the same in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smemreuse.pipeline.planning import POLICY_NAMES, plan_kernel
from tests.conftest import ROOT
from tests.dumps import kernels_of

DUMPS = sorted((ROOT / "fixtures").glob("*/*.tir"))

PROGRAM = """
import random
from smemreuse.planner import PACKERS, Problem
rng = random.Random(7)
begins = [rng.randrange(60) for _ in range(48)]
ranges = [(begin, begin + rng.randrange(1, 20)) for begin in begins]
sizes = [rng.randrange(1, 40) * 16 for _ in range(48)]
problem = Problem.from_intervals(sizes, [16] * 48, ranges)
print(PACKERS["best"](problem))
"""


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_every_plan_is_proved_smallest(path: Path) -> None:
    for kernel in kernels_of(path):
        for scope in kernel.shared_scopes():
            for policy in POLICY_NAMES:
                assert plan_kernel(kernel, scope, policy=policy).optimal


def test_the_same_in_every_process() -> None:
    digests = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, check=True, env=environment
        )
        digests.add(hashlib.sha256(done.stdout).hexdigest())
    assert len(digests) == 1
