"""Versions are data: nothing outside of `smemreuse.versions` knows one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import PlanError
from smemreuse.ir.kernel import UNSTATED, Kernel
from smemreuse.versions import APACHE_TVM, LEGACY, TILELANG, VERSIONS, installed, version_of
from tests.conftest import ROOT

PACKAGE = ROOT / "smemreuse"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize(
    ("folder", "version"),
    [("dumps", TILELANG), ("tvm_dumps", APACHE_TVM), ("legacy", LEGACY)],
    ids=["dumps", "tvm_dumps", "legacy"],
)
def test_a_dump_says_which_compiler_wrote_it(folder: str, version: str) -> None:
    paths = sorted((ROOT / "fixtures" / folder).glob("*.tir"))
    assert paths
    for path in paths:
        assert {kernel.version for kernel in read_dump(str(path)).kernels} == {version}


def test_the_names_are_those_that_json_has_always_had() -> None:
    found = [VERSIONS[one].dialect for one in (TILELANG, APACHE_TVM, LEGACY, UNSTATED)]
    assert found == ["tilelang", "tvm", "legacy", "unstated"]


def test_nothing_compares_a_version() -> None:
    naming = re.compile(r"dialect|\.version\b|VERSIONS")
    for path in SOURCES:
        text = path.read_text()
        if not naming.search(text) and ".packer" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare):
                compared = " ".join(map(ast.unparse, (node.left, *node.comparators)))
                where = f"{path}:{node.lineno}: {ast.unparse(node)}"
                assert not naming.findall(compared), where
                assert ".packer == 'tilelang'" not in ast.unparse(node), where


def test_no_other_room_names_a_version() -> None:
    naming = re.compile(r"\b0\.1\.(?:9|1\d)\b|\b0\.27\b|\b[dD]ialects?\b")
    for path in SOURCES:
        if path.relative_to(PACKAGE).parts[0] != "versions":
            found = naming.findall(path.read_text())
            assert [one for one in found if one != "dialect"] == [], path


def test_an_unknown_compiler_is_an_error() -> None:
    with pytest.raises(PlanError, match="nothing is known of the compiler version 'triton-3'"):
        version_of(Kernel("k", (), version="triton-3"))


def test_an_unknown_version_of_a_known_compiler_is_the_newest_by_another_name() -> None:
    found = version_of(Kernel("k", (), version="tilelang-9"))
    assert (found.name, found.merge.name, found.is_known) == ("TileLang 9", "TileLang 9", False)
    assert found.thread_sync is VERSIONS[TILELANG].thread_sync


@pytest.mark.parametrize(
    ("newest", "number", "key"),
    [
        (TILELANG, "0.1.15", TILELANG),
        *((TILELANG, f"0.1.{number}", f"tilelang-0.1.{number}") for number in range(9, 16)),
        (TILELANG, "0.1.12.post1+cu128", "tilelang-0.1.12"),
        (TILELANG, "0.1.1", "tilelang-0.1.1"),
        (TILELANG, "0.1.150", "tilelang-0.1.150"),  # not known
        (APACHE_TVM, "0.27.0.post1", APACHE_TVM),
        (APACHE_TVM, "0.28", "apache-tvm-0.28"),
    ],
)
def test_an_installed_compiler_has_the_version_of_its_number(
    newest: str, number: str, key: str
) -> None:
    assert installed(newest, number).key == key


def test_the_records_need_no_compiler() -> None:
    program = (
        "import sys, smemreuse.versions.merges, smemreuse.compilers.session, "
        "smemreuse.pipeline.choice; "
        "sys.exit(any(name.split('.')[0] in ('tvm', 'tilelang') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_older_versions_of_tilelang_are_tested_too() -> None:
    """Each one that is known, in the environments of `scripts/test.sh --versions`."""
    lines = (ROOT / "constraints-versions.txt").read_text().splitlines()
    listed = {line.split()[0].replace("==", "-") for line in lines if line[0] != "#"}
    known = {key for key in VERSIONS if key.startswith("tilelang-")}
    assert listed == known - {TILELANG}
