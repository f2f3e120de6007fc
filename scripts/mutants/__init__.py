"""What `scripts/mutation_check.py` breaks, one file a room, each with the tests that come first."""

from __future__ import annotations

from scripts.mutants import analysis, audit, checker, declared, ordering, separation, table
from scripts.mutants.mutation import Mutation, Stale

__all__ = ["GROUPS", "MUTATIONS", "Mutation", "Stale"]

GROUPS = tuple(
    (room.TESTS, room.MUTATIONS)
    for room in (analysis, checker, ordering, separation, table, declared, audit)
)
"""Tests, and the mutants that they are to notice."""

MUTATIONS = tuple(mutation for _, mutations in GROUPS for mutation in mutations)
