"""Who has put in what is hazardous: the author of the kernel, or the compiler.

What is not surely the compiler's is taken for the author's.

1. TileLang's automatic warp specialization marks the branch that it makes with an attribute, which
   no kernel that is specialized by hand has. Its arms wait for and arrive at mbarriers that are one
   allocation of that pass. Where there is no other one, all operations on mbarriers in the branch
   are the pass's: waits that are passed too late, say, or that nothing completes.
2. Accesses are the author's, wherever a pass has moved them, and so are barriers of threads: of
   those a dump does not tell who has written them.
3. A barrier that a later pass is yet to put in is the compiler's.
4. Where that pass has put two accesses into different arms, it has put in all that hands the bytes
   from one to the other, too. A proxy fence that lacks there is the compiler's: the source has one
   order for all threads, and no place for it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from smemreuse.ir.kernel import WARP_SPECIALIZATION, Attr, If, Kernel, Stmt, walk_statements
from smemreuse.results.hazards import Hazard, HazardKind, HazardOrigin
from smemreuse.semantics.effects import Signal
from smemreuse.semantics.table import evaluated_effect

BARRIER_SCOPE = "shared.barrier"
INJECTED = "mbarrier"
"""The name of the allocation whose mbarriers TileLang's passes use."""

_PLAIN_SIGNALS = (Signal.WAIT, Signal.ARRIVE, Signal.EXPECT, Signal.ARRIVE_AND_EXPECT)


@dataclass(frozen=True)
class CompilersOwn:
    """What of a kernel is surely the compiler's: `statements` that synchronize, and no more, and
    the branch between whose `arms` they do."""

    statements: Set[Stmt]
    arms: tuple[Set[Stmt], ...] = ()

    @classmethod
    def of(cls, kernel: Kernel) -> CompilersOwn:
        mbarriers = [one.name for one in kernel.allocations() if one.scope == BARRIER_SCOPE]
        if mbarriers != [INJECTED]:
            return cls(frozenset())
        scopes = [
            stmt
            for stmt in walk_statements(kernel.body)
            if isinstance(stmt, Attr) and stmt.key == WARP_SPECIALIZATION
        ]
        branches = (stmt for one in scopes for stmt in one.body if isinstance(stmt, If))
        specialized = (inner for one in scopes for inner in walk_statements(one.body))
        return cls(
            frozenset(stmt for stmt in specialized if _only_signals(stmt)),
            tuple(
                frozenset(walk_statements(arm))
                for branch in branches
                for arm in (branch.then, branch.orelse)
            ),
        )

    def hands_over(self, one: Stmt | None, other: Stmt | None) -> bool:
        """Whether two statements stand in different arms of the branch."""
        mine, theirs = (
            next((at for at, arm in enumerate(self.arms) if stmt in arm), None)
            for stmt in (one, other)
        )
        return mine is not None and theirs is not None and mine != theirs


def _only_signals(stmt: Stmt) -> bool:
    """Whether a statement does nothing but wait for an mbarrier, or arrive at one."""
    effect = evaluated_effect(stmt)
    return effect is not None and effect.signals in _PLAIN_SIGNALS


def origin_of(hazard: Hazard, own: CompilersOwn) -> HazardOrigin:
    """Who has put in what is hazardous: as it says itself, or by the statement where it shows."""
    is_between_arms = hazard.other is not None and own.hands_over(
        hazard.site.stmt, hazard.other.stmt
    )
    is_compilers = (
        hazard.origin is HazardOrigin.COMPILER
        or hazard.site.stmt in own.statements
        or (hazard.kind is HazardKind.MISSING_FENCE and is_between_arms)
    )
    return HazardOrigin.COMPILER if is_compilers else HazardOrigin.AUTHOR


def with_origins(hazards: Sequence[Hazard], kernel: Kernel) -> tuple[Hazard, ...]:
    """The hazards of a kernel, each with who has put it in."""
    if not hazards:
        return ()
    own = CompilersOwn.of(kernel)
    return tuple(replace(one, origin=origin_of(one, own)) for one in hazards)
