"""A pytest plugin: a suite of GPU kernels goes on where its kernels are only lowered.

    smemreuse run --lower-only --arch sm_90a -m pytest -p scripts.production.without_gpu TESTS

Tensors for the GPU have shapes and no values (`scripts/applied/fake_cuda.py`); a launch, of
TileLang's kernels or of Triton's, does nothing; nothing that is compared differs. What such a run
tells is which kernels a suite has and what became of them, not whether its tests pass.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

CAPABILITY = (9, 0)


@contextlib.contextmanager
def pretending() -> Iterator[None]:
    """Inside, launches do nothing, and PyTorch has a GPU that knows shapes alone."""
    from scripts.applied.fake_cuda import fake_cuda
    from smemreuse.compilers.tilelang import lower_only

    def launched(adapter: Any, *_args: Any, **_kwargs: Any) -> None:
        adapter.recorder.note("stopped", name=adapter.name)

    with fake_cuda(CAPABILITY), pytest.MonkeyPatch.context() as patched:
        patched.setattr(lower_only._LoweredAdapter, "stop", launched)
        with contextlib.suppress(ImportError):
            triton = importlib.import_module("triton.runtime.jit")
            patched.setattr(triton.JITFunction, "run", lambda *_args, **_kwargs: None)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """All that is collected and run is inside."""
    stack = contextlib.ExitStack()
    stack.enter_context(pretending())
    config.add_cleanup(stack.close)
