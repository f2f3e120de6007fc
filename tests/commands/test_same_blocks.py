"""A kernel has one number of resident blocks, whichever verb tells people of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from smemreuse.commands.report import entry_of
from smemreuse.commands.subjects import read_subjects
from smemreuse.report.page.rows import overview_row
from tests.commands.running import run
from tests.conftest import DUMPS


@pytest.mark.parametrize(
    "name",
    [
        "batched_gemm.sm_80",
        "mixed_dtypes.sm_80",
        "miss_tiles.sm_80",
        "gemm.sm_90a",
        "stream_k.sm_90a",
    ],
)
def test_compare_explain_and_the_page_agree(name: str) -> None:
    path = DUMPS / f"{name}.tir"
    (row,) = json.loads(run("compare", path, "--format", "json").stdout)["kernels"]
    residents = row["policies"]["dataflow"]["residents"]
    (explained,) = re.findall(r"blocks per SM of \w+: (\d+)", run("explain", path).stdout)
    assert int(explained) == residents["blocks"] > 0
    (subject,) = read_subjects([str(path)])
    page: Any = overview_row(entry_of(subject, "best", "speed"), "kernel")
    assert page["resident"][1] == residents["blocks"]
    assert page["blocks"][1] == residents["blocks_by_memory"]
