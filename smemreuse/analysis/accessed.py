"""Which buffers a statement accesses, with all that is in it."""

from __future__ import annotations

from collections.abc import Mapping

from smemreuse.facts import KernelFacts
from smemreuse.ir.kernel import Block, Buffer, Stmt, nested_blocks

Buffers = frozenset[Buffer]


def accessed_within(facts: KernelFacts) -> Mapping[Stmt, Buffers]:
    """The buffers that each statement of a kernel, or one inside it, accesses."""
    found: dict[Stmt, Buffers] = {}

    def visit(block: Block) -> Buffers:
        """Records and returns the buffers accessed in a block."""
        inside: set[Buffer] = set()
        for stmt in block:
            own = {access.buffer for access in facts.accesses[stmt]}
            found[stmt] = frozenset(own.union(*map(visit, nested_blocks(stmt))))
            inside |= found[stmt]
        return frozenset(inside)

    visit(facts.kernel.body)
    return found
