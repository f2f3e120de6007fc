"""What might mend a missing wait: by an engine's groups, or by the mbarrier that it reports to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smemreuse.ir.expr import Call, Expr, Var, constant, same, variables_in
from smemreuse.ir.kernel import Bind, Block, For, Stmt, walk_statements
from smemreuse.ir.tree import StatementTree
from smemreuse.mender.candidate import Edits, MendCandidate
from smemreuse.mender.edited import last_of
from smemreuse.results.mending import Inserted, Insertion
from smemreuse.semantics.effects import Engine, Signal
from smemreuse.semantics.synchronizing import GROUPED, block_barrier, commit, phase_wait, wait
from smemreuse.semantics.table import (
    calls_of,
    effect_of,
    evaluated_call,
    evaluated_effect,
    mbarrier_operand,
)

MOST_KEPT = 3
"""Groups that a wait leaves open, at most, of those tried."""


def wait_candidates(
    tree: StatementTree, scope: str, engine: str, earlier: Stmt, later: Stmt | None
) -> Iterator[MendCandidate]:
    """Waits for the asynchronous accesses of `earlier`, which `later` or the kernel's end does not
    await.
    """
    grouped = next((one for one in GROUPED if one.value == engine), None)
    if grouped is not None:
        yield from _of_groups(tree, scope, grouped, earlier, later)
    elif later is not None:
        yield from _of_phases(tree, earlier, later)


# Groups -----------------------------------------------------------------------------------------


def _of_groups(
    tree: StatementTree, scope: str, engine: Engine, earlier: Stmt, later: Stmt | None
) -> Iterator[MendCandidate]:
    """Waits for groups of an engine, at four places.

    After a wait that leaves too many groups open; where threads next synchronize; right after the
    access; and before the conflicting statement, with a barrier where other threads made the
    access.
    """
    following = list(_statements_after(tree, earlier))
    until = following.index(later) if later in following else len(following)
    commits = [stmt for stmt in following[:until] if _commits(stmt, engine)]
    places: list[tuple[Stmt, bool, int]] = []  # anchor, after it, groups kept at most
    for stmt in following[:until]:
        kept = _kept(stmt, engine)
        if kept:
            places.append((stmt, True, kept - 1))
    near = next(iter(commits), earlier)
    issued = (near, True, MOST_KEPT)
    meeting = next((stmt for stmt in following[:until] if _meets(stmt)), None)
    met = [(meeting, False, MOST_KEPT)] if meeting is not None else []
    # One thread issues stores as a rule, and all that come to a barrier issue the others.
    places += [issued, *met] if engine is Engine.TMA_STORE else [*met, issued]
    for anchor, is_behind, most in places:
        kept = _most(tree, anchor, earlier, most)
        yield _waiting(engine, anchor, is_behind, kept, (), closes=not commits)
    if later is None:
        return
    spots = tree.common(earlier, later)
    if spots is None or spots[0].index == spots[1].index:
        return
    anchor, is_behind = spots[1].stmt, False
    if spots[1].index < spots[0].index:
        anchor, is_behind = last_of(spots[0].block), True
    kept = _most(tree, anchor, earlier, MOST_KEPT)
    barrier = Insertion(anchor, is_behind, (Inserted(block_barrier(scope)),))
    for barriers in ((), (barrier,)):
        yield _waiting(engine, anchor, is_behind, kept, barriers, closes=not commits)


def _most(tree: StatementTree, anchor: Stmt, earlier: Stmt, most: int) -> int:
    """Without a loop around both, nothing tells that later groups may stay open."""
    around = tree.loops(anchor)
    return most if any(loop in around for loop in tree.loops(earlier)) else 0


def _waiting(
    engine: Engine, anchor: Stmt, behind: bool, most: int, met: Edits, *, closes: bool
) -> MendCandidate:
    """A candidate that waits at `anchor` for all groups of an engine, then synchronizes (`met`).

    Its weaker variants leave 1 to `most` groups open. `behind` places it after the anchor instead
    of before; `closes` commits the open group first.
    """
    closing = (Inserted(commit(engine)),) if closes else ()
    first, *weaker = (
        (Insertion(anchor, behind, (*closing, Inserted(wait(engine, keep)))), *met)
        for keep in range(most + 1)
    )
    return MendCandidate(first, tuple(weaker))


def _statements_after(tree: StatementTree, stmt: Stmt) -> Iterator[Stmt]:
    """All statements that may come after one, the nearest first."""
    for near in tree.after(stmt):
        yield from walk_statements((near,))


def _commits(stmt: Stmt, engine: Engine) -> bool:
    effect = evaluated_effect(stmt)
    return effect is not None and effect.commits is engine


def _kept(stmt: Stmt, engine: Engine) -> int | None:
    """How many groups of an engine stay open after a statement that waits for them; None if it does
    not.
    """
    call, effect = evaluated_call(stmt), evaluated_effect(stmt)
    if call is None or effect is None or effect.waits is None:
        return None
    waits = effect.waits
    if waits.engine is not engine or waits.keep is None or waits.keep >= len(call.args):
        return None
    return constant(call.args[waits.keep])


def _meets(stmt: Stmt) -> bool:
    effect = evaluated_effect(stmt)
    return effect is not None and effect.meeting is not None and effect.meeting.arrives


# Phases -----------------------------------------------------------------------------------------


def _of_phases(tree: StatementTree, earlier: Stmt, later: Stmt) -> Iterator[MendCandidate]:
    """Waits for an mbarrier's phase: a repeated late wait before the access, else a first one."""
    reported = _mbarrier_of(earlier)
    if reported is None:
        return
    waits = [
        (stmt, call)
        for stmt in walk_statements(tree.body)
        for call in (evaluated_call(stmt),)
        if call is not None and effect_of(call).signals is Signal.WAIT
    ]
    for stmt, call in waits:
        element = mbarrier_operand(call, effect_of(call))
        if element is not None and _alike(element, reported):
            anchor = _first_to_see(tree, later, call)
            if anchor is not None:
                yield MendCandidate.of(anchor, False, Inserted(Call(call.op, call.args), stmt))
    if not tree.loops(earlier) and not variables_in(reported):
        anchor = _outermost(tree, later, set())
        yield MendCandidate.of(anchor, False, Inserted(phase_wait(reported, 0)))


def _mbarrier_of(stmt: Stmt) -> Expr | None:
    """The mbarrier that a statement operates on; None if there is none."""
    for call in calls_of(stmt):
        element = mbarrier_operand(call, effect_of(call))
        if element is not None:
            return element
    return None


def _alike(one: Expr, two: Expr) -> bool:
    """Whether two elements may be the same mbarrier."""
    mine, theirs = getattr(one, "buffer", None), getattr(two, "buffer", None)
    if mine is None or theirs is None or mine.storage is not theirs.storage:
        return False
    moves = variables_in(one) or variables_in(two)
    return bool(moves) or all(map(same, one.indices, two.indices))  # type: ignore[union-attr]


def _first_to_see(tree: StatementTree, later: Stmt, call: Call) -> Stmt | None:
    """The statement around `later` before which `call` may be inserted, as far out as possible.

    None where the call's arguments would mean something else there.
    """
    set_in_kernel = set(_defined(tree.body))
    needed = {var for arg in call.args for var in variables_in(arg)} & set_in_kernel
    around = {loop.var for loop in tree.loops(later) if isinstance(loop, For)}
    return _outermost(tree, later, needed) if needed <= around else None


def _outermost(tree: StatementTree, later: Stmt, needed: set[Var]) -> Stmt:
    """The outermost loop that executes `later` unconditionally, below the loops that set `needed`.

    That is `later` itself if there is no such loop.
    """
    anchor = later
    for loop in tree.unconditional(later):
        if loop.var in needed:
            break
        anchor = loop
    return anchor


def _defined(body: Block) -> Sequence[Var]:
    """The variables that a kernel sets, launches aside."""
    statements = list(walk_statements(body))
    loops = [stmt.var for stmt in statements if isinstance(stmt, For)]
    return [*loops, *(stmt.var for stmt in statements if isinstance(stmt, Bind))]
