"""Functions that TileLang rewrites once, and what becomes of them with other values."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tilelang.language as T
from tilelang import tvm
from tilelang.language.eager import ast as eager

from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.parsing import parsed_once


def scaled(size: int, factor: float) -> T.PrimFunc:
    @T.macro
    def store(B: T.Buffer, i: int, value: float) -> None:
        B[i] = value * factor

    @T.prim_func
    def kernel(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=32) as _:
            for i in T.Parallel(size):
                store(B, i, A[i])

    return kernel


def within(scope: Callable[..., Any]) -> T.PrimFunc:
    """`scope` may be what launches a kernel, which TileLang rewrites otherwise, or anything."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _, scope():
            A[0] = 1.0

    return kernel


@contextmanager
def nothing() -> Iterator[None]:
    yield


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that TileLang parses."""
    install()
    names: list[str] = []
    stock = eager.utils.get_ast

    def noted(func: Callable[..., Any]) -> Any:
        names.append(func.__name__)
        return stock(func)

    monkeypatch.setattr(eager.utils, "get_ast", noted)
    return names


def test_a_function_is_parsed_once_and_gets_its_own_values(parsed: list[str]) -> None:
    cases = [(64, 2.0), (64, 3.0), (128, 2.0)]
    apart = [scaled(*case) for case in cases]
    assert parsed == ["store", "kernel"] * 3
    parsed.clear()
    with parsed_once():
        at_once = [scaled(*case) for case in cases]
    assert parsed == ["store", "kernel"]
    for one, other in zip(at_once, apart, strict=True):
        assert tvm.ir.structural_equal(one, other)
    assert not tvm.ir.structural_equal(at_once[0], at_once[1])


def test_behind_it_functions_are_parsed_as_before(parsed: list[str]) -> None:
    with parsed_once():
        scaled(64, 2.0)
    scaled(64, 2.0)
    assert parsed == ["store", "kernel"] * 2


def test_what_a_free_variable_may_decide_is_parsed_again(parsed: list[str]) -> None:
    with parsed_once():
        within(nothing)
        within(nothing)
    assert parsed == ["kernel"] * 2


def test_another_global_of_that_name_is_another_function(
    parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other:
        """As `T`, and not the same."""

        def __getattr__(self, name: str) -> Any:
            return getattr(tilelang_language, name)

    tilelang_language = T
    with parsed_once():
        scaled(64, 2.0)
        monkeypatch.setitem(globals(), "T", Other())
        scaled(64, 2.0)
    assert parsed.count("kernel") == 2


def test_the_same_code_with_other_globals_is_parsed_again(parsed: list[str]) -> None:
    with parsed_once():
        for value in (1.0, 2.0):
            other = _copied(stored, {"T": T, "value": value})
            assert f"{value}" in other().script()
    assert parsed.count("kernel") == 2


value = 0.0


def stored() -> T.PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32) as _:
            A[0] = T.float32(value)

    return kernel


def _copied(func: Any, namespace: dict[str, Any]) -> Any:
    """The same code with globals of its own."""
    return type(func)(func.__code__, namespace, func.__name__)
