"""Both frontends must tell the same story about the same kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.compilers.tilelang.verify import with_barriers
from smemreuse.compilers.tilelang.visitor import TirVisitor, read_function
from smemreuse.ir import labels
from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Kernel, expressions_of, walk_statements
from smemreuse.pipeline.planning import sequence_of
from smemreuse.report.data import analyze_entry, subjects
from smemreuse.semantics.global_memory import overlapping
from smemreuse.tilelang import read_module
from tests.compilers.tilelang.conftest import Case
from tests.compilers.tilelang.levers.kernels import overlapping as copy_of_overlapping
from tests.compilers.tilelang.lowering import before_merge, lower, stock_merge

pytestmark = [pytest.mark.tilelang, pytest.mark.xdist_group("lowered once")]


@pytest.fixture(autouse=True)
def whole_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shortened label would be cut at another place once a name has a suffix."""
    monkeypatch.setattr(labels, "MAX_LABEL", 10_000)


def normalized(text: str) -> str:
    """The printer tells two variables of one name apart by a suffix; live objects need none."""
    return re.sub(r"\b([A-Za-z]\w*?)(_\d+)+\b", r"\1", text)


def sequences(kernels: list[Kernel]) -> list[tuple[str, ...]]:
    rows = []
    for subject in subjects("", kernels):
        for policy in ("outer", "inner"):
            sequence = sequence_of(subject.kernel, subject.scope, policy)
            data = analyze_entry(subject, policy, *sequence)
            entries = data["sequence"]
            assert isinstance(entries, list)
            for entry in entries:
                entry.pop("line", None)
                rows.append(tuple(normalized(str(value)) for value in entry.values()))
    return rows


def test_frontends_agree_on_every_sequence(case: Case) -> None:
    mod = before_merge(case)
    live, text = read_module(mod), list(parse_dump(mod.script()).kernels)
    assert [kernel.name for kernel in live] == [kernel.name for kernel in text]
    assert len(sequences(live)) > 20
    assert sequences(live) == sequences(text)


def test_frontends_agree_on_every_expression(case: Case) -> None:
    mod = before_merge(case)

    def lines(kernel: Kernel) -> list[str]:
        return [
            normalized(f"{type(stmt).__name__} {[format_expr(e) for e in expressions_of(stmt)]}")
            for stmt in walk_statements(kernel.body)
        ]

    (live,), (text,) = read_module(mod), parse_dump(mod.script()).kernels
    assert lines(live) == lines(text)


def test_frontends_agree_behind_the_merge(case: Case) -> None:
    """The merged module too: handles bound into the arena are touches of the arena."""
    mod = stock_merge(case)
    live, text = read_module(mod), list(parse_dump(mod.script()).kernels)
    (arena,) = live[0].allocations("shared.dyn")
    assert arena.name == "buf_dyn_shmem"
    assert any("buf_dyn_shmem" in row[3] for row in sequences(live))
    assert sequences(live) == sequences(text)


def test_frontends_agree_on_parameters_that_may_overlap() -> None:
    mod = lower(copy_of_overlapping(), "sm_80").before
    for (kernel,) in (read_module(mod), parse_dump(mod.script()).kernels):
        assert overlapping(kernel.attrs) == {"A", "B"}


def test_what_passes_have_left_alone_is_not_read_again(case: Case) -> None:
    """And what is read of the rest is what a visitor without memory reads."""
    (name, func), *_ = _device_functions(before_merge(case))
    visitor = TirVisitor()
    (first,) = visitor.kernels(name, func)
    behind = with_barriers(name, func)
    (again,), (anew,) = visitor.again().kernels(name, behind), TirVisitor().kernels(name, behind)
    assert sequences([again]) == sequences([anew])
    statements = list(walk_statements(again.body))
    assert len(set(statements)) == len(statements)
    shared = set(walk_statements(first.body)).intersection(statements)
    assert 2 * len(shared) > len(statements)


def _device_functions(mod: Any) -> Iterator[tuple[str, Any]]:
    for var, func in mod.functions.items():
        if read_function(str(var.name_hint), func):
            yield str(var.name_hint), func
