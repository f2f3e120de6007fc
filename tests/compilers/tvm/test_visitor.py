"""Both frontends must tell the same story about the same kernel, before the merge and behind it."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from fixtures.tvm import FIXTURES, Fixture
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import Kernel, expressions_of, walk_statements
from smemreuse.pipeline.planning import sequence_of
from smemreuse.versions import APACHE_TVM

pytestmark = pytest.mark.tvm


@pytest.fixture(params=list(FIXTURES.values()), ids=lambda fixture: fixture.name)
def captured(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    from fixtures.tvm.lowering import capture

    fixture: Fixture = request.param
    pair: tuple[Any, Any] = capture(fixture.make(**fixture.configs["small"]), fixture.pass_configs)
    return pair


def normalized(text: str) -> str:
    """The printer writes `blockIdx.x` as `blockIdx_x`, and numbers names that occur twice."""
    return re.sub(r"\b([A-Za-z]\w*?)(_\d+)+\b", r"\1", text.replace("Idx.", "Idx_"))


def lines(kernel: Kernel) -> list[str]:
    return [
        normalized(f"{type(stmt).__name__} {[format_expr(e) for e in expressions_of(stmt)]}")
        for stmt in walk_statements(kernel.body)
    ]


def live_ranges(kernel: Kernel) -> list[tuple[str, str, int, int]]:
    return [
        (policy, normalized(live.buffer.name), live.begin, live.end)
        for scope in kernel.shared_scopes()
        for policy in ("outer", "inner", "dataflow")
        for live in sequence_of(kernel, scope, policy)[1].values()
    ]


def test_frontends_agree(captured: tuple[Any, Any]) -> None:
    from smemreuse.tvm import read_module

    for mod in captured:
        live, text = read_module(mod), list(parse_dump(mod.script()).kernels)
        assert [kernel.name for kernel in live] == [kernel.name for kernel in text]
        for ours, read in zip(live, text, strict=True):
            assert lines(ours) == lines(read)
            assert live_ranges(ours) == live_ranges(read)
            assert (ours.version, read.version) == (APACHE_TVM, APACHE_TVM)


def test_a_host_function_has_no_kernel() -> None:
    import tvm
    from tvm.script import tirx as T

    from smemreuse.tvm import read_module

    @T.prim_func(s_tir=True)
    def host(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(0)

    assert read_module(tvm.IRModule({"host": host})) == []


SYMBOLIC = """
@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
    T.func_attr({"global_symbol": "main"})
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    B = T.match_buffer(b, (n, 64), "float32")
    bx = T.launch_thread("blockIdx.x", n)
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.alloc_buffer((64,), "float32", scope="shared.dyn")
    R = T.alloc_buffer((64,), "float32", scope="shared.dyn")
    S[tx] = A[bx, tx]
    T.tvm_storage_sync("shared")
    R[tx] = S[63 - tx]
    T.tvm_storage_sync("shared")
    B[bx, tx] = R[63 - tx]
"""


def test_a_symbolic_size_is_read_as_it_is_printed() -> None:
    """As `n = TypeVar("n")` before the module."""
    import tvm
    from tvm.script import tirx as T

    from fixtures.tvm.lowering import capture
    from smemreuse.tvm import read_module

    func = tvm.script.from_source(SYMBOLIC, {"T": T})
    before, _ = capture(tvm.IRModule({"main": func}), {})
    script = before.script()
    assert 'n = TypeVar("n")' in script
    (live,), (text,) = read_module(before), parse_dump(script).kernels
    assert lines(live) == lines(text)
    assert live_ranges(live) == live_ranges(text)


def test_a_tvm_whose_buffers_are_no_variables_is_refused_in_one_line() -> None:
    """As 0.25 and 0.26 are; their dumps are read all the same."""
    program = "import tvm.ir; del tvm.ir.TensorLoad; import smemreuse.tvm"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith(
        "smemreuse gets into Apache TVM 0.27, and reads dumps of this one"
    )
