"""Packers behind one seam, `(sizes, alignments, conflicts) -> offsets`; they know no kernels."""

from smemreuse.planner.best import best
from smemreuse.planner.linear_scan import linear_scan
from smemreuse.planner.problem import (
    Packer,
    Placement,
    Problem,
    validate,
    with_conflicts,
    without_reuse,
)

PACKERS: dict[str, Packer] = {"best": best, "tilelang": linear_scan}

__all__ = [
    "PACKERS",
    "Packer",
    "Placement",
    "Problem",
    "validate",
    "with_conflicts",
    "without_reuse",
]
