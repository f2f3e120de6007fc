"""What a session reports, and to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest

from smemreuse.compilers.functions import DeviceFunction, MergeRequest
from smemreuse.compilers.live import LiveVisitor
from smemreuse.compilers.observers import SessionLog, SessionObserver, observing
from smemreuse.compilers.outcomes import FunctionOutcome, Outcome
from smemreuse.compilers.session import MergeSession
from smemreuse.compilers.text.reader import read_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.fallback import LeftToStock
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.options import checked_options
from smemreuse.versions.merges import merge_of
from tests.conftest import DUMPS

OPTIONS = checked_options("dataflow", "best", "speed")


@dataclass(repr=False, eq=False)
class Compiling(MergeSession):
    compiles: ClassVar[bool] = True


@dataclass(repr=False, eq=False)
class Logged(SessionLog, Compiling):
    """Observes itself, as the sessions that users get do."""


class Heard(SessionObserver):
    """The events that it was told of, by name."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def on_received(self, function: DeviceFunction, request: MergeRequest) -> None:
        self.events.append(("received", function.name))

    def on_finished(self, outcome: FunctionOutcome) -> None:
        self.events.append((outcome.outcome.name, outcome.function))

    def on_left(self, left: LeftToStock) -> None:
        self.events.append(("left", left.function))

    def on_lowered(self, function: str, kernels: Sequence[LoweredKernel]) -> None:
        self.events.append(("lowered", function))


@pytest.fixture
def kernel() -> Kernel:
    (found,) = read_dump(DUMPS / "batched_gemm.sm_80.tir").kernels
    return found


def function_of(kernel: Kernel | None) -> DeviceFunction:
    function = DeviceFunction("f", None, LiveVisitor())
    function.kernels = [kernel] if kernel else []
    return function


def test_a_function_is_received_before_it_is_planned(kernel: Kernel) -> None:
    heard = Heard()
    session = MergeSession.of(OPTIONS, heard)
    request = MergeRequest(merge_of(kernel), ["shared.dyn"], OPTIONS)
    assert session.attempts(function_of(kernel), request) is not None
    assert session.attempts(function_of(None), request) is None
    assert heard.events == [("received", "f"), ("NO_KERNEL", "f")]


def test_a_fault_leaves_the_function_and_warns_whoever_keeps_a_log() -> None:
    heard, log = Heard(), SessionLog()
    session = MergeSession.of(OPTIONS, heard, log)

    def fail() -> None:
        raise OverflowError("too large")

    with pytest.warns(RuntimeWarning, match="leaves f to the compiler's own merge"):
        assert session.or_stock("f", fail, lambda: "stock") == "stock"
    assert heard.events == [("left", "f")]
    assert [(one.function, one.outcome) for one in log.functions] == [("f", Outcome.LEFT)]


def test_who_observes_the_process_hears_what_is_compiled_alone(kernel: Kernel) -> None:
    heard, lowered = Heard(), [LoweredKernel(kernel, merge_of(kernel))]
    with observing(heard):
        MergeSession.of(OPTIONS).note_lowered(function_of(kernel), lowered)
        assert heard.events == []
        Compiling.of(OPTIONS).note_lowered(function_of(kernel), lowered)
    Compiling.of(OPTIONS).note_lowered(function_of(kernel), lowered)
    assert heard.events == [("lowered", "f")]


def test_a_run_inside_a_run_keeps_its_kernels_to_itself(kernel: Kernel) -> None:
    outer, inner, lowered = Heard(), Heard(), [LoweredKernel(kernel, merge_of(kernel))]
    with observing(outer):
        with observing(inner):
            Compiling.of(OPTIONS).note_lowered(function_of(kernel), lowered)
        assert outer.events == []
        Compiling.of(OPTIONS).note_lowered(function_of(kernel), lowered)
    assert inner.events == outer.events == [("lowered", "f")]


def test_a_session_that_keeps_a_log_hears_itself(kernel: Kernel) -> None:
    session = Logged.of(OPTIONS)
    before = LoweredKernel(kernel, merge_of(kernel))
    after = LoweredKernel(kernel, merge_of(kernel), registers=200)
    session.note_lowered(function_of(kernel), [before, before])
    assert session.kernels == [before, before]
    for observer in session.observers:
        observer.on_compiled(before, after)
    assert [one.registers for one in session.kernels] == [200, 200]
    assert Logged.of(OPTIONS).kernels == []
