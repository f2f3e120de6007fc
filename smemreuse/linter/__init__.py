"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.linter.linter import Apart, counterparts, grounds_of, lint, lint_apart, taken_apart

__all__ = ["Apart", "counterparts", "grounds_of", "lint", "lint_apart", "taken_apart"]
