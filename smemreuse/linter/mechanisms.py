"""Which accesses or barriers a hazard is about: what hardware does hangs on that, not on its kind.

`read after write` is of threads; another engine is named: `wgmma read after cp.async write`.
"""

from __future__ import annotations

from smemreuse.checker.machine.arrivals import MismatchKind
from smemreuse.ir.expr import Call
from smemreuse.ir.kernel import SHARED_SCOPES, Stmt, Store
from smemreuse.linter.words import engine_of
from smemreuse.semantics.effects import Engine, Group, Meeting
from smemreuse.semantics.table import calls_of, counted, effect_of

AT_ONCE = "writes in one statement"
COMPLETED = "mbarrier completed by TMA after its initialization"
USED = "mbarrier used after its initialization"
UNINITIALIZED = "mbarrier"
LACKS_ARRIVALS, LACKS_BYTES = "mbarrier that lacks arrivals", "mbarrier that lacks bytes"
PARITY = "parity other than 0 and 1"
TOGETHER = "operation of a whole group"
POLLED = "barrier before what is polled for"
STORED = " that is stored"

_MEMORY = ("global", *SHARED_SCOPES)

_BARRIERS = {
    Group.WARP: "barrier of a warp",
    Group.NAMED: "named barrier",
    Group.BLOCK: "barrier of the block",
    Group.CLUSTER: "barrier of the cluster",
    Group.GRID: "barrier of the grid",
}
NAMED = _BARRIERS[Group.NAMED]


def of_access(stmt: Stmt, *, writes: bool) -> str:
    """What a statement does to memory, by the engine that does it."""
    engine, verb = engine_of(stmt), "write" if writes else "read"
    return verb if engine is Engine.THREAD else f"{engine.value} {verb}"


def of_accesses(earlier: tuple[Stmt, bool], later: tuple[Stmt, bool]) -> str:
    """Two statements that nothing orders, each with whether it writes."""
    first, second = (of_access(stmt, writes=writes) for stmt, writes in (earlier, later))
    return f"{second} after {first}"


def of_unfenced(earlier: tuple[Stmt, bool], later: tuple[Stmt, bool]) -> str:
    """Two statements with no proxy fence between them. A read that is stored to memory at once is
    over before that: no engine overtakes it where the store is waited for."""
    stmt, writes = earlier
    stored = not writes and isinstance(stmt, Store) and stmt.buffer.scope in _MEMORY
    return of_accesses(earlier, later) + STORED * stored


def of_barrier(stmt: Stmt) -> str:
    """The barrier that a statement is; empty if it has several or none."""
    groups = {_group(call, one) for call in calls_of(stmt) for one in effect_of(call).meetings}
    return _BARRIERS.get(groups.pop(), "") if len(groups) == 1 else ""


def _group(call: Call, meeting: Meeting) -> Group:
    """Who meets: a named barrier without a number of threads is that of the block."""
    if meeting.group is Group.NAMED and counted(call, meeting) is None:
        return Group.BLOCK
    return meeting.group


def of_lack(arrivals: int) -> str:
    """A phase of an mbarrier that does not end: it lacks so many arrivals, or bytes."""
    return LACKS_ARRIVALS if arrivals > 0 else LACKS_BYTES


def of_mismatch(kind: MismatchKind, stmt: Stmt) -> str:
    """A barrier that does nothing which is defined for those who come."""
    barrier = of_barrier(stmt)
    return f"{barrier}: {kind.value}" if barrier else kind.value
