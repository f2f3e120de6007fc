"""Apache TVM 0.27, by its source.

Its `ThreadSync` runs before the merge, so no barrier or fence comes after a plan. Where a user says
that barriers are to come all the same, they are predicted as those of TileLang's passes.
"""

from __future__ import annotations

from dataclasses import replace

from smemreuse.ir.kernel import TVM_ALIGNMENT
from smemreuse.versions import tilelang_0_1_15
from smemreuse.versions.version import MergeRules, Names

VERSION = replace(
    tilelang_0_1_15.VERSION,
    key="apache-tvm-0.27",
    name="Apache TVM 0.27",
    dialect="tvm",
    data_alignment=TVM_ALIGNMENT,
    static_alignment=TVM_ALIGNMENT,
    dynamic_alignment=TVM_ALIGNMENT,
    aligns_as_asked=True,
    synchronizes_later=False,
    keeps_unproved=False,  # its own merge is wrong in too many kernels to be kept on trust
    merges_into_views=True,
    has_tilelang_operations=False,
    waits_for_uncommitted=False,
    merge=MergeRules("Apache TVM 0.27", "apache", "tvm"),
    names=Names(tir="tirx", passes="s_tir.transform", merge_static="tirx.merge_static_smem"),
)
