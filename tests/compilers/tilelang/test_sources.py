"""Which line of Python each statement of a lowered kernel comes from."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T

import smemreuse.tilelang
from fixtures.kernels import FIXTURES
from smemreuse.compilers.records import Settings
from smemreuse.compilers.tilelang import sources
from smemreuse.compilers.tilelang.sources import SourceFinder
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.compilers.tilelang.worker import recorded
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Evaluate, Kernel, Stmt, Store, walk_statements
from smemreuse.ir.labels import label
from smemreuse.ir.source import SourceLine, source_of
from tests.compilers.tilelang.conftest import Case
from tests.compilers.tilelang.lowering import lower
from tests.compilers.tilelang.programs import smemreuse as run_smemreuse
from tests.conftest import ROOT
from tests.schemas import require_valid

pytestmark = pytest.mark.tilelang

EVERY = [(name, one.archs[-1]) for name, one in FIXTURES.items()]


def found_in(func: Any, arch: str) -> list[Kernel]:
    """The kernels of a function as the merge receives them, with their sources."""
    return sourced(SourceFinder(func), lower(func, arch).before)


def sourced(finder: SourceFinder, mod: Any) -> list[Kernel]:
    found: list[Kernel] = []
    for var, device in mod.functions.items():
        reader = TirVisitor()
        kernels = reader.kernels(str(var.name_hint), device)
        finder(reader, kernels)
        found += kernels
    return found


def shared_statements(kernel: Kernel) -> list[tuple[Stmt, set[str]]]:
    """The statements that touch shared memory other than mbarriers, and the buffers they touch."""
    found: list[tuple[Stmt, set[str]]] = []
    for stmt in walk_statements(kernel.body):
        touched = {
            one.buffer.name
            for one in facts_of(kernel).accesses.get(stmt, ())
            if one.buffer.scope in ("shared", "shared.dyn")
        }
        if touched and isinstance(stmt, (Evaluate, Store)):
            found.append((stmt, touched))
    return found


@cache
def parsed(file: str) -> tuple[str, ast.Module]:
    text = (ROOT / file).read_text()
    return text, ast.parse(text)


def python_at(source: SourceLine) -> str:
    """The statement of Python that begins at a line; no loop and nothing else that has a body."""
    text, module = parsed(source.file)
    (found,) = (
        one
        for one in ast.walk(module)
        if isinstance(one, ast.stmt) and one.lineno == source.line and not hasattr(one, "body")
    )
    return ast.get_source_segment(text, found) or ""


def told(kernels: Sequence[Kernel]) -> list[tuple[str, int | None]]:
    """The statements that touch shared memory, and the lines that they are said to come from."""
    return [
        (label(stmt), getattr(source_of(stmt), "line", None))
        for kernel in kernels
        for stmt, _ in shared_statements(kernel)
    ]


@pytest.mark.parametrize(("name", "arch"), EVERY)
def test_a_line_that_is_told_names_the_buffers(name: str, arch: str) -> None:
    fixture = FIXTURES[name]
    for kernel in found_in(fixture.make(**fixture.configs["small"]), arch):
        for stmt, touched in shared_statements(kernel):
            source = source_of(stmt)
            if source is not None:
                python = python_at(source)
                assert all(one in python for one in touched), (label(stmt), source)


@pytest.mark.parametrize("name", ["gemm", "batched_gemm", "stream_k"])
def test_every_statement_of_a_plain_kernel_is_told(name: str) -> None:
    fixture = FIXTURES[name]
    for arch in fixture.archs:
        lines = [line for _, line in told(found_in(fixture.make(**fixture.configs["small"]), arch))]
        assert lines
        assert None not in lines


def test_where_the_line_is_not_sure_nothing_is_told() -> None:
    """Two products read `Bs` through one descriptor; what stands in a `with` that specializes
    warps, and in no loop, has the span of the `with`."""
    fixture = FIXTURES["gemm_three_groups"]
    found = told(found_in(fixture.make(**fixture.configs["small"]), "sm_90a"))
    untold = [text for text, line in found if line is None]
    assert len(found) > len(untold) == 6
    assert all(any(f"{name}.data" in text for name in ("Bs", "C0", "C1")) for text in untold)


def filled_twice() -> Any:
    @T.prim_func
    def twice(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((128,), "float32")
            R = T.alloc_shared((128,), "float32")
            for i in T.Parallel(128):
                S[i] = A[i]
            for i in T.Parallel(128):
                B[i] = S[127 - i]
            for i in T.Parallel(128):
                S[i] = A[i] + 1.0
            for i in T.Parallel(128):
                R[i] = S[127 - i]
            for i in T.Parallel(128):
                B[i] += R[127 - i]

    return twice


def line_of(text: str) -> int:
    """The line of this file that is `text`, within `filled_twice`."""
    lines, first = inspect.getsourcelines(filled_twice)
    return first + next(at for at, line in enumerate(lines) if line.strip() == text)


def test_stores_to_one_buffer_are_told_apart_by_their_spans() -> None:
    assert [line for _, line in told(found_in(filled_twice(), "sm_80"))] == [
        *map(line_of, ("S[i] = A[i]", "B[i] = S[127 - i]", "S[i] = A[i] + 1.0")),
        *map(line_of, ("R[i] = S[127 - i]", "B[i] += R[127 - i]")),
    ]


def test_without_a_span_a_line_is_told_only_if_it_is_the_only_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    func = filled_twice()
    finder, mod = SourceFinder(func), lower(func, "sm_80").before
    assert finder._leaves
    monkeypatch.setattr(sources, "_span_of", lambda _: None)
    kernels = sourced(finder, mod)
    only = [line_of(text) for text in ("R[i] = S[127 - i]", "B[i] += R[127 - i]")]
    assert [line for _, line in told(kernels)] == [None, None, None, *only]


def test_where_tilelang_notes_no_lines_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_span_of", None)
    assert {line for _, line in told(found_in(filled_twice(), "sm_80"))} == {None}


def test_what_is_told_changes_no_byte_of_the_cuda(case: Case, tmp_path: Path) -> None:
    found = []
    for number, looked in enumerate((False, True)):
        folder = tmp_path / str(number)
        folder.mkdir()
        settings = Settings(str(folder), linted=looked, drawn=looked)
        if looked:
            settings = replace(settings, dump=str(folder))
        target = tilelang.tvm.target.Target({"kind": "cuda", "arch": case.arch})
        context = tilelang.tvm.transform.PassContext(opt_level=3, config=dict(case.pass_configs))
        with recorded(settings), context, target:
            found.append(tilelang.lower(case.func, target=target).kernel_source)
    assert found[0] == found[1]
    assert any("  # from fixtures/" in one.read_text() for one in (tmp_path / "1").glob("*.tir"))


def test_explanations_of_a_session_name_lines() -> None:
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_80"})
    with smemreuse.tilelang.merge() as session, target:
        tilelang.lower(filled_twice(), target=target)
    assert f"(from {Path(__file__).name}:" in str(session.explain())


RACES = """\
import tilelang
import tilelang.language as T

@tilelang.jit(out_idx=[-1], pass_configs={"tl.disable_thread_storage_sync": True})
def reversed_rows(N, threads=128):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=threads):
            S = T.alloc_shared((N,), "float32")
            for i in T.Parallel(N):
                S[i] = A[i]
            for i in T.Parallel(N):
                B[i] = S[N - 1 - i]
    return main

def test_it():
    reversed_rows(128)
"""


def test_a_hazard_names_the_line_in_table_json_dump_and_lint(tmp_path: Path) -> None:
    (tmp_path / "test_rows.py").write_text(RACES)
    pytest_args = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_rows.py")
    options = ("--lint", "--lower-only", "--arch", "sm_80", "--policy", "none")
    done = run_smemreuse("run", *options, "--dump", "dumps", *pytest_args, cwd=tmp_path)
    lines = RACES.splitlines()
    wrote, read = (
        1 + lines.index(f"                {one}") for one in ("S[i] = A[i]", lines[12].strip())
    )
    assert (
        f"main_kernel: from test_rows.py:{read}: race (certain by PTX; in the source)"
        in done.stdout
    )
    assert f"(from test_rows.py:{wrote})" in done.stdout
    linted = run_smemreuse("lint", "--barriers", "present", "dumps/main_kernel.tir", cwd=tmp_path)
    assert f", from test_rows.py:{read}: can read stale data: race (" in linted.stdout
    done = run_smemreuse("run", *options, "--json", "out.json", *pytest_args, cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())
    require_valid(found)
    (hazard,) = found["kernels"][0]["lint"]["hazards"]
    assert hazard["site"]["source"] == {"file": "test_rows.py", "line": read}
    assert hazard["other"]["source"] == {"file": "test_rows.py", "line": wrote}
