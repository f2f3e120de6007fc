"""Recovers the plan that a compiler already applied, so that the checker can audit the compiler."""

from smemreuse.audit.layout import AppliedLayout
from smemreuse.audit.pointers import pointer_layout, unplaced_arena
from smemreuse.audit.views import arena_of_views, view_layout
from smemreuse.ir.kernel import Buffer, Kernel

__all__ = ["AppliedLayout", "applied_layout", "inseparable_arena"]


def applied_layout(kernel: Kernel, scope: str) -> AppliedLayout | None:
    """The layout found in a merged kernel; None if nothing of `scope` is merged in it, or if its
    buffers cannot be told apart (`inseparable_arena`)."""
    if unplaced_arena(kernel, scope) is not None:
        return None
    return pointer_layout(kernel, scope) or view_layout(kernel, scope)


def inseparable_arena(kernel: Kernel, scope: str) -> Buffer | None:
    """Where `applied_layout` finds nothing: an arena whose buffers cannot be told apart."""
    return unplaced_arena(kernel, scope) or arena_of_views(kernel, scope)
