"""Launches one kernel on the GPU: held against a reference, and timed from a cold L2 cache."""

from __future__ import annotations

import fcntl
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.harness import FLUSH, event_times, fresh_inputs, relative_error
from scripts.results import first_line

HEAD_START = 2_000_000
"""Cycles that the device sleeps first, about a millisecond: launches wait for it, not it for them,
though all processors compile meanwhile."""
WARM_UPS = 3
LAUNCHES = 11
FEWER_LAUNCHES = 4
SLOW_US = 8000.0
"""Kernels that take longer than this are launched fewer times."""

OK, WRONG, DOES_NOT_LAUNCH = "ok", "wrong", "does not launch"


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Only one process of this machine has the GPU; a process that ends gives it back."""
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


class Launcher:
    """A process's view of the GPU, with the arguments and reference of the last shape kept."""

    def __init__(self, device: str = "cuda", flush: int = FLUSH) -> None:
        self._device = device
        self._flush_bytes = flush
        self._flush: Any = None
        self._known: tuple[Any, Any, Any] | None = None
        self.broken = False
        """Whether the device can no longer be used from this process."""

    def launch(
        self, space: Any, shape: str, kernel: Any, doing: Callable[[str], None]
    ) -> dict[str, Any]:
        """What becomes of a kernel; call it with the GPU to oneself."""
        import torch

        doing("making inputs")
        args, expected = self._arguments(space, shape)
        # Outputs anew for each kernel: some add to what is there.
        own = [arg.clone() if index in expected else arg for index, arg in enumerate(args)]
        torch.cuda.synchronize()
        try:
            return self._judged(space, kernel, own, expected, doing)
        except Exception as error:
            self.broken = not self._usable()
            self._known = None
            return {"status": DOES_NOT_LAUNCH, "error": first_line(error)}

    def _judged(
        self,
        space: Any,
        kernel: Any,
        args: Sequence[Any],
        expected: Mapping[int, Any],
        doing: Callable[[str], None],
    ) -> dict[str, Any]:
        import torch

        doing("launching")
        kernel(*args)
        torch.cuda.synchronize()
        worst = max(relative_error(args[index], wanted) for index, wanted in expected.items())
        if not worst < space.tolerance:  # NaN is never smaller
            self._known = None  # it may have written anywhere
            return {"status": WRONG, "relative_error": worst if math.isfinite(worst) else None}
        doing("timing")
        return {"status": OK, "relative_error": worst, **spread(self._times_us(kernel, args))}

    def same_bits(self, space: Any, shape: str, one: Any, other: Any) -> bool:
        """Whether two kernels give the same of the same arguments, bit for bit."""
        import torch

        args, expected = self._arguments(space, shape)
        results = []
        for kernel in (one, other):
            own = [arg.clone() if index in expected else arg for index, arg in enumerate(args)]
            kernel(*own)
            results.append([own[index].contiguous().view(torch.uint8) for index in expected])
        torch.cuda.synchronize()
        return all(map(torch.equal, *results))

    def _usable(self) -> bool:
        import torch

        try:
            torch.cuda.synchronize()
            return bool((torch.ones(1, device=self._device) + 1 == 2).item())
        except Exception:
            return False

    def _arguments(self, space: Any, shape: str) -> tuple[Any, Any]:
        import torch

        key = (space.name, shape)
        if self._known is None or self._known[0] != key:
            self._known = None  # so that two are never held at once
            values = space.shapes[shape]
            args = fresh_inputs(space, values, self._device)
            self._known = key, args, space.reference(args, values)
            if self._device == "cuda":
                torch.cuda.empty_cache()
        return self._known[1], self._known[2]

    def _times_us(self, kernel: Any, args: Sequence[Any]) -> list[float]:
        import torch

        if self._flush is None:
            self._flush = torch.empty(self._flush_bytes, dtype=torch.uint8, device=self._device)
        first = self._batch(kernel, args, WARM_UPS)
        return self._batch(kernel, args, FEWER_LAUNCHES if min(first) > SLOW_US else LAUNCHES)

    def _batch(self, kernel: Any, args: Sequence[Any], launches: int) -> list[float]:
        times = event_times(kernel, args, launches, self._flush, HEAD_START)
        return [one * 1000 for one in times]


def spread(times_us: Sequence[float]) -> Mapping[str, Any]:
    """Median and quartiles, in microseconds."""
    low, _, high = statistics.quantiles(times_us, n=4, method="inclusive")
    median = round(statistics.median(times_us), 2)
    return {"median_us": median, "quartiles_us": [round(low, 2), round(high, 2)]}
