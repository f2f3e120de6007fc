"""The solver by its clauses, on toy analyses, and against all paths of random trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.analysis.solver import Analysis, Arms, Exits, Solver
from smemreuse.ir.expr import Const, Expr, Var
from smemreuse.ir.kernel import (
    Assert,
    Attr,
    Block,
    Buffer,
    For,
    If,
    Stmt,
    Store,
    While,
    nested_blocks,
    walk_statements,
)
from smemreuse.semantics.effects import Leaving
from smemreuse.semantics.table import leaving
from tests.analysis.trees import ZERO, attr, call, loop, repeat, shared, store, when

X, Y = shared("X"), shared("Y")
UNKNOWN = Var("n")
_Definitions = frozenset[Stmt]


def jump(op: str) -> Stmt:
    return call(op=op)


class Reaching(Analysis[_Definitions]):
    """Reaching definitions: the last store to each buffer; a scope's header is a definition too,
    of which the last one counts."""

    def join(self, one: _Definitions, other: _Definitions) -> _Definitions:
        return one | other

    def transfer(self, stmt: Stmt, state: _Definitions) -> _Definitions:
        if defined(stmt) is None:
            return state
        return frozenset(one for one in state if defined(one) is not defined(stmt)) | {stmt}


HEADER = shared("a header")


def defined(stmt: Stmt) -> Buffer | None:
    if isinstance(stmt, Store):
        return stmt.buffer
    return HEADER if nested_blocks(stmt) else None


def reaching(*body: Stmt) -> tuple[Exits[_Definitions], Solver[_Definitions]]:
    solver = Solver(Reaching())
    return solver.solve(body, frozenset()), solver


def stores(state: _Definitions | None) -> set[Stmt]:
    """The definitions that are stores."""
    assert state is not None
    return {stmt for stmt in state if isinstance(stmt, Store)}


def test_s1_statements_one_after_the_other() -> None:
    first, second, other = store(X), store(X), store(Y)
    outcome, solver = reaching(first, other, second)
    assert solver.before[second] == {first, other}
    assert stores(outcome.end) == {other, second}


def test_s2_a_header_comes_before_what_is_in_it() -> None:
    inside = store(X)
    for scope in (attr("key", inside), Assert(ZERO, (inside,)), when(UNKNOWN, inside)):
        _, solver = reaching(scope)
        assert solver.before[inside] == {scope}


def test_s2_a_while_evaluates_its_header_every_round_and_a_for_once() -> None:
    inside = attr("key")
    tested, counted = repeat(UNKNOWN, inside), loop(inside, extent=UNKNOWN)
    _, solver = reaching(tested)
    assert solver.before[inside] == {tested}
    _, solver = reaching(counted)
    assert solver.before[inside] == {counted, inside}


def test_s3_an_opaque_statement_is_not_looked_into() -> None:
    inside, behind = store(X), store(Y)
    scope = when(UNKNOWN, inside)

    class Opaque(Reaching):
        def opaque(self, stmt: Stmt, state: _Definitions) -> _Definitions | None:
            return state | {inside} if stmt is scope else None

    solver = Solver(Opaque())
    solver.solve((scope, behind), frozenset())
    assert inside not in solver.before
    assert solver.before[behind] == {inside}


def test_s4_arms_are_joined() -> None:
    first, then, orelse = store(X), store(X), store(X)
    outcome, _ = reaching(first, when(UNKNOWN, then, orelse=(orelse,)))
    assert stores(outcome.end) == {then, orelse}
    outcome, _ = reaching(first, when(UNKNOWN, then))
    assert stores(outcome.end) == {first, then}


class Done(Analysis[_Definitions]):
    """What has surely been stored: joined by intersection, united by union."""

    def __init__(self, unreachable: bool = False):
        self._unreachable = unreachable

    def join(self, one: _Definitions, other: _Definitions) -> _Definitions:
        return one & other

    def unite(self, one: _Definitions, other: _Definitions) -> _Definitions:
        return one | other

    def transfer(self, stmt: Stmt, state: _Definitions) -> _Definitions:
        return state | {stmt} if isinstance(stmt, Store) else state

    def arms(self, stmt: If, state: _Definitions) -> Arms[_Definitions]:
        return Arms(state, None if self._unreachable else state, concurrent=True)


def test_s4_concurrent_arms_are_united() -> None:
    then, orelse = store(X), store(Y)
    outcome = Solver(Done()).solve((when(UNKNOWN, then, orelse=(orelse,)),), frozenset())
    assert stores(outcome.end) == {then, orelse}


def test_s4_concurrent_arms_of_which_one_is_left_are_joined() -> None:
    """That some jumped out of an arm leaves it open whether what stands behind it was done."""
    then, orelse = store(X), store(Y)
    left = (when(UNKNOWN, jump("loop_break")), then)
    body = (when(UNKNOWN, *left, orelse=(orelse,)),)
    assert Solver(Done()).solve(body, frozenset()).end == frozenset()


def test_s4_an_arm_that_is_not_reached() -> None:
    then, orelse = store(X), store(Y)
    solver = Solver(Done(unreachable=True))
    outcome = solver.solve((when(UNKNOWN, then, orelse=(orelse,)),), frozenset())
    assert stores(outcome.end) == {then}
    assert orelse not in solver.before


def test_s5_what_a_round_ends_with_comes_to_the_next() -> None:
    first, read, last = store(X), store(Y), store(X)
    _, solver = reaching(first, loop(read, last))
    assert stores(solver.before[read]) == {first, read, last}


def test_s5_a_loop_may_have_no_round() -> None:
    first, inside = store(X), store(X)
    for around in (loop(inside, extent=UNKNOWN), loop(inside, extent=ZERO), repeat(ZERO, inside)):
        outcome, _ = reaching(first, around)
        assert stores(outcome.end) == {first, inside}


def test_s5_a_loop_that_surely_runs_does_not_end_as_it_began() -> None:
    first, inside = store(X), store(X)
    outcome, _ = reaching(first, loop(inside))
    assert stores(outcome.end) == {inside}


def test_s6_a_break_leaves_the_innermost_loop() -> None:
    first, second, behind = store(X), store(X), store(Y)
    inner = loop(first, when(UNKNOWN, jump("loop_break")), second)
    outcome, solver = reaching(loop(inner, behind))
    assert stores(solver.before[behind]) >= {first, second}
    assert stores(outcome.end) == {first, second, behind}
    assert outcome.jumps == {}


def test_s6_a_continue_goes_to_the_next_round() -> None:
    skipped, first = store(Y), store(X)
    _, solver = reaching(loop(first, when(UNKNOWN, jump("continue_loop")), store(X), skipped))
    assert first in solver.before[first]


def test_s6_a_return_leaves_everything() -> None:
    first, behind = store(X), store(X)
    outcome, _ = reaching(loop(loop(first, when(UNKNOWN, jump("thread_return")))), behind)
    assert stores(outcome.end) == {behind}
    assert outcome.jumps.keys() == {Leaving.RETURN}
    assert stores(outcome.jumps[Leaving.RETURN]) == {first}


def test_s6_nothing_is_reached_behind_a_jump() -> None:
    dead = store(X)
    for op in ("loop_break", "continue_loop", "thread_return"):
        outcome, solver = reaching(jump(op), dead)
        assert dead not in solver.before
        assert outcome.end is None
    outcome, _ = reaching(loop(jump("thread_return")), dead)
    assert outcome.end is None


class Traces(Analysis[frozenset[str]]):
    """All that may have happened, as text; rounds are listed, and each begins with its number."""

    def __init__(self, count: int):
        self._count = count

    def join(self, one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
        return one | other

    def transfer(self, stmt: Stmt, state: frozenset[str]) -> frozenset[str]:
        return _extended(state, stmt.buffer.name) if isinstance(stmt, Store) else state

    def rounds(
        self, loop: For | While, state: frozenset[str]
    ) -> Iterable[Callable[[frozenset[str]], frozenset[str]]] | None:
        return [_beginning(number) for number in range(self._count)]


def _extended(state: frozenset[str], more: str) -> frozenset[str]:
    return frozenset(one + more for one in state)


def _beginning(number: int) -> Callable[[frozenset[str]], frozenset[str]]:
    return lambda state: _extended(state, str(number))


def traces(count: int, *body: Stmt) -> set[str]:
    return set(Solver(Traces(count)).solve(body, frozenset({""})).end or ())


def test_s7_listed_rounds_come_one_after_the_other() -> None:
    assert traces(3, loop(store(X)), store(Y)) == {"0X1X2XY"}
    assert traces(2, loop(loop(store(X)))) == {"00X1X10X1X"}
    assert traces(0, loop(store(X)), store(Y)) == {"Y"}


def test_s7_a_listed_round_may_begin_with_less() -> None:
    """A loop within it is solved anew: what it was reached with in another round does not count."""
    first, inner = store(X), repeat(UNKNOWN, attr("key"))

    class Forgetting(Reaching):
        def rounds(
            self, loop: For | While, state: _Definitions
        ) -> Iterable[Callable[[_Definitions], _Definitions]] | None:
            return None if loop is inner else [lambda begun: begun, lambda begun: frozenset()]

    outcome = Solver(Forgetting()).solve((first, loop(inner)), frozenset())
    assert stores(outcome.end) == set()


def test_s7_a_break_ends_the_listed_rounds() -> None:
    around = loop(store(X), when(UNKNOWN, jump("loop_break")))
    assert traces(2, around, store(Y)) == {"0XY", "0X1XY"}
    assert traces(3, loop(store(X), jump("loop_break"))) == {"0X"}


def test_s7_a_continue_goes_to_the_next_listed_round() -> None:
    around = loop(when(UNKNOWN, jump("continue_loop")), store(X))
    assert traces(2, around) == {"01", "0X1", "01X", "0X1X"}


class Depth(Analysis[int]):
    """Adds one for each store; behind a scope that nobody leaves it is as it was before."""

    def join(self, one: int, other: int) -> int:
        return max(one, other)

    def transfer(self, stmt: Stmt, state: int) -> int:
        return min(state + 1, 9) if isinstance(stmt, Store) else state

    def reconverge(self, before: int, after: int, complete: bool) -> int:
        return before if complete else after


def test_s8_a_scope_that_nobody_leaves() -> None:
    for scope in (when(UNKNOWN, store(X)), attr("key", store(X)), loop(store(X))):
        assert Solver(Depth()).solve((store(X), scope), 0).end == 1


def test_s8_a_scope_that_some_leave() -> None:
    left = (store(X), when(UNKNOWN, jump("thread_return")))
    for scope in (when(UNKNOWN, *left), attr("key", *left)):
        assert Solver(Depth()).solve((store(X), scope), 0).end == 2
    assert Solver(Depth()).solve((store(X), loop(*left)), 0).end == 9


def test_s8_a_round_is_complete_without_those_who_leave_the_loop() -> None:
    inside = store(X)
    for op, most in (("continue_loop", 0), ("loop_break", 9)):
        solver = Solver(Depth())
        outcome = solver.solve((loop(inside, when(UNKNOWN, jump(op))),), 0)
        assert solver.before[inside] == most
        assert outcome.end == 0  # who leaves the loop is behind it with the others


# Cost --------------------------------------------------------------------------------------------


def test_without_a_loop_each_statement_is_looked_at_once() -> None:
    body = (store(X), when(UNKNOWN, store(X), orelse=(store(Y),)), attr("key", store(Y)))
    _, solver = reaching(*body)
    assert solver.visits == len(list(walk_statements(body)))


def test_nested_loops_do_not_multiply_their_rounds() -> None:
    depth = 24
    body: Block = (store(X),)
    for _ in range(depth):
        body = (store(X), loop(*body, store(Y), extent=UNKNOWN))
    outcome, solver = reaching(*body)
    assert len(stores(outcome.end)) > depth
    assert solver.visits < 3 * depth**2


# All paths ---------------------------------------------------------------------------------------

ROUNDS = 4
"""More than any definition takes to come anywhere: once round each loop that it is in."""

_Path = frozenset[Stmt]
_Paths = frozenset[_Path]


@dataclass
class Executed:
    """All paths through a tree, one set of last definitions for each; loops up to `ROUNDS`."""

    before: dict[Stmt, set[_Path]] = field(default_factory=dict)

    def block(self, block: Block, paths: _Paths) -> tuple[_Paths, dict[Leaving, _Paths]]:
        left: dict[Leaving, _Paths] = {}
        for stmt in block:
            if not paths:
                break
            self.before.setdefault(stmt, set()).update(paths)
            paths, more = self.statement(stmt, paths)
            for way, some in more.items():
                left[way] = left.get(way, frozenset()) | some
        return paths, left

    def statement(self, stmt: Stmt, paths: _Paths) -> tuple[_Paths, dict[Leaving, _Paths]]:
        way = leaving(stmt)
        if way is not None:
            return frozenset(), {way: paths}
        if isinstance(stmt, (For, While)):
            return self.loop(stmt, paths)
        paths = _defining(stmt, paths)
        if isinstance(stmt, If):
            then, left = self.block(stmt.then, paths)
            orelse, more = self.block(stmt.orelse, paths)
            ways = left.keys() | more.keys()
            none: _Paths = frozenset()
            return then | orelse, {w: left.get(w, none) | more.get(w, none) for w in ways}
        if isinstance(stmt, (Attr, Assert)):
            return self.block(stmt.body, paths)
        return paths, {}

    def loop(self, stmt: For | While, paths: _Paths) -> tuple[_Paths, dict[Leaving, _Paths]]:
        ended: set[_Path] = set()
        returned: set[_Path] = set()
        surely = isinstance(stmt, For) and stmt.extent == Const(4)
        if isinstance(stmt, For):
            paths = _defining(stmt, paths)
        for number in range(ROUNDS + 1):
            if isinstance(stmt, While):
                paths = _defining(stmt, paths)
            if number or not surely:
                ended |= paths
            paths, left = self.block(stmt.body, paths)
            ended |= left.get(Leaving.BREAK, frozenset())
            returned |= left.get(Leaving.RETURN, frozenset())
            paths |= left.get(Leaving.CONTINUE, frozenset())
        return frozenset(ended), {Leaving.RETURN: frozenset(returned)} if returned else {}


def _defining(stmt: Stmt, paths: _Paths) -> _Paths:
    what = defined(stmt)
    if what is None:
        return paths
    return frozenset(
        frozenset(one for one in path if defined(one) is not what) | {stmt} for path in paths
    )


def trees(depth: int = 3) -> st.SearchStrategy[Block]:
    leaf = st.builds(store, st.sampled_from((X, Y)))
    jumps = st.builds(jump, st.sampled_from(("loop_break", "continue_loop", "thread_return")))
    if not depth:
        return st.lists(leaf, max_size=2).map(tuple)
    inside = trees(depth - 1)
    extents: st.SearchStrategy[Expr] = st.sampled_from((UNKNOWN, Const(4)))
    statement = st.one_of(
        leaf,
        jumps,
        st.builds(lambda then, orelse: If(UNKNOWN, then, orelse), inside, inside),
        st.builds(lambda body, extent: loop(*body, extent=extent), inside, extents),
        st.builds(lambda body: repeat(UNKNOWN, *body), inside),
        st.builds(lambda body: attr("key", *body), inside),
    )
    return st.lists(statement, max_size=3).map(tuple)


@settings(max_examples=150)
@given(trees())
def test_the_solution_is_the_join_over_all_paths(body: Block) -> None:
    executed = Executed()
    end, left = executed.block(body, frozenset({frozenset()}))
    outcome, solver = reaching(*body)
    assert solver.before == {
        stmt: frozenset().union(*paths) for stmt, paths in executed.before.items()
    }
    assert outcome.end == (frozenset().union(*end) if end else None)
    assert outcome.jumps == {way: frozenset().union(*paths) for way, paths in left.items()}
