"""Hazards of the kernel itself: whatever is merged, and whether anything is."""

from smemreuse.linter.linter import Apart, lint, lint_apart, taken_apart
from smemreuse.linter.preconditions import grounds_of

__all__ = ["Apart", "grounds_of", "lint", "lint_apart", "taken_apart"]
