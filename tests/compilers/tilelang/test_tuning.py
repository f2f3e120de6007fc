"""Advice in the place of TileLang's autotuner, in each of the forms that scripts call it in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from tilelang.autotuner import AutoTuner

from smemreuse.compilers.tilelang.tuning import Advised, advising
from smemreuse.results.ranking import Ranking
from tests.commands.running import assert_one_line_error, run, run_json
from tests.schemas import require_valid

pytestmark = pytest.mark.tilelang

CONFIGS = [{"rows": rows} for rows in (64, 200, 300)]
NO_REUSE = {"tl.disable_shared_memory_reuse": True}


def make(top: int, jobs: int = 1, rows: int = 1) -> Any:
    """Two tiles, one after the other. Its parameters have the names of options of advice."""

    @T.prim_func
    def main(A: T.Tensor((1024, 128), "float32"), B: T.Tensor((1024, 128), "float32")):
        with T.Kernel(top * jobs, threads=128):
            S = T.alloc_shared((rows, 128), "float32")
            R = T.alloc_shared((rows, 128), "float32")
            T.copy(A[0:rows, :], S)
            T.copy(S, B[0:rows, :])
            T.copy(A[rows : 2 * rows, :], R)
            T.copy(R, B[rows : 2 * rows, :])

    return main


def told(run: Callable[[], Any], **options: Any) -> Ranking:
    """The one ranking that is told while something runs."""
    found: list[Ranking] = []
    tell = advising(lambda name, ranking: found.append(ranking), arch="sm_90a", **options)
    with tell, pytest.raises(Advised):
        run()
    (ranking,) = found
    return ranking


def tuned(configs: Any) -> Any:
    return tilelang.autotune(configs=configs)(tilelang.jit(out_idx=[-1])(make))


def test_arguments_that_are_named_like_options() -> None:
    found = told(lambda: tuned(CONFIGS)(top=2, jobs=4), top=2)
    assert len(found) == 2
    assert len(found.ranked) == 3
    assert {kernel.blocks for one in found.ranked for kernel in one.kernels} == {8}


def test_configurations_that_are_generated() -> None:
    def configs(top: int, jobs: int) -> Iterator[dict[str, int]]:
        yield from CONFIGS

    assert len(told(lambda: tuned(configs)(2, 4)).ranked) == 3


def test_a_tuner_lowers_as_it_would_compile() -> None:
    def ranked(**more: Any) -> Ranking:
        tuner = AutoTuner.from_kernel(lambda rows: make(2, 4, rows), configs=CONFIGS)
        tuner.set_compile_args(out_idx=[-1], target="cuda", **more)
        return told(lambda: tuner.run())  # looked up while advice is in its place

    assert len(ranked().ranked) == 3
    (large,) = ranked(pass_configs=NO_REUSE).too_large
    assert large.bytes == 2 * 300 * 512


SCRIPT = """
import tilelang
from tests.compilers.tilelang.test_tuning import CONFIGS, make
tilelang.autotune(configs=CONFIGS)(tilelang.jit(out_idx=[-1])(make))(2, 4)
"""


def test_a_card_says_for_which_gpu_a_script_is_lowered(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    found = run_json("advise", "--format", "json", "--card", "h200", script)
    require_valid(found)
    assert [one["card"] for one in found["kernels"]] == ["H200 SXM"]
    result = run("advise", "--arch", "sm_80", "--card", "h200", script)
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert "H200 SXM is sm_90, not sm_80" in result.stderr
