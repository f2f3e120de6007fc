"""Apache TVM 0.27: its live TIR, and the pass inside its lowering."""

from __future__ import annotations

from smemreuse.extras import needing

_ALONE = ", in an environment without TileLang, which brings a TVM of its own"

with needing("tvm", "Apache TVM 0.27", _ALONE):
    from tvm import tirx  # noqa: F401
    from tvm.s_tir import pipeline as _pipeline  # noqa: F401
