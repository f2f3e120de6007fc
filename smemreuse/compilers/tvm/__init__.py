"""Apache TVM: its live TIR, and the pass inside its lowering."""

from __future__ import annotations

from smemreuse.extras import needing
from smemreuse.versions import APACHE_TVM, VERSIONS

_ALONE = ", in an environment without TileLang, which brings a TVM of its own"

with needing("tvm", VERSIONS[APACHE_TVM].name, _ALONE):
    from tvm import tirx  # noqa: F401
    from tvm.s_tir import pipeline as _pipeline  # noqa: F401
