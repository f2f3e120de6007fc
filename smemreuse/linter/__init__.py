"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.linter.linter import lint

__all__ = ["lint"]
