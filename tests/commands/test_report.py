"""`report`: every kind of kernel has a page that fits together, and is told of when written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from smemreuse.commands.report import entry_of as entry_of_subject
from smemreuse.commands.subjects import read_subjects
from smemreuse.report.page.maps import map_legend, memory_map
from smemreuse.report.page.rows import overview_row
from tests.commands.running import run
from tests.compilers.text.texts import dump, launched
from tests.conftest import DUMPS, ROOT
from tests.report.test_maps import Elements

BATCHED = DUMPS / "batched_gemm.sm_80.tir"
RACE = ROOT / "fixtures" / "lint" / "race_between_threads.tir"
CARRIED = DUMPS / "scratch_before_carried.sm_80.tir"


def entry_of(path: Path) -> dict[str, Any]:
    return entry_of_subject(read_subjects([str(path)])[0], "best", "bytes")


def rows_of(page: Path) -> list[Any]:
    """The rows of a page's overview."""
    _, _, data = page.read_text().partition('id="data">')
    rows: list[Any] = json.loads(data.partition("</script>")[0])["rows"]
    return rows


def test_every_kernel_has_a_view_that_fits_together(sample_path: Path) -> None:
    for subject in read_subjects([str(sample_path)]):
        entry: dict[str, Any] = entry_of_subject(subject, "best", "bytes")
        assert json.loads(json.dumps(entry)) == entry
        names = {buffer["name"] for buffer in entry["buffers"]}
        for policy, plan in entry["policies"].items():
            assert plan["peak"]["bytes"] <= plan["lower_bound_bytes"]
            if policy != "dataflow":  # in which concurrent arms add to what is live at once
                assert plan["peak"]["bytes"] == plan["lower_bound_bytes"]
            for one in plan["rectangles"]:
                assert 0 <= one["begin"] < one["end"] <= len(entry["steps"])
                assert one["offset"] + one["bytes"] <= plan["arena_bytes"]
            found = Elements(memory_map(entry, policy)).of("smem-buffer")
            drawn = [one["data-buffer"] for one in found]
            assert drawn == [one["name"] for one in plan["rectangles"]]
            assert set(drawn) <= names


def test_steps_bands_and_marks_name_the_lines_of_python(tmp_path: Path) -> None:
    path = tmp_path / BATCHED.name
    lines = BATCHED.read_text().splitlines()
    path.write_text("\n".join(f"{line}  # from d/k.py:{at}" for at, line in enumerate(lines, 1)))
    entry = entry_of(path)
    for one in (*entry["steps"], *entry["bands"], *entry["marks"]):
        assert one["place"] == f" (line {one['line']}, from k.py:{one['line']})"
    drawn = memory_map(entry, "dataflow")
    assert "(line 33, from k.py:33)" in drawn


def test_of_pairs_that_the_checker_was_not_asked_about_the_page_says_what_is_known() -> None:
    def pairs(most: int | None) -> dict[tuple[str, str], tuple[str, str]]:
        subject = read_subjects([str(BATCHED)])[0]
        entry: Any = entry_of_subject(subject, "best", "bytes", most=most)
        return {
            tuple(one["buffers"]): (one["words"], one["forbidden_by"]) for one in entry["pairs"]
        }

    asked, unasked = pairs(None), pairs(0)
    assert asked["As", "Bs"] == ("must not share", "live together")
    assert unasked.pop(("As", "Bs")) == ("kept apart", "live together")
    assert unasked.items() <= asked.items()


def test_the_page_has_hazards_unless_told_not_to(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    for options, summary in (((), "1 certain"), (("--no-lint",), None)):
        assert run("report", RACE, "-o", out, "--force", *options).exit_code == 0
        (row,) = rows_of(out)
        assert row["summary"] == summary


def test_what_is_live_at_the_peak() -> None:
    peak = entry_of(BATCHED)["policies"]["dataflow"]["peak"]
    assert peak == {"position": 7, "bytes": 32768, "buffers": ["As", "Bs"]}


def test_peak_live_may_be_less_than_the_lower_bound() -> None:
    """Two arms that run concurrently: in program order one buffer lives after the other."""
    entry = entry_of(DUMPS / "divergent_arms.sm_80.tir")
    legend = map_legend(entry, "dataflow")
    assert entry["policies"]["dataflow"]["lower_bound_bytes"] == 8192
    assert "arena 8,192" in legend
    assert "peak live 4,096" in legend


def test_occupancy_before_and_after() -> None:
    entry = entry_of(BATCHED)
    assert entry["side_by_side"] == {
        "bytes": 65536,
        "blocks": 2,
        "resident": 2,
        "registers": "192 a thread, estimated from local arrays, not ptxas' count",
        "fits": True,
        "left": 101376,
        "one_more": "10,624 bytes less and fewer registers",
        "one_more_bytes": None,
    }
    plans = [entry["policies"][name] for name in ("outer", "dataflow")]
    assert [(one["blocks"], one["resident"]) for one in plans] == [(2, 2), (4, 2)]


def test_a_kernel_with_two_scopes_is_one_kernel(tmp_path: Path) -> None:
    both = 'S = T.alloc_buffer((8,), scope="shared")\nS[0] = As[0]\nBs[0] = S[0]\n'
    (tmp_path / "k.tir").write_text(launched(both))
    done = run("report", tmp_path / "k.tir", "-o", tmp_path / "k.html")
    assert done.stderr.endswith(" bytes) with 1 kernel\n")


def test_the_page_is_written_once(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    done = run("report", BATCHED, "-o", out)
    size = out.stat().st_size
    opened = f"next (look at it): python3 -m webbrowser {out}\n"
    assert (done.exit_code, done.stdout) == (0, opened)
    assert done.stderr == f"wrote {out} ({size:,} bytes) with 1 kernel\n"
    again = run("report", BATCHED, "-o", out)
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    both = run("report", BATCHED, CARRIED, "-o", out, "--force")
    assert both.exit_code == 0
    assert "2 kernels" in both.stderr


def test_the_page_may_go_to_standard_output() -> None:
    done = run("report", BATCHED, "-o", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stderr.startswith("wrote standard output (")


SYMBOLIC = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", {threads})
X = T.alloc_buffer((64,), "float32", scope="shared.dyn")
Y = T.alloc_buffer(({size},), "float32", scope="shared.dyn")
X[tx] = T.float32(0)
Y[tx] = X[tx]
"""


def symbolic(folder: Path, **given: str) -> dict[str, Any]:
    """The entry of a kernel that names no GPU."""
    path = folder / "kernel.tir"
    path.write_text(dump(SYMBOLIC.format(**given)))
    return entry_of(path)


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    entry = symbolic(tmp_path, threads="n", size="n")
    row = overview_row(entry, "k")
    assert (row["saved"], row["blocks"], row["arch_assumed"]) == (None, [None, None], True)


def test_a_kernel_is_held_against_what_its_compiler_makes() -> None:
    """Buffers side by side are 65,536 bytes in both; TileLang's own merge shares in one of them."""
    found = {name: entry_of(DUMPS / name)["default"] for name in ("gemm.sm_80.tir", BATCHED.name)}
    assert [(one["name"], one["bytes"]) for one in found.values()] == [
        ("TileLang's default", 32768),
        ("TileLang's default", 65536),
    ]
    assert all(one["blocks"] for one in found.values())
