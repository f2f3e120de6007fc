"""Why a hazard is only possible: which branch, loop, access or barrier is open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass

from smemreuse.ir.expr import Var
from smemreuse.ir.kernel import For, Stmt
from smemreuse.ir.tree import StatementTree
from smemreuse.results.hazards import Hazard
from smemreuse.results.sites import Site
from smemreuse.results.undecided import Undecided, UndecidedKind

Fork = tuple[UndecidedKind, Stmt]


@dataclass(frozen=True)
class Open:
    """What is not certain about one hazard.

    `doubtful` are statements of which it is not certain what they access, `writers` those that may
    write what an uninitialised read finds unwritten.
    """

    doubtful: Sequence[Stmt] = ()
    writers: Sequence[Stmt] = ()


NOTHING_OPEN = Open()


def undecided_of(
    hazard: Hazard, what: Open, forks: Collection[Fork], long: Set[Var], tree: StatementTree
) -> Undecided | None:
    """The one thing that makes a hazard only possible; None where that is not known.

    Tried in this order: the innermost of the `forks` around a write that may be missing, or around
    the statements of the hazard; a doubtful access; a loop around them whose length data give
    (`long`); what was not known first on the way there, where nothing else makes it uncertain.
    """
    own = _around([site.stmt for site in (hazard.site, hazard.other) if site and site.stmt], tree)
    writing = _around(what.writers, tree) - own
    ways: list[Iterable[Fork]] = [
        _innermost([one for one in forks if one[1] in writing], tree),
        _innermost([one for one in forks if one[1] in own], tree),
        [(UndecidedKind.ACCESS, stmt) for stmt in what.doubtful],
        _innermost(
            [
                (UndecidedKind.LOOP, stmt)
                for stmt in own | writing
                if isinstance(stmt, For) and stmt.var in long
            ],
            tree,
        ),
        forks if hazard.certain or what.writers else (),
    ]
    for found in ways:
        for kind, stmt in found:
            return Undecided(kind, Site.of(stmt))
    return None


def _around(stmts: Sequence[Stmt], tree: StatementTree) -> set[Stmt]:
    """The statements, and the scopes around them."""
    return {spot.stmt for stmt in stmts for spot in tree.path(stmt)}


def _innermost(forks: list[Fork], tree: StatementTree) -> list[Fork]:
    """The deepest one first; of those as deep the one with the first line."""
    return sorted(forks, key=lambda one: (-len(tree.path(one[1])), one[1].line or 0))
