"""Mutants of the audit of merges that a compiler left in a dump."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

VIEWS = "audit/views.py"
POINTERS = "audit/pointers.py"
AUDIT = "audit/audit.py"

TESTS = ("tests/audit",)

MUTATIONS = (
    Mutation(
        "audit: addresses of views are ignored",
        VIEWS,
        "        if arena in escaping(stmt):\n",
        "        if False:\n",
    ),
    Mutation(
        "audit: views that disturb each other are sound",
        AUDIT,
        "replace(verdict, verdict=UNPROVED).doubted((PERHAPS_ONE,))",
        "replace(verdict, verdict=type(UNPROVED).SOUND, violations=())",
    ),
    Mutation(
        "audit: a buffer is cut to what its arena has left",
        POINTERS,
        "max(declared[var], min(reached[var], room[var]), 1)",
        "max(min(max(declared[var], reached[var]), room[var]), 1)",
    ),
    Mutation(
        "audit: what may lie beyond the arena is no doubt",
        AUDIT,
        "verdict.doubted(applied.beyond)",
        "verdict",
    ),
)
