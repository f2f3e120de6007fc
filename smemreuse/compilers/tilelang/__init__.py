"""TileLang: its live TIR, the pass inside its lowering, what its kernels need."""

from __future__ import annotations

from smemreuse.extras import needing

with needing("tilelang", "TileLang"):  # which is named first where neither is there
    import tilelang  # noqa: F401  (brings TVM's Python package onto the path)

    # isort: split
    import elftools  # noqa: F401
