"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.linter.linter import lint, taken_apart

__all__ = ["lint", "taken_apart"]
