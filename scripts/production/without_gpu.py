"""A pytest plugin: a suite of GPU kernels goes on where its kernels are only lowered.

    smemreuse run --lower-only --arch sm_90a -m pytest -p scripts.production.without_gpu TESTS

Tensors for the GPU have shapes and no values (`scripts/applied/fake_cuda.py`); a launch, of
TileLang's kernels or of Triton's, does nothing; operators of PyTorch's library run what they would
on a GPU, without gradients; nothing that is compared differs. What such a run
tells is which kernels a suite has and what became of them, not whether its tests pass.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._library.custom_ops import CustomOpDef
from torch.overrides import TorchFunctionMode

CAPABILITY = (9, 0)


class _OnCuda(TorchFunctionMode):  # type: ignore[misc]
    """Every tensor says that it is on the GPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func == torch.Tensor.is_cuda.__get__:
            return True
        if func == torch.Tensor.device.__get__:
            return torch.device("cuda", 0)
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def pretending() -> Iterator[None]:
    """Inside, launches do nothing, and PyTorch has a GPU that knows shapes alone."""
    from tilelang.contrib import nvcc

    from scripts.applied.fake_cuda import fake_cuda
    from smemreuse.compilers.tilelang import lower_only

    def launched(adapter: Any, *_args: Any, **_kwargs: Any) -> None:
        adapter.recorder.note("stopped", name=adapter.name)

    with fake_cuda(CAPABILITY), _OnCuda(), pytest.MonkeyPatch.context() as patched:
        patched.setattr(lower_only._LoweredAdapter, "stop", launched)
        patched.setattr(
            CustomOpDef, "__call__", lambda op, *args, **named: op._init_fn(*args, **named)
        )
        version = ".".join(map(str, CAPABILITY))
        patched.setattr(nvcc, "get_target_compute_version", lambda *_target: version)
        with contextlib.suppress(ImportError):
            _without_triton(patched)
        yield


def _without_triton(patched: pytest.MonkeyPatch) -> None:
    """Triton finds the same GPU, and launches nothing. Raises `ImportError` where there is none."""
    runtime = importlib.import_module("triton.runtime")
    for name in ("JITFunction", "Autotuner", "Heuristics"):
        patched.setattr(getattr(runtime, name), "run", lambda *_args, **_kwargs: None)
    card = torch.cuda.get_device_properties(0)  # as `fake_cuda` has it
    properties = {
        "multiprocessor_count": card.multi_processor_count,
        "max_shared_mem": card.shared_memory_per_block_optin,
    }
    driver = SimpleNamespace(
        get_current_target=lambda: SimpleNamespace(backend="cuda", arch=90, warp_size=32),
        get_current_device=lambda: 0,
        utils=SimpleNamespace(get_device_properties=lambda _device: properties),
    )
    patched.setattr(runtime.driver, "_active", driver)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """All that is collected and run is inside, and so is what its `conftest.py` imports."""
    stack = contextlib.ExitStack()
    stack.enter_context(pretending())
    early_config.add_cleanup(stack.close)
