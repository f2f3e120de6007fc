"""What TileLang's `AnnotateWarpGroupRegAlloc` knows of registers; by TileLang 0.1.15's source."""

from __future__ import annotations

SETS = frozenset({"set_max_nreg"})
"""A warp group takes or gives registers, where the kernel says so itself."""

KEEPS = "no_set_max_nreg"
"""The pass is to leave the registers as they are."""

ASKS = frozenset({"annotate_producer_reg_dealloc", "annotate_consumer_reg_alloc"})
"""How many the pass is to give out."""

COPIES = frozenset({"ptx_cp_async"})
"""A producer that carries these out needs its registers."""

CUSTOM = "kCustomWarpSpecialization"
"""The attribute of a kernel that splits its warps itself, which the pass leaves alone."""
