"""Packers with one interface, `(sizes, alignments, conflicts) -> offsets`; they know no kernels."""

from smemreuse.planner.best import best, hasty
from smemreuse.planner.least_sharing import least_sharing
from smemreuse.planner.linear_scan import by_name, linear_scan, linear_scan_on_top
from smemreuse.planner.problem import (
    Event,
    Packer,
    Placement,
    Problem,
    validate,
    with_conflicts,
    without_reuse,
)
from smemreuse.planner.tvm import layered

PACKERS: dict[str, Packer] = {"best": best, "tilelang": linear_scan, "tvm": layered}

PASSES: dict[str, Packer] = {
    **PACKERS,
    "best in a lowering": hasty,
    "tilelang on top": linear_scan_on_top,
    "tilelang side by side": by_name,
}
"""Those that a lowering or a compiler's own merge may ask for; some are no packer to choose."""

__all__ = [
    "PACKERS",
    "PASSES",
    "Event",
    "Packer",
    "Placement",
    "Problem",
    "least_sharing",
    "validate",
    "with_conflicts",
    "without_reuse",
]
