"""Dialects are data: nobody decides by a name."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from smemreuse.compilers.dialects import APACHE_TVM, LEGACY, TILELANG
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.dialect import Dialect
from tests.conftest import ROOT

PACKAGE = ROOT / "smemreuse"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize(
    ("folder", "dialect"),
    [("dumps", TILELANG), ("tvm_dumps", APACHE_TVM), ("legacy", LEGACY)],
    ids=["dumps", "tvm_dumps", "legacy"],
)
def test_a_dump_tells_its_dialect(folder: str, dialect: Dialect) -> None:
    paths = sorted((ROOT / "fixtures" / folder).glob("*.tir"))
    assert paths
    for path in paths:
        assert {kernel.dialect.name for kernel in read_dump(str(path)).kernels} == {dialect.name}


def test_the_names_are_those_that_json_has_always_had() -> None:
    assert [one.name for one in (TILELANG, APACHE_TVM, LEGACY)] == ["tilelang", "tvm", "legacy"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_compares_a_dialect(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            compared = " ".join(map(ast.unparse, (node.left, *node.comparators)))
            assert "dialect" not in compared, f"{path}:{node.lineno}: {ast.unparse(node)}"
            assert ".packer == 'tilelang'" not in ast.unparse(node)


def test_the_records_need_no_compiler() -> None:
    import subprocess

    program = (
        "import sys, smemreuse.compilers.dialects, smemreuse.compilers.session, "
        "smemreuse.pipeline.choice; "
        "sys.exit(any(name.split('.')[0] in ('tvm', 'tilelang') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0
