"""The compilers that are known, as far as planning asks. Data alone: no TVM is imported here.

A new version of a compiler is a record here where it differs in any of this, and its merge is a
file in `smemreuse.baselines`, found by the record's `baseline`.
"""

from __future__ import annotations

from smemreuse.ir.dialect import Dialect
from smemreuse.ir.kernel import TVM_ALIGNMENT

TILELANG = Dialect(
    name="tilelang",
    data_alignment=1,
    static_alignment=16,
    dynamic_alignment=1024,
    synchronizes_later=True,
    keeps_unproved=True,
    merges_into_views=False,
    has_tilelang_operations=True,
    baseline="tilelang-0.1.15",
)
"""TileLang 0.1.15."""

APACHE_TVM = Dialect(
    name="tvm",
    data_alignment=TVM_ALIGNMENT,
    static_alignment=TVM_ALIGNMENT,
    dynamic_alignment=TVM_ALIGNMENT,
    synchronizes_later=False,
    keeps_unproved=False,  # its own merge is wrong in too many kernels to be kept on trust
    merges_into_views=True,
    has_tilelang_operations=False,
    baseline="apache-tvm-0.27",
)
"""Apache TVM 0.27."""

LEGACY = Dialect(
    name="legacy",
    data_alignment=1,
    static_alignment=16,
    dynamic_alignment=1024,
    synchronizes_later=False,
    keeps_unproved=True,
    merges_into_views=False,
    has_tilelang_operations=True,
    baseline="tilelang-0.1.15",
)
"""TVM before 2026. Old dumps do not tell TileLang's from TVM's; what is declared in CUDA and the
compiler's own merge are counted as TileLang's, which take more."""
