"""The part of a program that makes a kernel, by its text alone."""

from __future__ import annotations

import pytest

from smemreuse.ir.source import SourceLine
from smemreuse.reproduce.snippet import snippet_of
from smemreuse.results.elaboration import Elaboration

PROGRAM = """import os
import tilelang
import tilelang.language as T
from helpers import other

N, UNUSED = 128, 1


def scaled(x):
    return x * N


@autotune(
    configs=other()
)
@tilelang.jit(out_idx=[-1])
def factory(M, block=64):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float16")):
        scaled(X)

    return main


@T.prim_func
def alone(X: T.Tensor((N,), "float16")):
    pass


def uses_others(M):
    return other(M)


def plain(M):
    return M
"""


def line_of(text: str) -> int:
    return PROGRAM.splitlines().index(text) + 1


def made(text: str, **config: object) -> Elaboration:
    return Elaboration("", SourceLine("program.py", line_of(text)), config)


def test_a_factory_comes_with_what_it_names_and_is_called_as_it_was() -> None:
    found = snippet_of(PROGRAM, made("@tilelang.jit(out_idx=[-1])", M=256, block=64))
    assert found is not None
    assert found.expression == "factory.get_tir(M=256, block=64)"
    for part in ("import tilelang\n", "N, UNUSED", "def scaled", "@tilelang.jit(out_idx=[-1])"):
        assert part in found.text
    for other in ("import os", "helpers", "alone", "uses_others", "autotune", "configs"):
        assert other not in found.text
    compile(found.text, "snippet", "exec")


def test_a_text_is_given_as_it_is() -> None:
    found = snippet_of(PROGRAM, made("@tilelang.jit(out_idx=[-1])", M="bfloat16"))
    assert found is not None
    assert found.expression == "factory.get_tir(M='bfloat16')"


def test_a_function_at_the_top_is_the_kernel_itself() -> None:
    found = snippet_of(PROGRAM, made('def alone(X: T.Tensor((N,), "float16")):'))
    assert found is not None
    assert found.expression == "alone"
    assert "@T.prim_func" in found.text


@pytest.mark.parametrize(
    "elaboration",
    [
        made("def uses_others(M):"),  # it is no factory that TileLang knows
        made("def plain(M):"),
        made("import os"),
        made("@tilelang.jit(out_idx=[-1])", M=("no", "plain", "value")),
        Elaboration(),
    ],
)
def test_what_does_not_stand_by_itself_is_left(elaboration: Elaboration) -> None:
    assert snippet_of(PROGRAM, elaboration) is None


def test_what_imports_a_module_of_its_own_is_left() -> None:
    text = PROGRAM.replace("        scaled(X)", "        other(X)")
    assert snippet_of(text, made("@tilelang.jit(out_idx=[-1])", M=256)) is None


def test_a_name_of_its_own_is_not_one_of_the_module() -> None:
    text = f"{PROGRAM}\n\ndef main(M):\n    return other(M)\n\n\nX = other(1)\n"
    found = snippet_of(text, made("@tilelang.jit(out_idx=[-1])", M=256))
    assert found is not None
    assert "def main(M)" not in found.text
    assert "X = " not in found.text


@pytest.mark.parametrize(
    ("given", "with_"),
    [
        ('X: T.Tensor((M, N), "float16")', "X: main"),
        ("scaled(X)", "main(X); scaled(X)"),
        ("block=64", "block=main"),
    ],
)
def test_a_name_that_is_used_outside_of_where_it_is_bound_is(given: str, with_: str) -> None:
    head, tail = PROGRAM.split("def factory", 1)
    tail = tail.replace("def main", "def inner").replace("return main", "return inner")
    text = f"{head}def factory{tail.replace(given, with_, 1)}\n\ndef main(M):\n    return N\n"
    found = snippet_of(text, made("@tilelang.jit(out_idx=[-1])", M=256))
    assert found is not None
    assert "def main(M)" in found.text
