"""Apache TVM 0.27: its live TIR, and the pass inside its lowering."""

from __future__ import annotations

from smemreuse.errors import BackendError

try:
    from tvm import tirx  # noqa: F401
    from tvm.s_tir import pipeline as _pipeline  # noqa: F401
except ImportError as error:
    raise BackendError(
        f"Apache TVM 0.27 cannot be imported ({error}); `pip install 'smemreuse[tvm]'`, in an "
        "environment without TileLang, which brings a TVM of its own"
    ) from error
