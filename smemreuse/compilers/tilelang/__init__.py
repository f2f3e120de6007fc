"""TileLang: its live TIR, the pass inside its lowering, what its kernels need."""

from __future__ import annotations

from smemreuse.extras import needing

with needing("tilelang", "TileLang"):
    import elftools  # noqa: F401
    import tilelang  # noqa: F401  (brings TVM's Python package onto the path)
