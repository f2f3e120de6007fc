"""`diff`: why kernels take more than they did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import SMALLEST, assert_one_line_error, run
from tests.conftest import DUMPS, ROOT, Golden
from tests.report.test_page import kernels_of, rows_of

BATCHED = DUMPS / "batched_gemm.sm_80.tir"


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """A batched GEMM whose Bs is twice as large, and whose As is read once more behind Cs."""
    text = BATCHED.read_text().replace("Bs = T.alloc_buffer((8192", "Bs = T.alloc_buffer((16384")
    path = tmp_path / "grown.tir"
    path.write_text(text)
    return path


def result(path: Path, verb: str, out: Path) -> Path:
    out.write_text(run(verb, *SMALLEST, "--format", "json", path).stdout)
    return out


def causes(*args: str | Path) -> list[dict[str, Any]]:
    """The causes of the one kernels in both."""
    data = json.loads(run("diff", *SMALLEST, "--format", "json", *args).stdout)
    assert data["schema"] == "smemreuse.diff/1"
    (kernel,) = data["kernels"]
    assert sum(cause["bytes"] for cause in kernel["causes"]) == kernel["bytes"]
    found: list[dict[str, Any]] = kernel["causes"]
    return found


def test_growth_is_a_finding(grown: Path) -> None:
    found = run("diff", *SMALLEST, BATCHED, grown)
    assert found.exit_code == 1
    assert "32,768 -> 49,152 bytes, 16,384 more" in found.stdout
    assert "4 -> 3 blocks per SM of sm_80, limited by shared memory" in found.stdout
    assert "16,384 more (+50.0 % of the old)" in found.stdout
    told = "  +16,384 bytes: Bs grew: 16,384 to 32,768 bytes; without this change alone, 4 blocks\n"
    assert told in found.stdout
    why = "next (what makes it 49,152 bytes): smemreuse explain"
    assert found.stdout.splitlines()[-1].startswith(why)
    assert run("diff", *SMALLEST, "--allow-growth", BATCHED, grown).exit_code == 0
    assert run("diff", *SMALLEST, grown, BATCHED).exit_code == 0


def test_it_is_told_of_which_layouts_bytes_are(grown: Path) -> None:
    told = " ".join(run("diff", *SMALLEST, BATCHED, grown).stdout.split())
    assert "layouts: those that smemreuse chooses (`chosen` in compare)" in told
    assert "one after another" not in told  # of one cause
    told = " ".join(run("diff", *SMALLEST, "--policy", "outer", BATCHED, grown).stdout.split())
    assert "layouts: those of policy outer, not the default merge's" in told


def test_nothing_to_tell() -> None:
    found = run("diff", *SMALLEST, BATCHED, BATCHED)
    assert found.exit_code == 0
    assert found.stdout == (
        "1 kernel compared, all matched by name: 0 took more bytes, 0 fewer; 0 have fewer resident "
        "blocks by shared memory\n"
        "batched_gemm_kernel (shared.dyn): 32,768 bytes, as many as before; 4 blocks per "
        "SM of sm_80 as before\n"
        "layouts: those that smemreuse chooses (`chosen` in compare), not the default merge's\n"
        "blocks per SM: by shared memory, threads and barriers; registers, which may allow fewer, "
        "are not counted\n"
        "next: nothing to do: no kernel takes more bytes or lost a block\n"
    )


@pytest.mark.parametrize("verb", ["compare", "plan"])
def test_results_tell_the_same(grown: Path, tmp_path: Path, verb: str) -> None:
    old = result(BATCHED, verb, tmp_path / "old.json")
    new = result(grown, verb, tmp_path / "new.json")
    assert causes(old, new) == causes(BATCHED, grown)
    assert causes(old, grown) == causes(BATCHED, new)
    told = run("diff", *SMALLEST, old, new).stdout
    assert "was made" not in told
    assert ("4 -> 3 blocks per SM of sm_80" in told) == (verb == "compare")
    assert ("32,768 bytes; without this change alone, 4 blocks" in told) == (verb == "compare")


def test_a_result_of_dumps_that_are_elsewhere_says_where_to_go_on(
    grown: Path, tmp_path: Path
) -> None:
    old, new = (
        result(each, "compare", tmp_path / f"{each.stem}.json") for each in (BATCHED, grown)
    )
    grown.unlink()
    told = " ".join(run("diff", *SMALLEST, old, new).stdout.split())
    assert f"next (what makes it 49,152 bytes; where {new} was made): smemreuse explain" in told


def test_a_kernel_that_launches_on_neither_side_has_no_blocks(tmp_path: Path) -> None:
    text = BATCHED.read_text().replace("T.alloc_buffer((8192,)", "T.alloc_buffer((819200,)")
    assert text != BATCHED.read_text()
    large = tmp_path / "large.tir"
    large.write_text(text)
    assert (
        "; no block launches on sm_80, as before\n" in run("diff", *SMALLEST, large, large).stdout
    )


def test_a_live_range_has_its_statements_and_lines() -> None:
    waited, flying = (
        DUMPS / f"tma_store_{each}.sm_90a.tir" for each in ("waited_for", "in_flight")
    )
    (cause,) = causes(waited, flying)
    assert (cause["kind"], cause["buffers"], cause["bytes"]) == ("live range", ["stage"], 4_096)
    for words in ("it ended at `", "(line 30), and now does at `", "rule 5: stage", "(line 37)"):
        assert words in cause["text"]


def test_another_policy() -> None:
    data = run("diff", *SMALLEST, "--policy", "outer", "--format", "json", BATCHED, BATCHED).stdout
    assert json.loads(data)["kernels"][0]["old"]["arena_bytes"] == 65_536


def test_every_fixture_against_its_neighbour(golden: Golden) -> None:
    """What is told of real kernels that are nearly alike."""
    pairs = (
        ("tma_store_waited_for.sm_90a", "tma_store_in_flight.sm_90a"),
        ("gemm.sm_80", "gemm.sm_90a"),
        ("divergent_sequence.sm_80", "divergent_arms.sm_80"),
        ("alternate_refill.sm_80", "halo.sm_80"),
        ("gemm_two_consumers.sm_90a", "gemm_three_groups.sm_90a"),
        ("step_branches.sm_80", "step_branches_unsynced.sm_80"),
        ("two_kernels.sm_80", "while_table.sm_80"),
    )
    told = {}
    for old, new in pairs:
        text = run("diff", *SMALLEST, DUMPS / f"{old}.tir", DUMPS / f"{new}.tir").stdout
        told[f"{old} to {new}"] = text.replace(f"{ROOT}/", "").splitlines()
    golden("diff", told)


def test_what_is_no_dump_and_no_result(tmp_path: Path) -> None:
    for text, words in (
        ("{", "not JSON; give a dump, or what `compare` or `plan` wrote"),
        ("{}", "the schema must be 'smemreuse.compare/1' or 'smemreuse.plan/1'"),
        ('{"schema": "smemreuse.plan/1"}', "no list of kernels; give a dump"),
        ('{"schema": "smemreuse.plan/1", "kernels": [{}]}', "lacks what `diff` needs"),
        (
            '{"schema": "smemreuse.plan/1", "kernels": [7]}',
            "a kernel is not an object; give a dump",
        ),
    ):
        path = tmp_path / "result.json"
        path.write_text(text)
        found = run("diff", *SMALLEST, path, BATCHED)
        assert_one_line_error(found.exit_code, found.stdout, found.stderr)
        assert words in found.stderr
    missing = run("diff", *SMALLEST, BATCHED, tmp_path / "nowhere.tir")
    assert_one_line_error(missing.exit_code, missing.stdout, missing.stderr)


@pytest.mark.parametrize("verb", ["compare", "plan"])
def test_a_result_of_other_options_is_refused(tmp_path: Path, verb: str) -> None:
    """Side by side everything is larger, and nothing would have grown since."""
    path = tmp_path / "result.json"
    path.write_text(run(verb, BATCHED, "--objective", "none", "--format", "json").stdout)
    found = run("diff", *SMALLEST, path, BATCHED)
    assert_one_line_error(found.exit_code, found.stdout, found.stderr)
    assert "written with --objective none, and this call is with --objective bytes" in found.stderr
    assert run("diff", *SMALLEST, path, BATCHED, "--objective", "none").exit_code == 0


def test_numbers_that_are_none(tmp_path: Path) -> None:
    path = result(BATCHED, "compare", tmp_path / "result.json")
    whole = path.read_text()
    for where, key, value in (
        (("buffers", 0), "bytes", "many"),
        (("buffers", 0), "alignment", 0),
        (("policies", "dataflow"), "arena_bytes", -1),
        (("policies", "dataflow"), "live", None),
        (("policies", "dataflow", "live"), "As", [1]),
        (("policies", "dataflow", "residents"), "registers", 0),
        (("policies", "dataflow", "residents"), "registers_from", "nobody"),
        (("policies",), "dataflow", {}),
    ):
        data = json.loads(whole)
        damaged = data["kernels"][0]
        for step in where:
            damaged = damaged[step]
        damaged[key] = value
        path.write_text(json.dumps(data))
        found = run("diff", *SMALLEST, path, BATCHED)
        assert_one_line_error(found.exit_code, found.stdout, found.stderr)


def test_registers_of_which_a_result_does_not_say_where_they_are_from(
    grown: Path, tmp_path: Path
) -> None:
    new = result(grown, "compare", tmp_path / "new.json")
    known = "registers (192 a thread, estimated from local arrays, not ptxas' count) allow 2"
    assert known in " ".join(run("diff", *SMALLEST, BATCHED, new).stdout.split())
    data = json.loads(new.read_text())
    del data["kernels"][0]["policies"]["dataflow"]["residents"]["registers_from"]
    new.write_text(json.dumps(data))
    told = run("diff", *SMALLEST, BATCHED, new).stdout
    assert "4 -> 3 blocks per SM of sm_80" in told
    assert "registers (" not in told


def test_a_plan_of_another_policy_is_refused(tmp_path: Path) -> None:
    path = result(BATCHED, "plan", tmp_path / "plan.json")
    found = run("diff", *SMALLEST, "--policy", "outer", path, BATCHED)
    assert found.exit_code == 2
    assert "the plan is of policy dataflow, not outer; --policy dataflow compares those" in (
        found.stderr
    )


def test_a_page_has_both_maps(grown: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = run("diff", *SMALLEST, BATCHED, grown, "--page", page)
    assert found.exit_code == 1
    text = page.read_text()
    assert f"wrote {page} ({len(text.encode()):,} bytes) with 1 kernel" in found.stderr
    before, after = kernels_of(text)
    assert [one["file"] for one in (before, after)] == [str(BATCHED), str(grown)]
    assert before["tints"]["Bs"] == after["tints"]["Bs"]
    (cause, *_) = rows_of(text)[0]["causes"]
    assert cause["parts"] == [[1, "Bs grew: 16,384 to 32,768 bytes"]]
    again = run("diff", *SMALLEST, BATCHED, grown, "--page", page)
    assert again.exit_code == 2
    assert "--force overwrites it" in again.stderr
    assert run("diff", *SMALLEST, BATCHED, grown, "--page", page, "--force").exit_code == 1


def test_a_renamed_buffer_keeps_its_colour(tmp_path: Path) -> None:
    other = tmp_path / "other.tir"
    other.write_text(BATCHED.read_text().replace("Cs", "Tile"))
    page = tmp_path / "page.html"
    told = run("diff", *SMALLEST, BATCHED, other, "--page", page).stdout
    assert "Tile is matched with Cs of the old kernel: the same bytes, accessed alike" in told
    before, after = kernels_of(page.read_text())
    assert before["tints"]["Cs"] == after["tints"]["Tile"]


def test_results_have_nothing_to_draw(tmp_path: Path) -> None:
    path = result(BATCHED, "plan", tmp_path / "plan.json")
    found = run("diff", *SMALLEST, path, BATCHED, "--page", tmp_path / "page.html")
    assert_one_line_error(found.exit_code, found.stdout, found.stderr)
    assert "--page needs dumps" in found.stderr


def test_folders_go_by_the_names_of_their_files(grown: Path, tmp_path: Path) -> None:
    """Two kernels of one name in each folder, of which one grew."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, second in ((old, BATCHED), (new, grown)):
        folder.mkdir()
        (folder / "a.tir").write_text(BATCHED.read_text())
        (folder / "b.tir").write_text(second.read_text())
    found = run("diff", *SMALLEST, old, new)
    assert found.exit_code == 1
    assert found.stdout.startswith("2 kernels compared, all matched by name: 1 took more bytes, 0 ")
    assert found.stdout.count("Bs grew: 16,384 to 32,768 bytes") == 1
    assert "\nb.tir: batched_gemm_kernel (shared.dyn): 32,768 -> 49,152 bytes" in found.stdout
    (new / "c.tir").write_text("no dump(")
    broken = run("diff", *SMALLEST, old, new)
    assert broken.exit_code == 2
    assert broken.stdout == found.stdout
    assert "c.tir:1: not TVMScript" in broken.stderr


def test_two_policies_of_one_result_are_not_mixed(tmp_path: Path) -> None:
    path = result(BATCHED, "compare", tmp_path / "result.json")
    told = run("diff", *SMALLEST, "--policy", "outer", path, BATCHED)
    assert told.exit_code == 0
    assert "1 kernel compared, all matched by name: 0 took more bytes" in told.stdout
