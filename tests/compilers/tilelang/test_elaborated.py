"""Which call of Python each kernel of a run comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from smemreuse.compilers.records import Settings, read_suite
from smemreuse.compilers.tilelang.elaborated import (
    CURRENT_TEST,
    _calls,
    _config,
    _signature,
    current_test,
)
from smemreuse.compilers.tilelang.worker import recorded
from smemreuse.ir.source import SourceLine
from smemreuse.results.elaboration import Elaboration

pytestmark = pytest.mark.tilelang

HERE = SourceLine.of(__file__, 1).file


def rows_copied(count: int, rows: int = 8, **more: Any) -> Any:
    @T.prim_func
    def copied(A: T.Tensor((1024, 128), "float32"), B: T.Tensor((1024, 128), "float32")):
        with T.Kernel(count, threads=128) as bx:
            S = T.alloc_shared((rows, 128), "float32")
            T.copy(A[bx * rows, 0], S)
            T.copy(S, B[bx * rows, 0])

    return copied


LINE = rows_copied.__code__.co_firstlineno


def elaborations(folder: Path, compile_all: Callable[[Any], object]) -> list[Elaboration]:
    """What a run notes of the kernels that a jitted function makes, by its rows."""
    tilelang.disable_cache()
    try:
        with recorded(Settings(str(folder), policy="none", lower_only=True, arch="sm_90a")):
            compile_all(tilelang.jit(out_idx=[-1])(rows_copied))
    finally:
        tilelang.enable_cache()
    suite = read_suite(folder)
    assert (suite.left, suite.lost) == ({}, 0)
    found = [one for kernel in suite.kernels for one in kernel.elaborations]
    return sorted(found, key=lambda one: str(one.config.get("rows")))


def called(count: int, rows: int, test: str) -> Elaboration:
    return Elaboration("rows_copied", SourceLine(HERE, LINE), {"count": count, "rows": rows}, test)


@pytest.fixture
def test(request: pytest.FixtureRequest) -> str:
    """The id of the test that is running."""
    return str(request.node.nodeid)


def test_an_id_is_told_without_its_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CURRENT_TEST, "tests/test_a.py::test_b[c (d)] (call)")
    assert current_test() == "tests/test_a.py::test_b[c (d)]"
    monkeypatch.delenv(CURRENT_TEST)
    assert current_test() == ""


def test_a_call_is_told_with_its_defaults_and_its_test(tmp_path: Path, test: str) -> None:
    assert elaborations(tmp_path, lambda jitted: jitted(16)) == [called(16, 8, test)]


def test_threads_of_a_pool_keep_configurations_apart(tmp_path: Path, test: str) -> None:
    configs = [{"count": 3, "rows": 4}, {"count": 3, "rows": 5}, (3, 6)]
    found = elaborations(tmp_path, lambda jitted: jitted.par_compile(configs, num_workers=2))
    assert found == [called(3, rows, test) for rows in (4, 5, 6)]


def test_a_tuner_s_choices_are_among_the_arguments(tmp_path: Path, test: str) -> None:
    def tune(jitted: Any) -> None:
        tuned = tilelang.autotune(configs=[{"rows": 4}, {"rows": 16}])(jitted)
        with pytest.raises(Exception, match=r"."):  # nothing is measured
            tuned(5)

    assert elaborations(tmp_path, tune) == [called(5, 16, test), called(5, 4, test)]


def test_a_function_that_was_not_called_has_the_line_where_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CURRENT_TEST)
    (found,) = elaborations(tmp_path, lambda _: tilelang.compile(rows_copied(7), out_idx=[-1]))
    assert (found.function, found.config, found.test) == ("", {}, "")
    assert found.source is not None
    assert (found.source.file, found.source.line > LINE) == (HERE, True)


def test_nothing_is_kept_where_there_is_no_run() -> None:
    func = tilelang.jit(out_idx=[-1])(rows_copied).get_tir(9)
    assert not _calls.of(func).is_known


def test_arguments_are_data_of_json() -> None:
    given = {"beyond": float("inf"), "more": {"of": T}, "name": "n" * 200}
    config = _config(_signature(rows_copied), (torch.zeros(2, 3), None), given)
    assert (config["count"], config["rows"], config["beyond"]) == (
        "torch.float32[2, 3]",
        None,
        "inf",
    )
    assert len(config["name"]) == 80
    assert isinstance(config["more"], str)
