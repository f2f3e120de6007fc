"""Kernels with elements of less than a byte, through every verb: an answer, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.advisor.model import estimate
from smemreuse.compilers.text.reader import read_dump
from smemreuse.targets.cards import H200
from tests.commands.running import run, run_json
from tests.compilers.text.texts import dump

NARROW = (
    *("bool", "uint1", "int1", "int2", "uint2", "int4", "uint4"),
    *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "custom[float4_e2m1_unpacked]"),
    *("int4x2", "int4x8", "uint4x3", "float4_e2m1fnx2", "float4_e2m1fnx3", "float6_e2m3fnx4"),
    *("uint1x8", "int2x4", "boolx4", "custom[float4_e2m1_unpacked]x2"),
)
BESIDE = ("uint8", "float16", "float32x4")
NAMES = ("As", "Bs", "Cs")

VERBS: dict[str, Callable[[Path, Path], list[str | Path]]] = {
    "analyze": lambda file, _: ["analyze", file],
    "compare": lambda file, _: ["compare", "--format", "json", file],
    "plan": lambda file, _: ["plan", "--objective", "bytes", file],
    "plan as TileLang": lambda file, _: [
        *("plan", "--policy", "inner", "--packer", "tilelang", file)
    ],
    "plan as TVM": lambda file, _: ["plan", "--policy", "outer", "--packer", "tvm", file],
    "explain": lambda file, _: ["explain", file],
    "lint": lambda file, _: ["lint", file],
    "graph": lambda file, folder: ["graph", file, "-o", folder / "k.dot"],
    "report": lambda file, folder: ["report", file, "-o", folder / "k.html"],
    "check": lambda file, _: ["check", file],
}
ANSWERED = (0, 1)
"""Exit codes of an answer; `check` and `lint` end with 1 where something is found."""


class _Body:
    """Statements of a kernel with some buffers, drawn one by one."""

    def __init__(self, draw: Callable[[st.SearchStrategy[object]], object], types: list[str]):
        self._draw = draw
        self._types = dict(zip(NAMES, types, strict=False))
        self._views = 0

    def _pick(self, *choices: str) -> str:
        return str(self._draw(st.sampled_from(choices)))

    def _name(self) -> str:
        return self._pick(*self._types)

    def _index(self) -> str:
        return self._pick("0", "1", "3", "tx", "tx * 2", "tx + 1", "tx * 8 + i", "tx // 2", "i")

    def _element(self) -> str:
        name, index = self._name(), self._index()
        lanes = self._pick("", "", "2", "8")
        return f"{name}[{index}:{index} + {lanes}]" if lanes else f"{name}[{index}]"

    def _pointer(self) -> str:
        name = self._name()
        kind = self._pick("typed", "typed", "address", "displaced", "data")
        if kind == "address":
            return f"T.address_of({name}[{self._index()}])"
        if kind == "displaced":
            return f"T.handle_add_byte_offset({name}.data, {self._index()})"
        if kind == "data":
            return f"{name}.data"
        dtype = self._pick(self._types[name], *NARROW)
        extent, mask = self._pick("1", "3", "8", "64", "tx"), self._pick("1", "2", "3")
        annotation = f'T.type_annotation("{dtype}")'
        return f"T.tvm_access_ptr({annotation}, {name}.data, {self._index()}, {extent}, {mask})"

    def _copy(self) -> str:
        written = self._pick(
            'T.call_extern("int32", "{0}", {1}, {2})',
            'T.ptx_cp_async("float16", {1}, {2}, 16)',
            "T.ptx_cp_async({1}, {2}, 16)",
            "T.tma_store(D.data, {1}, 0, 0, 0)",
            "T.ptx_ldmatrix(T.bool(False), 4, {1}, {2})",
        )
        return written.format(self._pick("f", "__syncthreads"), self._pointer(), self._pointer())

    def _view(self) -> str:
        self._views += 1
        of, view = self._name(), f"v{self._views}"
        dtype, begin = self._pick(*NARROW, *BESIDE), self._pick("0", "0", "1", "2", "32")
        self._types[view] = dtype
        return (
            f'{view} = T.decl_buffer((32,), "{dtype}", data={of}.data, elem_offset={begin}, '
            'scope="shared.dyn")'
        )

    def statement(self) -> str:
        kind = self._pick("store", "store", "copy", "copy", "read", "sync", "view", "loop", "if")
        if kind == "copy":
            return self._copy()
        if kind == "view":
            return self._view()
        if kind == "sync":
            return 'T.tvm_storage_sync("shared")'
        if kind == "read":
            return f"D[tx] = {self._element()}"
        inside = f"{self._element()} = {self._element()}"
        if kind == "loop":
            return f"for j in range(4):\n    {inside}\n    {self._copy()}"
        if kind == "if":
            return f"if tx < 32:\n    {inside}\nelse:\n    {self._copy()}"
        return inside


@st.composite
def kernels(draw: Callable[[st.SearchStrategy[object]], object]) -> str:
    """A dump with two or three buffers, at least one of them of narrow elements."""
    types = [str(draw(st.sampled_from(NARROW)))]
    for _ in range(int(str(draw(st.integers(1, 2))))):
        types.append(str(draw(st.sampled_from((*NARROW, *BESIDE)))))
    lines = ['bx = T.launch_thread("blockIdx.x", 4)']
    lines += ['X = T.handle("float32", "global")', "D = T.decl_buffer((4096,), data=X)"]
    for name, dtype in zip(NAMES, types, strict=False):
        size = draw(st.sampled_from(("(1,)", "(7,)", "(512,)", "(3, 5)", "(2, 256)")))
        size = "(512,)" if str(size) != "(1,)" and "," in str(size)[1:-2] else size
        lines.append(f'{name} = T.alloc_buffer({size}, "{dtype}", scope="shared.dyn")')
    lines.append('tx = T.launch_thread("threadIdx.x", 64)')
    body = _Body(draw, types)
    inside = [body.statement() for _ in range(int(str(draw(st.integers(2, 7)))))]
    lines += ["for i in range(2):", indent("\n".join(inside), "    ")]
    return dump("\n".join(lines) + "\n")


@given(kernels())
@settings(max_examples=15, deadline=None)
def test_every_verb_answers(source: str) -> None:
    with TemporaryDirectory() as folder:
        path, merged = Path(folder, "k.tir"), Path(folder, "merged.tir")
        path.write_text(source)
        (kernel,) = read_dump(path).kernels
        assert estimate(kernel, H200, 4096).seconds > 0
        for verb, made in VERBS.items():
            assert run(*made(path, Path(folder))).exit_code in ANSWERED, verb
        if run("apply", path, "-o", merged).exit_code == 0:
            for verb in ("compare", "check", "lint"):
                assert run(*VERBS[verb](merged, Path(folder))).exit_code in ANSWERED, verb


PACKED = """
bx = T.launch_thread("blockIdx.x", 4)
X = T.handle("float32", "global")
D = T.decl_buffer((4096,), data=X)
As = T.alloc_buffer((1001,), "{dtype}", scope="shared.dyn")
Bs = T.alloc_buffer((1001,), "{dtype}", scope="shared.dyn")
tx = T.launch_thread("threadIdx.x", 64)
As[tx] = T.Cast("{dtype}", D[tx])
T.tvm_storage_sync("shared")
D[tx] = As[tx]
T.tvm_storage_sync("shared")
T.call_extern("int32", "f", T.tvm_access_ptr(T.type_annotation("{dtype}"), Bs.data, 1, 1000, 2))
T.tvm_storage_sync("shared")
D[tx] = Bs[tx]
"""


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("float4_e2m1fn", 501),
        ("int4", 501),
        ("int4x3", 1502),
        ("float4_e2m1fnx2", 1001),
        ("uint1", 1001),
        ("float6_e2m3fnx4", 4004),
        ("custom[float4_e2m1_unpacked]", 1001),
    ],
)
def test_two_buffers_in_turns_take_the_bytes_of_one(dtype: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(dump(PACKED.format(dtype=dtype)))
    (plan,) = run_json("plan", "--objective", "bytes", "--format", "json", path)["kernels"]
    assert [buffer["bytes"] for buffer in plan["buffers"]] == [size, size]
    assert plan["arena_bytes"] == size
