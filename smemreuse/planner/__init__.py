"""Packers with one interface, `(sizes, alignments, conflicts) -> offsets`; they know no kernels."""

from smemreuse.planner.best import best
from smemreuse.planner.least_sharing import least_sharing
from smemreuse.planner.linear_scan import linear_scan
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

__all__ = [
    "PACKERS",
    "Event",
    "Packer",
    "Placement",
    "Problem",
    "least_sharing",
    "validate",
    "with_conflicts",
    "without_reuse",
]
