"""Mutants of the audit of merges that a compiler left in a dump."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

REACH = "audit/reach.py"
SEPARATOR = "audit/separator.py"
SAMENESS = "audit/sameness.py"
RANGES = "audit/ranges.py"
POINTERS = "audit/pointers.py"
AUDIT = "audit/audit.py"

TESTS = ("tests/audit",)

MUTATIONS = (
    Mutation(
        "audit: addresses of views are ignored",
        REACH,
        "        if any(one in owner or one is arena for one in _escaping(stmt)):\n",
        "        if False:\n",
    ),
    Mutation(
        "audit: an access pointer of a view counts from its buffer's first byte",
        SEPARATOR,
        'Call("sub", (offset, elements))',
        "offset",
    ),
    Mutation(
        "audit: every view is a buffer of its own",
        SAMENESS,
        "        if not here.read or not sources:\n",
        "        if True:\n",
    ),
    Mutation(
        "audit: views that may show each other's contents are of one buffer whatever their names",
        SAMENESS,
        "[one for one in sources if _base(one) == _base(group)]",
        "list(sources)",
    ),
    Mutation(
        "audit: the arm that is not taken is bounded as the other one",
        RANGES,
        "holds=False)",
        "holds=True)",
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
