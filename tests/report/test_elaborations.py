"""How people are told what made a kernel."""

from __future__ import annotations

from typing import Any

from smemreuse.ir.source import SourceLine
from smemreuse.report.elaborations import elaboration_data, telling
from smemreuse.results.elaboration import Elaboration, differing
from smemreuse.results.serialized import as_data, from_data

SOURCE = SourceLine("examples/gemm.py", 8)


def call(test: str = "", **config: Any) -> Elaboration:
    return Elaboration("gemm", SOURCE, config, test)


def test_kernels_of_one_name_are_told_apart_by_what_differs() -> None:
    kernels = [
        ("main_kernel", [call("t.py::a", M=64, block=1)]),
        ("main_kernel", [call("t.py::a", M=64, block=2), call("t.py::b", M=64, block=2)]),
        ("other_kernel", [call(M=3)]),
        ("main_kernel", []),
    ]
    text = telling(kernels)
    assert [*map(text, kernels)] == [
        "t.py::a; gemm (gemm.py:8); block=1",
        "t.py::a; gemm (gemm.py:8); block=2; and 1 more",
        "gemm (gemm.py:8)",
        "",
    ]


def test_an_argument_that_one_call_lacks_differs() -> None:
    assert differing([call(M=1, N=1), call(M=1)]) == ("N",)
    assert differing([call(M=1)]) == ()


def test_what_is_not_known_is_null_or_left_out() -> None:
    only = Elaboration(source=SOURCE)
    assert telling([("k", [only])])(("k", [only])) == "gemm.py:8"
    assert elaboration_data(Elaboration()) == {
        **dict.fromkeys(("test", "function", "source")),
        "config": {},
    }
    assert from_data(Elaboration, as_data(call("t", M=1))) == call("t", M=1)
