"""A device function that nobody knows is named as what stops a plan, with the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from smemreuse import lint, plugins, read
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import walk_statements
from smemreuse.semantics.undeclared import undeclared_function
from tests.commands.running import run, run_json

CALL = (
    'T.call_extern("handle", "mylib_load_tile", T.address_of(A_shared[0]), T.address_of(Y_1[0]),'
    " 1024)"
)
DUMP = f"""\
@T.prim_func(private=True)
def main_kernel(X: T.handle("float32", "global"), Y: T.handle("float32", "global")):
    Y_1 = T.decl_buffer((4096,), data=Y)
    bx = T.launch_thread("blockIdx.x", 1)
    A_shared = T.alloc_buffer((1024,), scope="shared.dyn")
    value = T.alloc_buffer((8,), scope="local")
    B_shared = T.alloc_buffer((1024,), scope="shared.dyn")
    tx = T.launch_thread("threadIdx.x", 128)
    for k in range(4):
        {CALL}
        T.tvm_storage_sync("shared.dyn")
        for i in T.unroll(8):
            value[i] = A_shared[1023 - tx - i * 128]
        T.tvm_storage_sync("shared.dyn")
        for i in T.unroll(8):
            B_shared[i * 128 + tx] = T.float32(3.0) * value[i]
        T.tvm_storage_sync("shared.dyn")
        for i in T.unroll(8):
            Y_1[k * 1024 + i * 128 + tx] = B_shared[1023 - tx - i * 128]
        T.tvm_storage_sync("shared.dyn")
"""
TOLD = "`mylib_load_tile` is not known: declare it in smemreuse.toml"
DECLARED = """\
[functions.mylib_load_tile]
arguments = [{ access = "write", elements_in = 2, surely = "block" }, "read", "value"]
asynchronous = false
escapes = false
barrier_at_end = true
barriers_inside = false
"""


@pytest.fixture
def dump() -> Path:
    path = Path("kernel.tir")
    path.write_text(DUMP)
    return path


def told(*args: str | Path) -> str:
    return " ".join(run(*args).stdout.split())


def test_check_names_it_instead_of_a_wait(dump: Path) -> None:
    plan = run("plan", dump, "--policy", "inner", "--format", "json").stdout
    Path("plan.json").write_text(plan)
    command: list[str | Path] = ["check", dump, "--plan", "plan.json"]
    (kernel,) = run_json(*command, "--allow-unproved", "--format", "json")["kernels"]
    assert kernel["verdict"] == "unproved"
    witnesses = [one["witness"] for one in kernel["violations"]]
    assert witnesses
    assert all(one.startswith(TOLD) for one in witnesses)
    rule = "rule 5 (in flight)"
    assert f"{rule}, B_shared and A_shared: {TOLD}; `call_extern(" in told(*command)
    (line,) = run(*command, "--format", "github").stdout.splitlines()
    assert f"{TOLD}; " in line
    assert "file=kernel.tir,line=" in line


def test_explain_names_it_and_where_it_is_called(dump: Path) -> None:
    text = told("explain", dump, "A_shared", "B_shared")
    assert f"rule 5: A_shared: {TOLD}; it is called in `call_extern(" in text
    assert "(line 10)" in text
    assert "an asynchronous access" not in text
    assert TOLD in told("explain", dump)
    everything = told("explain", dump, "--all")
    assert "if it were known what is done to A_shared and B_shared" in everything


def test_lint_names_it_as_what_acts_and_as_the_mend(dump: Path) -> None:
    (kernel,) = read(dump)
    hazards = lint(kernel).hazards
    assert {str(one.kind) for one in hazards} == {"uninitialised-read", "missing-wait"}
    for one in hazards:
        assert one.mend.sentence == f"{TOLD} (called at line 10)."
        assert one.mend.undeclared == "mylib_load_tile"
        assert "asynchronous copy" not in one.witness
    assert "fix: " + TOLD in told("lint", dump)


def test_where_it_is_declared_nothing_of_that_is_said(dump: Path) -> None:
    Path("smemreuse.toml").write_text(DECLARED)
    plugins.configure("smemreuse.toml")
    (kernel,) = read(dump)
    assert lint(kernel).clean
    assert "is not known" not in told("explain", dump, "A_shared", "B_shared")


def test_a_race_keeps_its_own_mend_as_well(dump: Path) -> None:
    """A function whose text is at hand is over at its return, and what it accesses is not known."""
    text = "void mylib_load_tile(float* to) { to[threadIdx.x] = 0; }"
    call = f'T.cuda.func_call("mylib_load_tile", A_shared.data, source_code="{text}")'
    dump.write_text(DUMP.replace(f'{CALL}\n        T.tvm_storage_sync("shared.dyn")', call))
    (kernel,) = read(dump)
    races = [one for one in lint(kernel).hazards if str(one.kind) == "race"]
    assert races
    for one in races:
        assert one.mend.sentence.startswith(f"{TOLD} (called at line 10); or let threads 0-127 ")
        assert str(one.mend.remedy) == "barrier"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (CALL, "mylib_load_tile"),
        (CALL.replace("mylib_load_tile", "::mylib::load<4>"), "mylib::load"),
        (CALL.replace("mylib_load_tile", "no name"), None),
        (CALL.replace("mylib_load_tile", "tl::AllReduce::run"), None),
        (CALL.replace("mylib_load_tile", "__syncthreads"), None),
    ],
)
def test_only_what_may_be_declared_is_to_be(call: str, name: str | None) -> None:
    (kernel,) = parse_dump(DUMP.replace(CALL, call)).kernels
    found = map(undeclared_function, walk_statements(kernel.body))
    assert [one for one in found if one] == ([] if name is None else [name])
