"""What the drivers of GPU measurements share.

The ways to merge that are held against each other; one launch, judged against a reference and bit
for bit; times by CUDA events in turns.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from scripts.results import first_line

# Merges -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merge:
    """A way to lay out shared memory: a compiler's own, by options, or one of ours.

    `door` is the module of smemreuse that leads into the compiler.
    """

    name: str
    pass_configs: Mapping[str, object] = field(default_factory=dict)
    policy: str | None = None
    objective: str = "bytes"
    door: str = "tilelang"

    def active(self) -> AbstractContextManager[Any]:
        if self.policy is None:
            return nullcontext()
        merge = importlib.import_module(f"smemreuse.{self.door}").merge
        made: AbstractContextManager[Any] = merge(
            self.policy, objective=self.objective, unchecked=self.policy != "dataflow"
        )
        return made


UNMERGED = "side by side"
SIDE_BY_SIDE = Merge(UNMERGED, {"tl.disable_shared_memory_reuse": True})
TILELANG = Merge("TileLang default")
AGGRESSIVE = Merge("TileLang aggressive", {"tl.enable_aggressive_shared_memory_merge": True})
BYTES = Merge("smemreuse bytes", policy="dataflow")
SPEED = Merge("smemreuse speed", policy="dataflow", objective="speed")

# Launches -----------------------------------------------------------------------------------------


def fresh_generator(device: str = "cuda") -> Any:
    """Random numbers, others each time."""
    import torch

    return torch.Generator(device=device).manual_seed(time.time_ns() % 2**31)


def fresh_inputs(kernel: Any, config: Any, device: str = "cuda") -> Any:
    """Random arguments of a benchmark, fixture or space, others each time."""
    import torch

    return kernel.inputs(config, fresh_generator(device), torch.device(device))


class Launched(Protocol):
    """A kernel, or None where there is none, and why it does not launch."""

    kernel: Any
    launch_error: str | None


@dataclass
class Judged:
    """A kernel as one merge makes it, and how its launches went.

    `bitwise_equal`: whether its outputs have the bits of the kernel that it is compared with.
    """

    merge: str = ""
    kernel: Any = None
    compile_error: str | None = None
    launch_error: str | None = None
    worst_error: float | None = None
    launches: int = 0
    wrong_launches: int = 0
    bitwise_equal: bool | None = None

    def judge(
        self, outputs: Mapping[int, Any], expected: Mapping[int, Any], tolerance: float
    ) -> None:
        """Counts a launch, and whether any output is further from the reference than it may be."""
        right = True
        for index, reference in expected.items():
            error = relative_error(outputs[index], reference)
            self.worst_error = worse(self.worst_error, error)
            right = right and error < tolerance  # NaN is never smaller
        self.launches += 1
        self.wrong_launches += not right

    def compare(self, equal: bool) -> None:
        """Takes in whether outputs have the bits that they should have."""
        self.bitwise_equal = self.bitwise_equal is not False and equal


def launch(
    run: Launched, args: Sequence[Any], expected: Mapping[int, Any]
) -> dict[int, Any] | None:
    """The outputs of one launch on the same inputs, with outputs of its own; None if there is
    none."""
    import torch

    if run.kernel is None or run.launch_error:
        return None
    own = [arg.clone() if index in expected else arg for index, arg in enumerate(args)]
    try:
        run.kernel(*own)
        torch.cuda.synchronize()
    except Exception as error:  # asking for too much shared memory is a finding
        run.launch_error = first_line(error)
        return None
    return {index: own[index] for index in expected}


def same_bits(one: Any, other: Any) -> bool:
    import torch

    return bool(torch.equal(one.view(torch.uint8), other.view(torch.uint8)))


def same_outputs(one: Mapping[int, Any], other: Mapping[int, Any]) -> bool:
    """Whether each of some outputs has the same bits in another launch."""
    return all(same_bits(output, other[index]) for index, output in one.items())


def relative_error(found: Any, wanted: Any) -> float:
    """`||found - wanted|| / ||wanted||`, by Frobenius."""
    return float((found.double() - wanted).norm() / wanted.norm())


def worse(one: float | None, two: float) -> float:
    """The larger error; NaN and infinity, which JSON does not know, become 1e30."""
    return max(one or 0.0, two if two < 1e30 else 1e30)


# Times --------------------------------------------------------------------------------------------

FLUSH = 256 * 1024 * 1024
"""Bytes written before each launch, several times what the L2 cache holds."""


def event_times(
    kernel: Any, args: Sequence[Any], launches: int, flush: Any = None, head_start: int = 0
) -> list[float]:
    """Milliseconds of each launch, from a cold L2 cache where there is something to `flush`.

    The device sleeps for `head_start` cycles first: launches wait for it, and not it for them.
    """
    import torch

    events = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        for _ in range(launches)
    ]
    if head_start:
        torch.cuda._sleep(head_start)
    for begin, end in events:
        if flush is not None:
            flush.zero_()
        begin.record()
        kernel(*args)
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]


def ratio(own: Sequence[float], base: Sequence[float]) -> dict[str, Any]:
    """Times over those of another kernel in the same rounds: median and quartiles."""
    ratios = sorted(one / other for one, other in zip(own, base, strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {"median": middle, "quartiles": [low, high]}
