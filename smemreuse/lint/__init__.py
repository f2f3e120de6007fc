"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.lint.lint import lint

__all__ = ["lint"]
