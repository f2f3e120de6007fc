"""`check_plan`: static rules, then the byte trace for one thread block of each kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from smemreuse.checker.errors import Uncovered
from smemreuse.checker.findings import Finding
from smemreuse.checker.layout import Layout
from smemreuse.checker.relevance import Relevance
from smemreuse.checker.setting import Setting
from smemreuse.checker.static import static_violations
from smemreuse.checker.trace import Trace
from smemreuse.ir.expr import Expr, Var, constant
from smemreuse.ir.kernel import MAX_FOLLOWED, Buffer, Kernel, unique_names
from smemreuse.ir.launch import AXES, UnknownThreads, launches, tag_of, thread_axes
from smemreuse.results.verdict import SOUND, UNPROVED, UNSOUND, Verdict
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.evaluate import Threads, Value, evaluate
from smemreuse.semantics.pointers import views_beyond

DEFAULT_BUDGET = 20_000
"""Statements that one trace may execute."""

MAX_KINDS = 16
MAX_BLOCKS = 1 << 16
MAX_DECISION = 1 << 22

BARRIERS_FOLLOW = (
    "a later pass puts a barrier between statements of one arm that share bytes (rule 6)"
)


def check_plan(
    kernel: Kernel,
    scope: str,
    offsets: Mapping[Buffer, int],
    arena: int,
    alignments: Mapping[Buffer, int],
    *,
    assume_barriers: bool = True,
    budget: int = DEFAULT_BUDGET,
    accesses: KernelAccesses | None = None,
) -> Verdict:
    """The verdict on a plan, offsets in bytes, for the buffers of one storage scope.

    `assume_barriers` is for IR in which barriers are yet to be inserted by a pass that sees the
    aliases, as in TileLang; without it every barrier must be in the kernel already. `accesses` are
    those of the kernel, where somebody has found them already.
    """
    names = unique_names(kernel.allocations(scope))
    static = tuple(static_violations(offsets, alignments, names, arena))
    if static:
        return Verdict(UNSOUND, static)
    sizes = {buffer: buffer.size or 0 for buffer in offsets}
    layout = Layout(offsets, sizes, names)
    accesses = accesses or KernelAccesses.of(kernel.body)
    beyond = tuple(
        f"{view.name}, a view of {names[buffer]}, is larger than that"
        for view, buffer in views_beyond(kernel.body, accesses.pointers)
        if buffer in offsets
    )
    if not layout.partners:
        return Verdict(UNPROVED, (), beyond) if beyond else Verdict(SOUND)
    findings, uncovered = _traces(kernel, layout, accesses, assume_barriers, budget)
    uncovered = (*beyond, *uncovered)
    certain = tuple(finding.violation for finding in findings if finding.certain)
    possible = tuple(finding.violation for finding in findings if not finding.certain)
    assumptions = (BARRIERS_FOLLOW,) if assume_barriers else ()
    if certain:
        return Verdict(UNSOUND, certain, uncovered, assumptions)
    if possible or uncovered:
        return Verdict(UNPROVED, possible, uncovered, assumptions)
    return Verdict(SOUND, (), (), assumptions)


def _traces(
    kernel: Kernel, layout: Layout, accesses: KernelAccesses, assume_barriers: bool, budget: int
) -> tuple[list[Finding], tuple[str, ...]]:
    """Findings of one trace for each kind of block, and what could not be covered."""
    relevance = Relevance(kernel.body, set(layout.partners), accesses.by_statement)
    findings: dict[tuple[int, frozenset[str]], Finding] = {}
    left: dict[Buffer, str] = {}
    try:
        setting = Setting(
            relevance,
            layout,
            thread_axes(kernel.body),
            assume_barriers=assume_barriers,
            budget=budget,
        )
        for buffer in layout.partners:
            if layout.sizes[buffer] > MAX_FOLLOWED:
                raise Uncovered(f"{layout.names[buffer]} is too large to be followed")
        for block, kind in zip(_block_kinds(kernel), range(MAX_KINDS + 1), strict=False):
            if kind == MAX_KINDS:
                raise Uncovered(f"more than {MAX_KINDS} kinds of thread blocks")
            trace = Trace(setting, block.index)
            try:
                trace.run(kernel.body)
            finally:
                left = {**trace.findings.left, **left}
                for key, finding in trace.findings.found.items():
                    if key not in findings or finding.certain:
                        findings[key] = finding
            block.settle(trace.values.decisions)
    except (Uncovered, UnknownThreads) as reason:
        return list(findings.values()), (str(reason), *left.values())
    return list(findings.values()), tuple(left.values())


class _Blocks:
    """The thread blocks of a grid that no trace has covered yet."""

    def __init__(self, variables: Sequence[Var], extents: Sequence[int]):
        self._variables = variables
        self._grid = np.unravel_index(np.arange(math.prod(extents)), extents) if extents else ()
        self.open = np.ones(math.prod(extents), dtype=bool)

    @property
    def index(self) -> dict[Var, int]:
        """The first block that is still open."""
        first = int(np.argmax(self.open))
        pairs = zip(self._variables, self._grid, strict=True)
        return {var: int(values[first]) for var, values in pairs}

    def settle(self, decisions: Sequence[tuple[Expr, Threads, Value]]) -> None:
        """Closes all blocks in which every decision of a trace comes out the same."""
        same = self.open.copy()
        for expr, threads, outcome in decisions:
            where = np.flatnonzero(same)
            if threads.count * len(where) > MAX_DECISION:
                where = where[:1]
                same[:] = False
                same[where] = True
            same[where] = self._agrees(expr, threads, outcome, where)
        first = int(np.argmax(self.open))
        same[first] = True
        self.open &= ~same

    def _agrees(
        self, expr: Expr, threads: Threads, outcome: Value, where: np.ndarray
    ) -> np.ndarray:
        each = threads.repeated(Var("block"), where)
        for var, values in zip(self._variables, self._grid, strict=True):
            each = each.bind(var, np.tile(values[where], threads.count))
        value = evaluate(expr, each)
        if value is None:
            return np.zeros(len(where), dtype=bool)
        table = np.broadcast_to(np.asarray(value), (threads.count * len(where),))
        table = table.reshape(threads.count, len(where))
        expected = np.broadcast_to(np.asarray(outcome), (threads.count,))
        return np.asarray((table == expected[:, None]).all(axis=0))


def _block_kinds(kernel: Kernel) -> Iterator[_Blocks]:
    """Yields the open blocks until all are settled. A grid of unknown size is one unknown block."""
    variables: list[Var] = []
    extents: list[int] = []
    for launch in launches(kernel.body):
        extent = constant(launch.value)
        if tag_of(launch) in AXES or launch.var is None or extent is None:
            continue
        if extent > 1 and math.prod(extents) * extent <= MAX_BLOCKS:
            variables.append(launch.var)
            extents.append(extent)
    blocks = _Blocks(variables, extents)
    while blocks.open.any():
        yield blocks
