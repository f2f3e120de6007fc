"""Recovers the plan that a compiler already applied, and has the checker audit the compiler."""

from smemreuse.audit.audit import (
    BarrierStage,
    applied_layout,
    audit_merged,
    audit_plan,
    barriers_follow,
    inseparable_arena,
)
from smemreuse.audit.layout import AppliedLayout

__all__ = [
    "AppliedLayout",
    "BarrierStage",
    "applied_layout",
    "audit_merged",
    "audit_plan",
    "barriers_follow",
    "inseparable_arena",
]
