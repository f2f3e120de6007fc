"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.linter.grounds import grounds_of
from smemreuse.linter.linter import Apart, lint, lint_apart, taken_apart

__all__ = ["Apart", "grounds_of", "lint", "lint_apart", "taken_apart"]
