"""Small kernels that try to have a reader or an evaluator take a number for another one.

In each of them some thread writes to Bs, which lies where As does, and As is read behind that: none
may be called sound. Beside them stand kernels in which nobody writes, so that the others are not
refused for the way they are written.
"""

from __future__ import annotations

import pytest

from tests.checker.small import SYNC, judge, under


def where(condition: str, declared: str = "") -> str:
    """Threads for which a condition holds overwrite what is read behind."""
    over = under(f"if {condition}", "Bs[tx] = 7\n")
    return f"{declared}As[tx] = tx\n{SYNC}{over}{SYNC}O[tx] = As[tx]\n"


def at(index: str) -> str:
    """The first warp overwrites some of what the second reads."""
    over = under("if tx < 32", f"Bs[{index}] = 7\n")
    return f"As[tx] = tx\n{SYNC}{over}{SYNC}" + under("if tx >= 32", "O[tx] = As[tx]\n")


def lanes(index: str, count: int = 32) -> str:
    """One thread overwrites some of what the second warp reads, with a vector."""
    over = under("if tx == 0", f"Bs[{index}] = T.Broadcast(7, {count})\n")
    return f"As[tx] = tx\n{SYNC}{over}{SYNC}" + under("if tx >= 32", "O[tx] = As[tx]\n")


def view(name: str, more: str = "", size: int = 64, dtype: str = "int32") -> str:
    """A view V of a buffer."""
    return f'V = T.decl_buffer(({size},), "{dtype}", data={name}.data{more}, scope="shared.dyn")\n'


def between(text: str) -> str:
    """Statements between the write and the read, which overwrite."""
    return f"As[tx] = tx\n{SYNC}{text}{SYNC}O[tx] = As[tx]\n"


DECEIVING = {
    "u32 sub": where("T.uint32(tx) - T.uint32(64) > T.uint32(100)"),
    "u32 literal sub": where("T.uint32(1) - T.uint32(2) > T.uint32(5)"),
    "u64 sub": where("T.uint64(tx) - T.uint64(64) > T.uint64(100)"),
    "u8 cast": where("T.Cast('uint8', tx + 250) < T.uint8(10)"),
    "int8 cast": where("T.Cast('int8', tx + 100) < T.int8(0)"),
    "neg mod": where("T.truncmod(tx - 64, 7) < 0"),
    "neg floormod": where("(tx - 64) % 7 > 0"),
    "neg floordiv": where("(tx - 64) // 7 == -10"),
    "truncdiv": where("T.Div(tx - 64, 7) == -9"),
    "shift neg": where("T.shift_right(tx - 64, 1) == -32"),
    "not": where("not tx < 0"),
    "invert": where("~tx < 0"),
    "invert bool": where("T.bitwise_not(tx) == -1"),
    "and or precedence": where("tx >= 0 or tx < 0 and tx > 100"),
    "bit precedence": where("tx & 1 == 0"),
    "bool int": where("(tx < 32) + (tx < 64) == 2"),
    "bool lt": where("(tx < 32) < (tx >= 32)"),
    "float index cmp": where("T.Cast('float32', tx) * T.float32(0.5) < T.float32(1.0)"),
    "float to int": where("T.Cast('int32', T.Cast('float32', tx) * T.float32(0.1)) == 3"),
    "huge const": where("tx < 99999999999999999999999"),
    "huge const2": where("T.int64(tx) < T.int64(9223372036854775807)"),
    "hex": where("tx < 0x1_0"),
    "octal": where("tx < 0o10"),
    "binary": where("tx < 0b1000"),
    "min neg": where("T.min(tx - 64, 0) < -1"),
    "max": where("T.max(tx, 5) == 5"),
    "nested ite": where("T.if_then_else(tx < 32, T.if_then_else(tx < 16, 1, 0), 0) == 1"),
    "likely": where("T.likely(tx < 16)"),
    "reinterpret": where("T.reinterpret('int32', T.float32(1.0)) > 5"),
    "reinterpret u": where("T.reinterpret('uint32', tx - 64) > T.uint32(100)"),
    "let": where("T.Let(v > 3, where={v: tx})", "v = T.int32()\n"),
    "let u8": where("v < T.uint8(10)", "v: T.let[T.uint8] = T.Cast('uint8', tx + 250)\n"),
    "annotated narrow": where("v < T.uint8(10)", "v: T.uint8 = tx + 250\n"),
    "select": where("T.Select(tx < 32, tx - 64, tx) < 0"),
    "ne chain": where("(tx != 1) != (tx != 2)"),
    "pow2 mul overflow": where("T.uint32(tx) * T.uint32(2147483648) == T.uint32(0)"),
    "u32 neg": where("-T.uint32(tx) > T.uint32(5)"),
    "shl u32": where("T.shift_left(T.uint32(tx), T.uint32(31)) == T.uint32(0)"),
    "abs": where("T.abs(tx - 64) > 3"),
    "truncmod neg": where("T.truncmod(-tx, 2) == -1"),
    "int32 cast of i64": where("T.Cast('int32', T.int64(4294967296) + T.Cast('int64', tx)) < 5"),
    "bool cast": where("T.Cast('bool', tx)"),
    "T.bool": where("T.bool(tx)"),
    "condition int": where("tx"),
    "condition neg": where("tx - 64"),
    "popcount": where("T.popcount(tx) == 2"),
    "neg offset": at("63 - tx"),
    "u8 index": at("T.Cast('uint8', tx + 288)"),
    "u32 wrap index": at("T.uint32(tx) - T.uint32(4294967264)"),
    "ramp neg": lanes("63:31:-1"),
    "ramp": lanes("T.Ramp(63, -1, 32)"),
    "ramp zero": lanes("T.Ramp(40, 0, 4)", 4),
    "ramp u32 neg": lanes("T.Ramp(T.uint32(63), T.uint32(4294967295), 32)"),
    "broadcast idx": lanes("T.Broadcast(40, 4)", 4),
    "ramp sub": lanes("T.Broadcast(63, 32) - T.Ramp(0, 1, 32)"),
    "ramp mul": lanes("T.Ramp(0, 1, 32) * T.Broadcast(2, 32)"),
    "bool index": at("(tx < 64) * 32 + tx"),
    "u32 loop": between(
        "for k in T.serial(T.uint32(4)):\n"
        "    if k - T.uint32(1) > T.uint32(5):\n        Bs[tx] = 7\n"
    ),
    "u8 loop": between(
        "for k in T.serial(T.uint8(4)):\n    if k - T.uint8(1) > T.uint8(5):\n        Bs[tx] = 7\n"
    ),
    "range u": between("for k in T.serial(T.uint32(5), T.uint32(3)):\n    Bs[tx] = 7\n"),
    "neg range": between("for k in range(-4, 0):\n    if k == -2:\n        Bs[tx] = 7\n"),
    "step": between("for k in T.serial(0, 64, 63):\n    if k == 63:\n        Bs[tx] = 7\n"),
    "reuse loop var": between(
        "for k in range(2):\n    for k in range(5):\n        if k == 4:\n            Bs[tx] = 7\n"
    ),
    "shadow": "v: T.int32 = tx\n"
    + between("if tx < 64:\n    v: T.int32 = tx + 100\n    if v > 99:\n        Bs[tx] = 7\n"),
    "rebinding after": where("v < w", "v: T.int32 = 100\nw: T.int32 = v\nv: T.int32 = tx\n"),
    "alias view": view("Bs") + between("V[tx] = 7\n"),
    "alias u8": view("Bs", size=256, dtype="uint8") + between("V[tx + 190] = T.uint8(7)\n"),
    "view neg offset": view("Bs", ", elem_offset=-1") + between("if tx > 0:\n    V[tx] = 7\n"),
    "redeclared": between(view("As") + view("Bs") + "V[tx] = 7\n"),
    "assume": between("T.evaluate(T.assume(tx > 100))\nif tx < 32:\n    Bs[tx] = 7\n"),
    "while u": "c[0] = 0\n"
    + between(
        "while T.Cast('uint32', c[0]) - T.uint32(1) > T.uint32(5):\n"
        "    c[0] = c[0] + 1\n    Bs[tx] = 7\n"
    ),
    "counter u8": where(
        "d[0] < T.uint8(5)",
        'd = T.alloc_buffer((1,), "uint8", scope="local.var")\nd[0] = T.uint8(255)\n'
        "d[0] = d[0] + T.uint8(1)\n",
    ),
    "counter u32": where(
        "d[0] > T.uint32(5)",
        'd = T.alloc_buffer((1,), "uint32", scope="local.var")\nd[0] = T.uint32(0)\n'
        "d[0] = d[0] - T.uint32(1)\n",
    ),
    "data case u32": where(
        'T.Cast("uint32", n) - T.uint32(1) < T.uint32(5)', "n: T.int32 = D[0]\n"
    ),
    "data two forms": (
        'As[tx] = tx\nT.tvm_storage_sync("shared")\n'
        'if T.Cast("uint32", D[0]) < T.uint32(5):\n    Bs[tx] = 7\n'
        'T.tvm_storage_sync("shared")\nif D[0] < 5:\n    O[tx] = As[tx]\n'
    ),
    "data const forms": (
        'As[tx] = tx\nT.tvm_storage_sync("shared")\n'
        'if T.Cast("uint8", D[0]) == T.uint8(1):\n    Bs[tx] = 7\n'
        'T.tvm_storage_sync("shared")\nif D[0] != 1:\n    O[tx] = As[tx]\n'
    ),
}


@pytest.mark.parametrize("name", DECEIVING)
def test_what_is_overwritten_is_not_called_sound(name: str) -> None:
    assert not judge(DECEIVING[name]).sound


@pytest.mark.parametrize(
    "condition",
    [
        "T.uint32(tx) - T.uint32(64) < T.uint32(64)",
        "T.uint32(1) - T.uint32(2) < T.uint32(5)",
        "T.Cast('uint8', tx + 250) > T.uint8(255)",
        "T.Cast('uint8', tx + 10) < T.uint8(10)",
        "T.truncmod(tx - 64, 7) > 0",
        "(tx - 64) % 7 < 0",
        "(tx - 64) // 7 == 0",
        "~tx >= 0",
        "T.Select(tx < 64, 1, 0) == 0",
        "T.if_then_else(tx < 32, T.if_then_else(tx < 16, 1, 0), 0) == 2",
        "T.int64(tx) > T.int64(4294967296)",
        "T.uint32(tx) * T.uint32(2147483648) == T.uint32(5)",
        "-T.uint32(tx) - T.uint32(1) < T.uint32(5)",
        "not tx >= 0",
        "tx == 0x40",
        "T.likely(tx >= 64)",
    ],
)
def test_what_nobody_overwrites_is_proved(condition: str) -> None:
    assert judge(where(condition)).sound


@pytest.mark.parametrize(
    "launch", ["T.uint32(64)", "T.int64(64)", "T.uint8(64)"], ids=["uint32", "int64", "uint8"]
)
def test_an_axis_has_the_type_of_its_extent(launch: str) -> None:
    """`ty - 1` of `ty == 0` is below 0, or above all others: somebody writes in either case."""
    wrapped = launch.replace("64", "1")
    declared = f'ty = T.launch_thread("threadIdx.y", {launch.replace("64", "2")})\n'
    condition = f"ty - {wrapped} < T.Cast('{launch[2:-4]}', 0) or ty - {wrapped} > {launch}"
    assert not judge(where(condition, declared)).sound
