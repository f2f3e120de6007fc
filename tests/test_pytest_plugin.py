"""The fixture `smem_footprint`, in pytest runs of its own."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import entry_points

import pytest

import smemreuse
from smemreuse.api.footprints import bytes_of, measured
from tests.conftest import DUMPS, ROOT

pytest_plugins = ("pytester",)

INSTALLED = any(one.value == "smemreuse.pytest_plugin" for one in entry_points(group="pytest11"))
"""As it is wherever smemreuse was installed since it has the plugin."""

ARGUMENTS = () if INSTALLED else ("-p", "smemreuse.pytest_plugin")
DUMP = DUMPS / "miss_tiles.sm_80.tir"


def outcome(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    pytester.makepyfile(f"import smemreuse\nDUMP = {str(DUMP)!r}\n{body}")
    return pytester.runpytest_inprocess(*ARGUMENTS, "-p", "no:xdist", "-p", "no:cacheprovider")


def test_it_is_an_entry_point() -> None:
    lines = (ROOT / "setup.cfg").read_text().splitlines()
    at = lines.index("pytest11 =")
    assert lines[at + 1].strip() == "smemreuse = smemreuse.pytest_plugin"


def test_pytest_has_nothing_to_say_of_a_package_that_came_first(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under `smemreuse run -m pytest`, where a wheel lists what pytest would rewrite."""
    wheel = pytester.mkdir("listed-1.0.dist-info")
    (wheel / "METADATA").write_text("Metadata-Version: 2.1\nName: listed\nVersion: 1.0\n")
    (wheel / "entry_points.txt").write_text("[pytest11]\nlisted = listed\n")
    (wheel / "RECORD").write_text("smemreuse/__init__.py,,\nlisted.py,,\n")
    pytester.makepyfile(listed="", test_it="def test_it():\n    pass\n")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path), prepend=os.pathsep)
    first = "import smemreuse, pytest; pytest.main(['-p', 'no:cacheprovider'])"
    found = pytester.run(sys.executable, "-c", first)
    found.assert_outcomes(passed=1)
    assert "listed" in found.stdout.str()
    assert "rewritten" not in found.stdout.str()


def test_a_kernel_that_stays_below(pytester: pytest.Pytester) -> None:
    body = """
def test_it(smem_footprint):
    assert smem_footprint(DUMP, at_most="48 KiB") == 16_384
    assert smem_footprint(smemreuse.read(DUMP)[0], at_most=16_384) == 16_384
    batched = DUMP.replace("miss_tiles", "batched_gemm")
    assert smem_footprint(batched, at_most="32 KiB", objective="bytes") == 32_768
    assert smem_footprint(batched, at_most="64 KiB") == 65_536
    assert smem_footprint(batched, at_most=65_536, stock=True) == 65_536
"""
    outcome(pytester, body).assert_outcomes(passed=1)


def test_a_kernel_that_does_not_is_explained(pytester: pytest.Pytester) -> None:
    body = 'def test_it(smem_footprint):\n    smem_footprint(DUMP, at_most="12 KiB")\n'
    found = outcome(pytester, body)
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(
        [
            "*AssertionError: miss_tiles_kernel takes 16,384 bytes of shared memory a block, "
            "4,096 more than the 12,288 allowed",
            "*peak: all 16,384 bytes are live at `*` (line *):",
            "*blocks per SM of sm_80: 6; one more is stopped by registers (80 for each of *",
        ]
    )
    assert "def _footprint" not in found.stdout.str()


def test_what_is_no_kernel_and_no_number(pytester: pytest.Pytester) -> None:
    body = """
import pytest

def test_it(smem_footprint):
    for wrong, words in ((7, "7 is no kernel; give a dump"), ("nowhere.tir", "cannot be read")):
        with pytest.raises(smemreuse.InputError, match=words):
            smem_footprint(wrong, at_most=1)
    with pytest.raises(smemreuse.InputError, match="no number of bytes"):
        smem_footprint(DUMP, at_most="a lot")
    with pytest.raises(smemreuse.InputError, match="takes no arguments"):
        smem_footprint(DUMP, 1024, at_most=1)
    with pytest.raises(TypeError, match="at_most"):
        smem_footprint(DUMP)
"""
    outcome(pytester, body).assert_outcomes(passed=1)


def test_a_run_that_does_not_use_it_loads_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(
        "import json, sys\n"
        "def test_it():\n"
        "    ours = [one for one in sys.modules if one.startswith('smemreuse')]\n"
        "    heavy = {'numpy', 'networkx', 'rich', 'click', 'plotly', 'tilelang', 'torch', 'tvm'}\n"
        "    open('loaded.json', 'w').write(json.dumps(ours + [*heavy & {*sys.modules}]))\n"
    )
    found = pytester.runpytest_subprocess(
        *ARGUMENTS, "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"
    )
    found.assert_outcomes(passed=1)
    loaded = json.loads((pytester.path / "loaded.json").read_text())
    assert sorted(loaded) == [
        "smemreuse",
        "smemreuse._version",
        "smemreuse.errors",
        "smemreuse.pytest_plugin",
    ]


@pytest.mark.parametrize(
    ("amount", "count"),
    [
        (49_152, 49_152),
        ("48 KiB", 49_152),
        ("48KB", 49_152),
        ("49,152", 49_152),
        ("49_152 B", 49_152),
        ("1.5 kib", 1_536),
        ("1 MiB", 1 << 20),
        ("0", 0),
    ],
)
def test_numbers_of_bytes(amount: int | str, count: int) -> None:
    assert bytes_of(amount) == count


@pytest.mark.parametrize("amount", ["", "KiB", "-1", -1, "48 GiB", "4 8", True, 1.5, None])
def test_what_is_no_number_of_bytes(amount: object) -> None:
    with pytest.raises(smemreuse.InputError, match="no number of bytes"):
        bytes_of(amount)  # type: ignore[arg-type]


def test_a_dump_of_several_kernels_is_its_largest() -> None:
    assert [one.bytes for one in measured(DUMPS / "two_kernels.sm_80.tir")] == [4_096, 8_192]


def test_what_lies_beside_the_arena_counts() -> None:
    (found,) = measured(DUMPS / "gemm.sm_90a.tir", arch="sm_90")
    assert found.bytes == 33_792
    assert [*found.explained()][-1] == (
        "beside that: 1,024 bytes of barriers, static arrays, padding"
    )
