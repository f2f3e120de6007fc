"""Many files at once: folders, standard input, processes and machines; what cannot be read costs
the others nothing."""

from __future__ import annotations

import io
import json
import os
import pickle
import pty
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smemreuse import plugins
from smemreuse.audit import BarrierStage
from smemreuse.cli import main
from smemreuse.commands import check, compare, lint
from smemreuse.commands.batches import Spread, of_each
from smemreuse.commands.inputs import Source, find_inputs
from smemreuse.commands.options import Planning
from smemreuse.compilers.text.reader import may_be_dump
from smemreuse.errors import BackendError, InputError, InternalError
from tests.commands.running import SMALLEST, SMEMREUSE, assert_one_line_error, run, run_json
from tests.conftest import DUMPS, ROOT

GOOD = [str(DUMPS / name) for name in ("halo.sm_80.tir", "leaf_both.sm_80.tir")]
SEVERAL = [str(path) for path in sorted(DUMPS.glob("[a-c]*.sm_80.tir"))]
MANY_VERBS = ["compare", "lint", "check"]


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.tir"
    path.write_text("x = (\n")
    return str(path)


def folder_of(path: Path, *names: str) -> Path:
    """A folder of dumps, one of them deep below."""
    for number, name in enumerate(names):
        place = path / ("deep/deeper" if number else ".")
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text((DUMPS / name).read_text())
    return path


# What cannot be read ----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", MANY_VERBS)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_others_are_read_and_the_exit_code_says_so(verb: str, jobs: str, bad: str) -> None:
    files = [GOOD[0], bad, "nowhere.tir", GOOD[1]]
    result = run(verb, *files, "--format", "json", "--jobs", jobs)
    assert result.exit_code == 2
    assert json.loads(result.stdout) == json.loads(run(verb, *GOOD, "--format", "json").stdout)
    told = result.stderr.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in told] == [bad, "nowhere.tir"]


@pytest.mark.parametrize("verb", MANY_VERBS)
def test_the_only_one_ends_it(verb: str, bad: str) -> None:
    result = run(verb, bad)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)


def test_a_page_is_written_of_what_there_is(bad: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("report", bad, GOOD[0], "-o", str(page))
    assert result.exit_code == 2
    assert "halo_kernel" in page.read_text()


def work_that_fails(source: Source) -> tuple[list[str], list[str]]:
    if "halo" in source.file:
        raise ZeroDivisionError("something nobody foresaw")
    return [source.file], []


def test_a_fault_of_our_own_costs_one_file_alone(capsys: pytest.CaptureFixture[str]) -> None:
    found, whole = of_each(find_inputs(GOOD), work_that_fails)
    assert (found, whole) == ([GOOD[1]], False)
    told = capsys.readouterr().err
    assert "fault of smemreuse" in told
    assert "ZeroDivisionError: something nobody foresaw in test_batches.py:" in told
    with pytest.raises(InternalError, match="ZeroDivisionError"):
        of_each(find_inputs(GOOD[:1]), work_that_fails)


# Folders and standard input ---------------------------------------------------------------------


@pytest.mark.parametrize("verb", MANY_VERBS)
def test_a_folder_is_its_dumps_to_the_bottom(verb: str, tmp_path: Path) -> None:
    names = ("halo.sm_80.tir", "leaf_both.sm_80.tir", "gemm.sm_80.tir")
    folder = folder_of(tmp_path, *names)
    deep = folder / "deep" / "deeper"
    files = [folder / names[0], deep / names[2], deep / names[1]]
    found = run(verb, folder, "--format", "json")
    assert found.stdout == run(verb, *files, "--format", "json").stdout
    why = "smemreuse: exit code 1: nothing checked in 3 files" if verb == "check" else ""
    assert found.stderr.startswith(why)
    assert len(found.stderr.splitlines()) == bool(why)


def test_what_a_folder_has_besides_is_skipped_and_told(tmp_path: Path) -> None:
    folder_of(tmp_path, "halo.sm_80.tir")
    dump = (DUMPS / "gemm.sm_80.tir").read_text()
    (tmp_path / "a_dump.py").write_text(dump)
    (tmp_path / "program.py").write_text("import tilelang\n" + dump)
    (tmp_path / "setup.py").write_text("print('no kernel')\n")
    (tmp_path / "notes.md").write_text("text")
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    for hidden in (".git", "__pycache__"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "k.tir").write_text("x = (\n")
    result = run("compare", tmp_path, "--format", "json")
    assert result.exit_code == 0
    files = [Path(each["file"]).name for each in json.loads(result.stdout)["kernels"]]
    assert files == ["a_dump.py", "halo.sm_80.tir"]
    told = f"{tmp_path}: skipped 4 files that are no dumps: 3 .py, 1 .md\n"
    assert result.stderr == told


def test_links_to_folders_are_not_followed_and_told(tmp_path: Path) -> None:
    folder_of(tmp_path, "halo.sm_80.tir", "leaf_both.sm_80.tir")
    (tmp_path / "deep" / "round").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    result = run("lint", tmp_path, "--format", "json")
    assert len(json.loads(result.stdout)["kernels"]) == 2
    assert result.stderr.splitlines() == [
        f"{tmp_path}: skipped 1 file that is no dump: 1 without suffix",
        f"{tmp_path}: 1 link to folders not followed",
    ]


def closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may read the folder, not even the superuser."""
    listed = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)


@pytest.mark.parametrize("verb", MANY_VERBS)
def test_a_folder_that_may_not_be_read_is_told(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_of(tmp_path, "halo.sm_80.tir", "leaf_both.sm_80.tir")
    closed(tmp_path / "deep", monkeypatch)
    result = run(verb, tmp_path, "--format", "json")
    assert result.exit_code == 2
    assert result.stderr == f"smemreuse: {tmp_path / 'deep'}: cannot be read: Permission denied\n"
    assert len(json.loads(result.stdout)["kernels"]) == 1
    alone = run(verb, tmp_path / "deep")
    assert_one_line_error(alone.exit_code, alone.stdout, alone.stderr)


@pytest.mark.parametrize("path", sorted((ROOT / "fixtures" / "tvm_dumps").glob("*.tir"))[:3])
def test_dumps_of_every_compiler_look_like_dumps(path: Path) -> None:
    assert may_be_dump(path.read_text())
    assert not may_be_dump("import numpy\n" + path.read_text())


def test_a_folder_without_dumps_is_told(tmp_path: Path) -> None:
    result = run("lint", tmp_path)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "no *.tir" in result.stderr
    both = run("lint", tmp_path, GOOD[0])
    assert (both.exit_code, both.stderr.count("no *.tir")) == (2, 1)
    assert "halo_kernel" in both.stdout


@pytest.mark.parametrize("verb", [*MANY_VERBS, "plan", "analyze"])
def test_standard_input_is_a_dump_too(verb: str) -> None:
    text = (DUMPS / "gemm.sm_80.tir").read_text()
    result = CliRunner().invoke(main, [verb, "-", "--format", "json"], input=text)
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert kernel.get("file", "<stdin>") == "<stdin>"
    empty = CliRunner().invoke(main, [verb, "-"], input=b"\xff")
    assert_one_line_error(empty.exit_code, empty.stdout, empty.stderr)
    assert "<stdin>: not a text file" in empty.stderr


# Spreading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", MANY_VERBS)
def test_results_are_the_same_whatever_the_jobs(verb: str) -> None:
    one, two = (run(verb, *SEVERAL, "--format", "json", "-j", jobs) for jobs in ("1", "2"))
    assert one.stdout == two.stdout
    assert (one.exit_code, one.stderr) == (two.exit_code, two.stderr)


@pytest.mark.parametrize("verb", MANY_VERBS)
def test_each_of_many_files_has_the_results_that_it_has_alone(verb: str) -> None:
    """So that no limit of work, and nothing that is remembered, goes from one kernel to others."""
    options = ("--format", "json", *(() if verb == "check" else ("--no-cache",)))

    def kernels(*files: str) -> list[Any]:
        return list(json.loads(run(verb, *files, *options).stdout)["kernels"])

    assert kernels(*SEVERAL) == [one for file in SEVERAL for one in kernels(file)]


def test_backends_without_a_stream_of_results_go_by_chunks() -> None:
    options = ("--format", "json", "--jobs", "2", "--backend")
    assert run("compare", *GOOD * 20, *options, "multiprocessing").stdout == (
        run("compare", *GOOD * 20, "--format", "json").stdout
    )


def tasks_done(dask_scheduler: Any) -> int:
    """How many tasks of joblib's, of one file or of some, a cluster has carried out."""
    groups = dask_scheduler.task_groups.values()
    return sum(group.states["released"] + group.states["forgotten"] for group in groups)


@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
def test_a_dask_cluster_shares_the_work() -> None:
    import dask
    import distributed

    here = run("compare", *SEVERAL, "--format", "json")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        dask.config.set(scheduler_address=cluster.scheduler_address),
    ):
        far = run("compare", *SEVERAL, "--format", "json", "--backend", "dask")
        with distributed.Client(cluster) as client:
            done = client.run_on_scheduler(tasks_done)
    assert far.stderr == here.stderr
    assert far.stdout == here.stdout
    assert done >= len(SEVERAL) // 16


@pytest.mark.parametrize(
    ("backend", "why"),
    [("nonsense", "nonsense cannot be used"), ("ray", "needs Ray")],
)
def test_a_backend_that_is_not_there_is_one_line(backend: str, why: str) -> None:
    if backend == "ray" and find_spec("ray"):
        pytest.skip("Ray is installed")
    result = run("lint", *GOOD, "--backend", backend)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert why in result.stderr


def nothing(_source: Source) -> Any:
    return [], []


def test_a_worker_with_other_plugins_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on another machine: what it plans there would be planned by other rows."""
    from joblib.externals.loky import get_reusable_executor

    plugins.ensure()
    monkeypatch.setenv(plugins.VARIABLE, str(ROOT / "fixtures" / "declared" / plugins.CONFIG))
    get_reusable_executor().shutdown(wait=True)  # workers that have no plugins either
    try:
        with pytest.raises(BackendError, match="a worker has other plugins, or another smemreuse"):
            of_each(find_inputs(GOOD), nothing, Spread(2))
    finally:
        get_reusable_executor().shutdown(wait=True)


def dying(_source: Source) -> Any:
    os._exit(1)


def test_a_process_that_dies_is_an_error_of_one_line() -> None:
    with pytest.raises(BackendError, match="try fewer --jobs"):
        of_each(find_inputs(GOOD), dying, Spread(2))


PLANNING = Planning("best", "bytes", None)


@pytest.mark.parametrize(
    "work",
    [
        partial(compare._compared, planning=PLANNING, json=False, drawn=False, full=True),
        partial(check._checked, plans=None, barriers=BarrierStage.AUTO),
        partial(lint.linted_kernels, barriers=BarrierStage.AUTO),
    ],
    ids=["compare", "check", "lint"],
)
def test_what_is_kept_of_a_kernel_is_small(work: Any) -> None:
    """Nothing of the kernel itself: it has thousands of statements."""
    for path in (
        ROOT / "fixtures" / "lint" / "race_between_threads.tir",
        DUMPS / "gemm.sm_90a.tir",
    ):
        rows, _ = work(Source(str(path), path.read_text(), None))
        text = pickle.dumps(rows)
        assert len(text) < 6_000
        assert b"smemreuse.ir" not in text


def test_sources_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "later.tir"
    inputs = find_inputs([str(path)])
    path.write_text("text")
    (source,) = inputs.sources()
    assert source.text == "text"
    path.unlink()
    (source,) = inputs.sources()
    assert isinstance(source.error, InputError)


def test_a_terminal_sees_a_bar_and_every_error_on_a_line(bad: str) -> None:
    ours, theirs = pty.openpty()
    command: list[str | Path] = [SMEMREUSE, "lint", GOOD[0], bad, GOOD[1]]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    told = io.StringIO()
    try:
        while part := os.read(ours, 65536):
            told.write(part.decode())
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    assert result.returncode == 2
    assert "linting" in told.getvalue()
    assert f"smemreuse: {bad}:1: " in told.getvalue()


# What is shown ----------------------------------------------------------------------------------


def test_of_few_files_all_is_told_and_of_many_a_row() -> None:
    few, many = run("compare", *SEVERAL[:4]).stdout, run("compare", *SEVERAL).stdout
    assert "| inner" in few
    assert "with shared memory" not in few
    assert many.startswith("planned for speed: ")
    assert f"\n{len(SEVERAL)} files: " in many
    assert "| inner" not in many
    assert "| inner" in run("compare", *SEVERAL, "--all").stdout


def rows_of(*args: str) -> list[str]:
    """The names in the table of many kernels."""
    lines = run("compare", *SMALLEST, *SEVERAL, *args).stdout.splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    return [row[0].strip() for row in cells if row[0].strip() != "kernel"]


def test_rows_are_sorted_and_left_out() -> None:
    names = rows_of()
    assert names == sorted(names)
    assert rows_of("--sort", "saved")[0] == "batched_gemm.sm_80"
    changed = rows_of("--changed-only")
    options = (*SMALLEST, "--format", "json", "--changed-only")
    kernels = run_json("compare", *SEVERAL, *options)["kernels"]
    assert changed == [Path(each["file"]).stem for each in kernels]
    assert 0 < len(changed) < len(names)
    for each in kernels:
        plans = each["policies"]
        assert plans["dataflow"]["arena_bytes"] != plans["outer"]["arena_bytes"]
    findings = rows_of("--only-findings")
    assert findings == ["cp_async_past_loop.sm_80"]


def test_lint_and_check_have_a_line_of_all_first(tmp_path: Path) -> None:
    race = ROOT / "fixtures" / "lint" / "race_between_threads.tir"
    linted = run("lint", race, *SEVERAL[:2], "--only-findings")
    first, second, *_ = linted.stdout.splitlines()
    assert first == "3 kernels in 3 files: 2 clean, 1 with certain hazards; race 1"
    assert second.startswith("hazards: ")
    assert "clean: " not in linted.stdout
    merged = tmp_path / "merged.tir"
    run("apply", GOOD[0], "-o", merged)
    checked = run("check", merged, GOOD[1])
    assert checked.stdout.startswith("1 plan in 2 files: 1 sound; nothing merged in 1 kernel\n")
    assert checked.exit_code == 1
    assert (
        f"nothing to check in 1 file:\n  {GOOD[1]}\nnext (compute smemreuse's layout"
        in checked.stdout
    )
    allowed = run("check", merged, GOOD[1], "--allow-unproved")
    assert allowed.exit_code == 0
    assert "leaf_both" not in allowed.stdout
    nothing = run("check", *GOOD)
    first, second, *_ = nothing.stdout.splitlines()
    assert first == (
        "Nothing checked: these dumps have no merged layout (2 kernels of 2 files): they are from "
        "before the merge, or nothing is merged"
    )
    assert second.startswith("next (compute smemreuse's layout and check that, not the")
    assert "exit code 1: nothing checked in 2 files: give --plan" in nothing.stderr
    assert nothing.exit_code == 1
    findings = run("check", merged, GOOD[1], "--only-findings").stdout
    assert findings.partition("next ")[0].count("\n") == 3


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, ("default merge", "chosen", "inner, for comparison", "proved smallest", "lower bound")),
        (5, ("default", "change")),
    ],
)
def test_what_headings_mean_is_said_once_below_the_table(
    count: int, words: tuple[str, ...]
) -> None:
    files = [*DUMPS.glob("*gemm*.tir")][:count]
    text = run("compare", *files).stdout
    legend = text.rpartition("-+\n")[2] if count > 4 else text.partition("-+\n\n")[0]
    for word in ("above bound", *words):
        assert len(re.findall(rf"(?:^|[.;] ){word}: ", legend, re.MULTILINE)) == 1, word


def test_why_a_dump_stays_above_its_bound() -> None:
    """Registers stop a block of the one, shared memory one of the other even at its bound."""
    told = " ".join(run("compare", DUMPS / "batched_gemm.sm_80.tir").stdout.split())
    above = "above the lower bound: batched_gemm.sm_80 (32,768 bytes): sharing bytes gains no block"
    assert f"{above}, as registers allow no more, and no L1 that is worth its barriers" in told
    files = [DUMPS / f"{name}.sm_80.tir" for name in ("stream_k", "batched_gemm")]
    files += [*DUMPS.glob("gemm*.tir")][:3]
    told = " ".join(run("compare", *files).stdout.split())
    assert "(16,384 bytes): sharing bytes gains no block, and no L1 that is worth" in told
    assert "(32,768 bytes): sharing bytes gains no block, as registers allow no more" in told


def test_of_many_files_the_policies_are_explained_right_below_their_sums() -> None:
    text = run("compare", *[*DUMPS.glob("*gemm*.tir")][:5]).stdout
    sums, _, rest = text.partition("\nchosen: ")
    assert "\nchosen layouts against the default merge: " in sums
    assert "+-" not in sums
    assert text.count("\nchosen: ") == 1
    for word in ("inner, for comparison", "outer, for comparison", "its lower bound"):
        assert text.count(f"\n{word}: ") == rest.count(f"\n{word}: ") == 1, word
