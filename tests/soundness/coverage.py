"""Coverage of the random kernels themselves: which of their branches and loops are taken, and how.

A way through a kernel that no input takes tests nothing. One execution of each kernel is recorded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from smemreuse.ir.expr import Call, Const, Expr, Load, Var, walk
from smemreuse.ir.kernel import (
    Bind,
    Evaluate,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    While,
    nested_blocks,
    nodes_of,
    walk_statements,
)
from tests.random_kernels.choices import Pick
from tests.random_kernels.defined import grow_kernel
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.text import kernel_of
from tests.soundness import as_it_stands, compare
from tests.soundness.model.modes import NEVER, IllDefined, Mode
from tests.soundness.model.program import Branch, Program
from tests.soundness.model.record import Record, Ways
from tests.soundness.model.run import Model

STATEMENTS = "statements"
"""The family whose barriers are still to come."""

Counts: TypeAlias = "Counter[tuple[str, ...]]"

UNREACHED, TRUE, FALSE = "not reached", "always true", "always false"
UNIFORM, WARPS, LANES = "both, uniform", "both, by warp", "both, within a warp"
OUTCOMES = (UNREACHED, TRUE, FALSE, UNIFORM, WARPS, LANES)
"""What becomes of a condition in an execution: of those with both, whether threads differ."""

TRIPS = ("zero", "one", "several")
DIVERGENT = "divergent"

BY_DATA = ("data", "registers")
"""What decides otherwise for other inputs: registers hold data, or count what data decide."""

_SYNCHRONIZATION = {
    **dict.fromkeys(("tvm_storage_sync", "sync_grid"), "barrier"),
    **dict.fromkeys(("cluster_sync", "cluster_arrive", "cluster_arrive_relaxed"), "cluster"),
    "sync_warp": "warp barrier",
    "named_barrier_arrive": "named barrier",
    "mbarrier_wait_parity": "mbarrier wait",
    **dict.fromkeys(("ptx_arrive_barrier", "ptx.mbarrier"), "mbarrier arrive"),
    **dict.fromkeys(("ptx_arrive_barrier_expect_tx", "mbarrier_expect_tx"), "mbarrier expect"),
    "ptx_cp_async_barrier_noinc": "cp.async arrive",
    "ptx_cp_async": "cp.async",
    "ptx_commit_group": "cp.async commit",
    "ptx_wait_group": "cp.async wait",
    "tma_store_arrive": "TMA commit",
    "tma_store_wait": "TMA wait",
    "warpgroup_commit_batch": "wgmma commit",
    "warpgroup_wait": "wgmma wait",
    "fence_proxy_async": "fence",
    "loop_break": "break",
    "continue_loop": "continue",
    "thread_return": "return",
}
"""What orders accesses or is itself ordered, and what leaves a loop, by operation."""


def measure(family: str, pick: Pick, seed: int) -> Counts:
    """Grows a kernel of a family, executes it once and counts. One without a defined result is
    only counted."""
    stands = family != STATEMENTS
    if stands:
        kernel, inputs = kernel_of(FAMILIES[family](pick)), as_it_stands.inputs_from(seed)
    else:
        kernel, inputs = grow_kernel(pick), compare.inputs_from(seed)
    kernels: Counts = Counter({("kernels",): 1})
    try:
        found = covered(kernel, inputs, Mode("then", NEVER, assumed=not stands, races=stands))
    except IllDefined:
        return kernels
    return kernels + Counter({("well defined",): 1}) + found


def covered(kernel: Kernel, inputs: np.ndarray, mode: Mode) -> Counts:
    """What one execution of a kernel covers. Raises `IllDefined` if it has no defined result."""
    model, record = Model(kernel, [], inputs), Record()
    model.run(mode, record)
    return _Coverage(model.program, record).counts()


class _Coverage:
    """What one execution of a program covers."""

    def __init__(self, program: Program, record: Record) -> None:
        self._program, self._record = program, record

    def counts(self) -> Counts:
        found: Counts = Counter()
        kernel = self._program.kernel
        for stmt in walk_statements(kernel.body):
            if isinstance(stmt, If):
                outcome = outcome_of(self._ways(stmt))
                found["branches", self._decided_by(stmt.condition), outcome] += 1
            elif _is_loop(stmt):
                decided = self._decided_by(_bound(stmt))
                for trips in trips_of(self._ways(stmt)):
                    found["loops", decided, trips] += 1
                found["loops", decided, "loops"] += 1
            elif isinstance(stmt, (Store, Evaluate, Bind)):
                found["statements", "executed" if self._is_reached(stmt) else UNREACHED] += 1
        for condition in self._record.ways.keys() - self._branches():
            found["guards", outcome_of(self._record.ways[condition])] += 1
        return found + Counter(set(self._synchronization(kernel)))

    def _synchronization(self, kernel: Kernel) -> Iterator[tuple[str, ...]]:
        """What is executed at all, and what some threads skip, where data decide that
        or their indices."""
        for stmt in walk_statements(kernel.body):
            if isinstance(stmt, If):
                diverges = outcome_of(self._ways(stmt)) in (WARPS, LANES)
                condition = stmt.condition
            elif _is_loop(stmt):
                diverges, condition = DIVERGENT in trips_of(self._ways(stmt)), _bound(stmt)
            else:
                yield from (("executed", kind) for kind in self._kinds(stmt))
                continue
            by = "data" if self._decided_by(condition) in BY_DATA else "indices"
            for inner in walk_statements(sum(nested_blocks(stmt), ())) if diverges else ():
                yield from (("skipped", by, kind) for kind in self._kinds(inner))

    def _kinds(self, stmt: Stmt) -> Iterator[str]:
        """What synchronization a statement that is executed does."""
        if nested_blocks(stmt) or not self._is_reached(stmt):
            return
        for node in nodes_of(stmt):
            if isinstance(node, Call) and node.op in _SYNCHRONIZATION:
                is_named = node.op == "tvm_storage_sync" and len(node.args) > 1
                is_named = is_named and node.args[1] != Const(0)
                yield "named barrier" if is_named else _SYNCHRONIZATION[node.op]

    def _is_reached(self, stmt: Stmt) -> bool:
        return self._program.starts.get(stmt) in self._record.reached

    def _branch(self, stmt: Stmt) -> Branch:
        code = self._program.code[self._program.starts[stmt] :]
        return next(one for one in code if isinstance(one, Branch))

    def _branches(self) -> set[object]:
        return {one.condition for one in self._program.code if isinstance(one, Branch)}

    def _ways(self, stmt: Stmt) -> Ways:
        return self._record.ways.get(self._branch(stmt).condition, [])

    def _decided_by(self, expr: Expr) -> str:
        """Data, a thread's registers, a variable of a loop, or the threads' and blocks' indices."""
        nodes = [*walk(expr)]
        scopes = {one.buffer.scope for one in nodes if isinstance(one, Load)}
        if any(not scope.startswith("local") for scope in scopes):
            return "data"
        if scopes:
            return "registers"
        variables = {one for one in nodes if isinstance(one, Var)}
        if variables - self._program.shape.axes.keys():
            return "loops"
        return "threads" if variables else "constants"


def _is_loop(stmt: Stmt) -> bool:
    return isinstance(stmt, While) or (isinstance(stmt, For) and stmt.kind != "thread_binding")


def _bound(stmt: Stmt) -> Expr:
    if isinstance(stmt, While):
        return stmt.condition
    assert isinstance(stmt, For)
    return stmt.extent


def outcome_of(ways: Ways) -> str:
    """What becomes of a condition, as asked in an execution: one of `OUTCOMES`."""
    taken = {way for _, chosen in ways for way in chosen.tolist()}
    if len(taken) < 2:
        return (TRUE if taken.pop() else FALSE) if taken else UNREACHED
    for ids, chosen in ways:
        warps = (ids // 32).tolist()
        if len(set(zip(warps, chosen.tolist(), strict=True))) > len(set(warps)):
            return LANES
    return WARPS if _differ(ways) else UNIFORM


def trips_of(ways: Ways) -> set[str]:
    """The trip counts of a loop in an execution, some of `TRIPS`, and whether threads differ. One
    that `break` ends counts with those of the next time that the loop is entered."""
    found = {DIVERGENT} if _differ(ways) else set()
    for sequence in _by_thread(ways).values():
        trips = 0
        for way in [*sequence, False] if sequence[-1] else sequence:
            if not way:
                found.add(TRIPS[min(trips, 2)])
            trips = trips + 1 if way else 0
    return found


def _differ(ways: Ways) -> bool:
    """Whether threads took different ways, as far as each of them came."""
    sequences = [*_by_thread(ways).values()]
    longest = max(sequences, key=len, default=[])
    return any(one != longest[: len(one)] for one in sequences)


def _by_thread(ways: Ways) -> dict[int, list[bool]]:
    found: dict[int, list[bool]] = defaultdict(list)
    for ids, chosen in ways:
        for one, way in zip(ids.tolist(), chosen.tolist(), strict=True):
            found[one].append(way)
    return found
