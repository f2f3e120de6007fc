"""A pytest plugin: a test that would need what a kernel computes is skipped where it asks for it.

In `smemreuse run --lower-only` kernels are lowered and not compiled. A test that launches one has
neither failed nor passed. The same holds where a test asks for a GPU that is not there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator

import pytest

from smemreuse.errors import LoweredOnlyError

_OF_TORCH = re.compile(
    r"Torch not compiled with CUDA|No CUDA GPUs|no NVIDIA driver|without ATen_cuda"
    r"|No HIP GPUs|'CUDA' backend"
)
"""What torch says where there is no GPU."""

_LONGEST = 100


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    reason = _unmet(call.excinfo.value) if call.excinfo is not None else None
    if reason is not None and report.failed:
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {reason}")
    return report


def _unmet(error: BaseException) -> str | None:
    """What a test needed that is not there; None where it failed for another reason."""
    if isinstance(error, LoweredOnlyError):
        return str(error)
    message = " ".join(str(error).split())
    # torch raises an AssertionError where it was built without CUDA, and else a RuntimeError.
    if isinstance(error, (AssertionError, RuntimeError)) and _OF_TORCH.search(message):
        if not _has_gpu():
            return f"there is no GPU: {message[:_LONGEST]}"
    return None


def _has_gpu() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())
