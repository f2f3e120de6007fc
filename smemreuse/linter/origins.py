"""Who has put in what is hazardous: the author of the kernel, or the compiler.

What is not surely the compiler's is taken for the author's.

1. TileLang's automatic warp specialization marks the branch that it makes with an attribute, which
   no kernel that is specialized by hand has. Its arms wait for and arrive at mbarriers that are one
   allocation of that pass. Where there is no other one, all operations on mbarriers in the branch
   are the pass's: waits that are passed too late, say, or that nothing completes.
2. Accesses are the author's, wherever a pass has moved them, and so are barriers of threads: of
   those a dump does not tell who has written them.
3. A barrier that a later pass is yet to put in is the compiler's.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from smemreuse.ir.kernel import WARP_SPECIALIZATION, Attr, Kernel, Stmt, walk_statements
from smemreuse.results.hazards import Hazard, HazardOrigin
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.table import evaluated_effect

BARRIER_SCOPE = "shared.barrier"
INJECTED = "mbarrier"
"""The name of the allocation whose mbarriers TileLang's passes use."""

_PLAIN_SIGNALS = (Signal.WAIT, Signal.ARRIVE, Signal.EXPECT, Signal.ARRIVE_AND_EXPECT)


@dataclass(frozen=True)
class CompilersOwn:
    """The statements of a kernel that are surely the compiler's: they synchronize, and no more."""

    statements: Set[Stmt]

    @classmethod
    def of(cls, kernel: Kernel) -> CompilersOwn:
        mbarriers = [one.name for one in kernel.allocations() if one.scope == BARRIER_SCOPE]
        if mbarriers != [INJECTED]:
            return cls(frozenset())
        specialized = (
            inner
            for stmt in walk_statements(kernel.body)
            if isinstance(stmt, Attr) and stmt.key == WARP_SPECIALIZATION
            for inner in walk_statements(stmt.body)
        )
        return cls(frozenset(stmt for stmt in specialized if _only_signals(stmt)))


def _only_signals(stmt: Stmt) -> bool:
    """Whether a statement does nothing but wait for an mbarrier, or arrive at one."""
    effect = evaluated_effect(stmt)
    return effect is not None and effect.signals in _PLAIN_SIGNALS


def origin_of(hazard: Hazard, own: CompilersOwn) -> HazardOrigin:
    """Who has put in what is hazardous: as it says itself, or by the statement where it shows."""
    if hazard.origin is HazardOrigin.COMPILER or hazard.site.stmt in own.statements:
        return HazardOrigin.COMPILER
    return HazardOrigin.AUTHOR


def with_origins(hazards: Sequence[Hazard], kernel: Kernel) -> tuple[Hazard, ...]:
    """The hazards of a kernel, each with who has put it in."""
    if not hazards:
        return ()
    own = CompilersOwn.of(kernel)
    return tuple(replace(one, origin=origin_of(one, own)) for one in hazards)
