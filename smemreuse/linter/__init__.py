"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.linter.grounds import grounds_of
from smemreuse.linter.linter import lint, taken_apart

__all__ = ["grounds_of", "lint", "taken_apart"]
