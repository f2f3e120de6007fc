"""What `scripts/mutation_check.py` breaks: places in the code, found by their structure."""

from __future__ import annotations

from scripts.mutants.mutant import Mutant, mutants_of
from scripts.mutants.places import EQUIVALENT, ROOMS, modules, noticing, sampled

__all__ = ["EQUIVALENT", "ROOMS", "Mutant", "modules", "mutants_of", "noticing", "sampled"]
