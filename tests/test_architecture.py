"""The house holds: imports go downwards, and the table of effects alone knows operations."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from smemreuse.semantics.rows import TABLE, arithmetic
from tests.conftest import ROOT

PACKAGE = ROOT / "smemreuse"
MAY_NAME_OPERATIONS = ("semantics", "versions", "compilers")
OPERATIONS = TABLE.keys() - arithmetic.ROWS.keys()
"""All but the operators of the expression language, which belong to `ir/expr.py`."""
PUBLIC_TWINS = {
    "Kernel": ["api/objects.py", "ir/kernel.py"],
    "Plan": ["api/objects.py", "results/plan.py"],
    "Session": ["tilelang.py", "tvm.py"],
}
"""Public classes that share a name: sessions of two compilers, and API objects over records."""


def test_rooms_import_downwards() -> None:
    """The contract is in setup.cfg, for import-linter."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-cache", "--no-logo"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def modules() -> Iterator[Path]:
    """The modules that should know no operation."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] not in MAY_NAME_OPERATIONS:
            yield path


def named_in(source: str) -> set[str]:
    """The operations that string constants of a module name; docstrings are longer than a name."""
    nodes = ast.walk(ast.parse(source))
    strings = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return strings & OPERATIONS


def test_no_room_but_semantics_versions_and_compilers_knows_an_operation_by_name() -> None:
    found = {str(path.relative_to(PACKAGE)): named_in(path.read_text()) for path in modules()}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("call.op == 'tvm_storage_sync'", {"tvm_storage_sync"}),
        ("WAITS = frozenset({'ptx_wait_group', 'add', 'nobody'})", {"ptx_wait_group"}),
        ("def f():\n    'ptx_wait_group is waited for'", set()),
        ("match op:\n    case 'tma_load': pass", {"tma_load"}),
    ],
)
def test_names_are_found_wherever_they_stand(source: str, names: set[str]) -> None:
    assert named_in(source) == names


def test_compilers_are_not_imported_by_name_elsewhere_either() -> None:
    """What import-linter cannot see: a compiler imported by its name in a string."""
    compilers = {"tilelang", "tvm", "tvm_ffi", "torch"}
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] == "compilers":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
                given = {one.value for one in node.args if isinstance(one, ast.Constant)}
                assert not {str(name).split(".")[0] for name in given} & compilers, path


def classes_of(source: str) -> list[str]:
    """The names of all classes that a module defines, nested ones too, in no particular order."""
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def test_a_class_name_exists_once_in_the_package() -> None:
    found = [
        (name, str(path.relative_to(PACKAGE)))
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in classes_of(path.read_text())
    ]
    times = Counter(name for name, _ in found)
    twins = {name: [path for each, path in found if each == name] for name in times}
    assert {name: paths for name, paths in twins.items() if len(paths) > 1} == PUBLIC_TWINS


def test_nested_classes_are_found_too() -> None:
    source = "class A:\n class B: pass\ndef f():\n class A: pass"
    assert sorted(classes_of(source)) == ["A", "A", "B"]
