"""Passes that run once on a module that they are given again."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
from tilelang import tvm

from smemreuse.compilers.tilelang.passes_once import (
    LONG,
    lowered_once,
    remember_passes,
    run_once,
)

pytestmark = pytest.mark.tilelang


class Counted:
    """A pass that counts how often it runs, and what its factory was given."""

    def __init__(self) -> None:
        self.runs = 0
        self.given: list[Any] = []

    def factory(self, *args: Any, **kwargs: Any) -> Any:
        def run(mod: Any) -> Any:
            self.runs += 1
            self.given.append((args, kwargs))
            return mod.with_attr("runs", self.runs)

        return run


def module(value: float) -> Any:
    @T.prim_func
    def main(A: T.Tensor((32,), "float32")) -> None:
        with T.Kernel(1, threads=32) as _:
            A[0] = value

    return tvm.IRModule({"main": main})


def test_a_module_that_is_given_again_is_not_run_again() -> None:
    counted = Counted()
    factory = run_once("counted", counted.factory)
    with lowered_once():
        remember_passes()
        first = factory()(module(1.0))
        assert factory()(module(1.0)).same_as(first)
        assert not factory()(module(2.0)).same_as(first)
    assert counted.runs == 2


def test_arguments_of_the_pass_count() -> None:
    counted = Counted()
    factory = run_once("counted", counted.factory)
    with lowered_once():
        remember_passes()
        for scope in ("shared", "shared.dyn", "shared"):
            factory(scope)(module(1.0))
            factory(scope=scope)(module(1.0))
    assert [args or kwargs for args, kwargs in counted.given] == [
        *(("shared",), {"scope": "shared"}, ("shared.dyn",), {"scope": "shared.dyn"})
    ]


def test_another_function_forgets_what_was_remembered() -> None:
    counted = Counted()
    factory = run_once("counted", counted.factory)
    with lowered_once():
        for _ in range(2):
            remember_passes()
            factory()(module(1.0))
    assert counted.runs == 2


def test_nothing_is_remembered_unless_that_is_asked() -> None:
    counted = Counted()
    factory = run_once("counted", counted.factory)
    for _ in range(2):
        factory()(module(1.0))
    with lowered_once():
        factory()(module(1.0))
        remember_passes()
    factory()(module(1.0))
    assert counted.runs == 4


def test_no_pass_behind_the_merge_is_remembered() -> None:
    """The merge finds its buffers again by their variables in what `ThreadSync` makes."""
    assert set(LONG).isdisjoint({"MergeSharedMemoryAllocations", "ThreadSync", "InjectFenceProxy"})
