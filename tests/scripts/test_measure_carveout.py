"""What is asked of the driver about carve-outs, and how its answers are read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts import measure_carveout
from scripts.measure_carveout import (
    CONFIGURED,
    REGISTERS,
    Case,
    capacity,
    cases,
    chased,
    edges,
    expected,
    parse_ncu,
    slack,
)
from scripts.results import write
from smemreuse.targets.architectures import architecture

H200 = architecture("sm_90")

RAW = """\
==PROF== Connected to process 811 (/tmp/carveout)
==PROF== Profiling "few" - 0: 0%....50%....100% - 1 pass
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","launch__occupancy_limit_shared_mem","launch__shared_mem_config_size",\
"launch__shared_mem_per_block_driver","launch__nonesuch"
"","","","","","","","","","","block","byte","byte/block",""
"0","811","carveout","127.0.0.1","few(unsigned int *)","1","7","(128, 1, 1)","(4224, 1, 1)","0",\
"9.0","10","233,472","1024","n/a"
"1","811","carveout","127.0.0.1","few(unsigned int *)","1","7","(128, 1, 1)","(1, 1, 1)","0",\
"9.0","228","8192","1024","n/a"
==PROF== Disconnected from process 811
"""


def test_a_column_for_each_metric() -> None:
    first, second = parse_ncu(RAW)
    assert first == {
        "launch__occupancy_limit_shared_mem": 10,
        CONFIGURED: 233_472,
        "launch__shared_mem_per_block_driver": 1_024,
        "launch__nonesuch": None,
    }
    assert second[CONFIGURED] == 8_192


def test_nothing_was_profiled() -> None:
    assert parse_ncu("==ERROR== The user does not have permission\n") == []


def test_where_loads_become_slow() -> None:
    assert capacity([3_800, 3_500, 3_490, 3_600, 9_000, 20_000]) == 16 * 1_024
    assert capacity([3_500] * 64) == 256 * 1_024


def test_each_edge_is_asked_on_both_sides() -> None:
    asked = edges(H200)
    for step in (8, 16, 32, 64, 100, 132, 164, 196):
        assert {(step - 1) * 1_024 + near for near in (-128, 0, 128)} <= set(asked)
    assert max(asked) == H200.per_block


def test_the_rules_are_told_apart() -> None:
    few_blocks = Case("grid", 0, 128, 132, 12 * 1_024, 12 * 1_024)
    assert expected(few_blocks, H200, 16, 132) == {
        "one block": 16 * 1_024,
        "resident blocks": 228 * 1_024,
        "resident blocks of this grid": 16 * 1_024,
        "blocks by bytes alone": 228 * 1_024,
    }
    few_resident = Case("threads", 0, 512, 4_224, 12 * 1_024, 12 * 1_024)
    assert expected(few_resident, H200, 4, 132)["resident blocks"] == 64 * 1_024


def test_no_launch_is_asked_that_cannot_be() -> None:
    for case in (*cases(H200, 132), *slack(H200, 132), *chased(H200, 132)):
        registers = REGISTERS[case.kernel]
        assert H200.resident_blocks(case.bytes, case.threads, registers)
        assert case.bytes <= case.declared <= H200.per_block


FAKE = """\
#!/usr/bin/env python3
import sys
log = sys.argv[sys.argv.index("--log-file") + 1]
rows = ['"ID","launch__shared_mem_config_size"', '"","byte"']
for line in sys.stdin:
    _, _, _, size, _, _, before = map(int, line.split())
    if before >= 0:
        rows.append(f'"{len(rows)}","{before}"')
    rows.append(f'"{len(rows)}","{size}"')
    print("==PROF== Profiling")
    print("10 16")
open(log, "w").write("\\n".join(rows))
"""


def test_launches_and_metrics_are_brought_together(tmp_path: Path) -> None:
    """A profiler that says each launch has what it asked for, and watches those before it too."""
    ncu = tmp_path / "ncu"
    ncu.write_text(FAKE)
    ncu.chmod(0o755)
    asked = [Case("order", 0, 128, 8, size, size, -1, size % 3 - 1) for size in (1_024, 2_048, 512)]
    data = measure_carveout.profile(str(ncu), tmp_path / "carveout", asked, 30)
    assert [one["carveout"] for one in data] == [1_024, 2_048, 512]
    assert {one["registers"] for one in data} == {10}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    launch: dict[str, Any] = {"bytes": 1, "cycles": [1, 2]}
    sections = {
        "chase": {"rules": {}, "launches": [launch, launch]},
        "order": {"error": 'no "time"'},
    }
    found = {"name": "NVIDIA H200", "sections": sections}
    path = measure_carveout.path_of(tmp_path, "NVIDIA H200")
    assert path.name == "carveout-h200.json"
    write(path, found, 4)
    assert json.loads(path.read_text()) == found
    assert json.dumps(launch) in path.read_text().split("\n     ")[-1]


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_the_program_compiles(tmp_path: Path) -> None:
    assert measure_carveout.build(tmp_path, "sm_90a").exists()
