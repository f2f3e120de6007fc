"""What a session rests on is seen, and not known of a version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tilelang
from tilelang import tvm

from fixtures import forms
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.session import TileLangSession
from smemreuse.compilers.tilelang.visitor import IN_SEQUENCE, VERSION
from smemreuse.pipeline.options import checked_options
from smemreuse.versions import TILELANG
from tests.compilers.tilelang.lowering import lower
from tests.conftest import ROOT

pytestmark = pytest.mark.tilelang

UNKNOWN = """
import tilelang
tilelang.__version__ = "99.9"
import smemreuse.tilelang
from fixtures import forms
print(smemreuse.tilelang.footprint(forms.lazy).bytes)
"""


def test_the_version_is_known() -> None:
    """These tests are for the versions that smemreuse says it knows."""
    assert VERSION.is_known
    assert VERSION.name == f"TileLang {tilelang.__version__.partition('+')[0]}"


@pytest.mark.skipif(not IN_SEQUENCE, reason="what this version's merge does cannot be seen")
def test_tilelang_s_own_layout_is_the_one_that_its_pass_makes() -> None:
    """A pass that shares nothing, in the place of one that does, as a version might change it."""
    install()
    before = lower(forms.tiles(), forms.ARCH).before
    another = tilelang.transform.MergeSharedMemoryAllocations(disable_reuse=True)
    session = TileLangSession.of(checked_options("dataflow", "best", "speed"))
    with tvm.transform.PassContext(opt_level=3):
        session.lowering_pass(another, disable_reuse=False)(before)
    (pending,) = session._lowering.merged.values()
    (kernel,) = pending.function.kernels
    seen = pending.planned.stock.plan(kernel, "shared.dyn")
    assert seen.arena_bytes == 2 * forms.TILE
    assert seen.sharing_pairs() == []
    assert pending.stock.merge.configured.plan(kernel, "shared.dyn").arena_bytes == forms.TILE


@pytest.mark.skipif(not IN_SEQUENCE, reason="its IR is older than that of versions to come")
def test_one_that_is_not_known_is_told_and_works(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNKNOWN],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )
    assert done.stdout.strip() == str(forms.TILE)
    (line,) = (one for one in done.stderr.splitlines() if "smemreuse" in one)
    assert "smemreuse does not know TileLang 99.9" in line
    assert TILELANG.replace("tilelang-", "TileLang ") in line
