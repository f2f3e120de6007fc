"""TileLang 0.1.15: its live TIR, the pass inside its lowering, what its kernels need."""

from __future__ import annotations

from smemreuse.errors import BackendError

try:
    import tilelang  # noqa: F401  (brings TVM's Python package onto the path)
except ImportError as error:
    raise BackendError(
        f"TileLang cannot be imported ({error}); `pip install 'smemreuse[tilelang]'`"
    ) from error
