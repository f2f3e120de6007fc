"""A kernel made by hand, with all that is known of it: what reports draw, and no analysis.

In each of four batches `As` and `Bs` are filled and read in a loop, and then `Cs`:

     0  for b in serial(4)
     1      As[0] = 1
     2      Bs[0] = 1
     3      for k in serial(8)
     4          acc[0] = As[0] + Bs[0]
     5      (end)
            barrier
     6      Cs[0] = acc[0]
     7      out[0] = Cs[0]
     8  (end)
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from rich.console import Console, RenderableType

from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Const, Expr, Load, Var
from smemreuse.ir.kernel import Allocate, Buffer, Evaluate, For, Kernel, Stmt, Store
from smemreuse.report.data import Subject
from smemreuse.report.overview import overview_entry
from smemreuse.results.explanation import Cause, Explanation
from smemreuse.results.overview import Overview
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import PolicyName, Provenance
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import Linearization, LiveRange, StmtEntry, Touch
from smemreuse.results.timeline import Band, Step, SyncMark, Timeline
from smemreuse.results.verdict import SOUND, UNSOUND, Judged, Verdict, Violation
from smemreuse.versions import TILELANG

SCOPE = "shared.dyn"
KB = 1024
ZERO, ONE = Const(0), Const(1)


def buffer(name: str, size: Expr | int, scope: str = SCOPE, line: int | None = None) -> Buffer:
    """A buffer of so many bytes."""
    extent = Const(size) if isinstance(size, int) else size
    return Buffer(name, "uint8", (extent,), scope, line=line)


A, B, C = (buffer(name, size * KB) for name, size in (("As", 16), ("Bs", 16), ("Cs", 32)))
ACC, OUT = buffer("acc", 4, "local"), buffer("out", 4, "global")


def store(into: Buffer, value: Expr, line: int) -> Store:
    return Store(into, (ZERO,), value, line=line)


def load(one: Buffer) -> Load:
    return Load(one, (ZERO,))


FILL_A, FILL_B = store(A, ONE, 12), store(B, ONE, 13)
MULTIPLY = store(ACC, Call("add", (load(A), load(B))), 15)
INNER = For(Var("k"), ZERO, Const(8), ONE, "serial", (MULTIPLY,), line=14)
SYNC = Evaluate(Call("tvm_storage_sync", (Const(SCOPE),)), line=16)
FILL_C, WRITE = store(C, load(ACC), 17), store(OUT, load(C), 18)
OUTER = For(
    Var("b"), ZERO, Const(4), ONE, "serial", (FILL_A, FILL_B, INNER, SYNC, FILL_C, WRITE), line=11
)
KERNEL = Kernel("gemm_kernel", (*map(Allocate, (A, B, C)), OUTER), {"target": "sm_80"}, TILELANG)
SUBJECT = Subject("made.tir", KERNEL, SCOPE)
NAMES = {A: "As", B: "Bs", C: "Cs"}


def touch(one: Buffer, access: Access, stmt: Stmt) -> Touch:
    return Touch(one, access, stmt)


INNER_TOUCHES: Sequence[tuple[Stmt, int, tuple[Touch, ...]]] = (
    (OUTER, 8, ()),
    (FILL_A, 0, (touch(A, Access.WRITE, FILL_A),)),
    (FILL_B, 0, (touch(B, Access.WRITE, FILL_B),)),
    (INNER, 2, ()),
    (MULTIPLY, 0, (touch(A, Access.READ, MULTIPLY), touch(B, Access.READ, MULTIPLY))),
    (INNER, -2, ()),
    (FILL_C, 0, (touch(C, Access.WRITE, FILL_C),)),
    (WRITE, 0, (touch(C, Access.READ, WRITE),)),
    (OUTER, -8, ()),
)
ENTRIES = tuple(StmtEntry(*row) for row in INNER_TOUCHES)
SEQUENCE = Linearization(ENTRIES, {A: 0, B: 0, C: 0})
OUTER_ENTRIES = (
    StmtEntry(OUTER, 1),
    StmtEntry(OUTER, -1, tuple(each for entry in ENTRIES for each in entry.touched)),
)

INNER_LIVE = {A: (1, 5), B: (2, 5), C: (6, 8)}
OUTER_LIVE = {A: (0, 2), B: (0, 2), C: (0, 2)}

TIMELINE = Timeline(
    names=NAMES,
    steps=tuple(
        Step(position, depth, entry.stmt, entry.scope_pair_offset < 0, touches)
        for position, (depth, entry, touches) in enumerate(
            zip(
                (0, 1, 1, 1, 2, 1, 1, 1, 0),
                ENTRIES,
                ({one.buffer: one.access for one in entry.touched} for entry in ENTRIES),
                strict=True,
            )
        )
    ),
    bands=(Band("loop", 0, 9, 0, OUTER), Band("loop", 3, 6, 1, INNER)),
    marks=(SyncMark("barrier", 6, SYNC),),
    points={
        OUTER: (0, 9),
        FILL_A: (1, 2),
        FILL_B: (2, 3),
        INNER: (3, 6),
        MULTIPLY: (4, 5),
        SYNC: (6, 6),
        FILL_C: (6, 7),
        WRITE: (7, 8),
    },
)


def plan(
    policy: PolicyName,
    offsets: Mapping[Buffer, int],
    live: Mapping[Buffer, tuple[int, int]],
    entries: Sequence[StmtEntry] = ENTRIES,
    **more: Any,
) -> Plan:
    """A plan with these offsets; its arena and bound are as large as they make it."""
    arena = max((at + (one.size or 0) for one, at in offsets.items()), default=0)
    made: dict[str, Any] = {
        "provenance": Provenance(policy, "best", "bytes"),
        "buffers": tuple(offsets),
        "alignments": dict.fromkeys(more.get("buffers", tuple(offsets)), 16),
        "symbolic_offsets": {},
        "arena_bytes": arena,
        "arena_expr": None,
        "lower_bound_bytes": arena,
        **more,
    }
    ranges = {one: LiveRange(one, *span) for one, span in live.items()}
    return Plan(scope=SCOPE, live=ranges, offsets=offsets, entries=entries, **made)


APART = plan("outer", {A: 0, B: 16 * KB, C: 32 * KB}, OUTER_LIVE, OUTER_ENTRIES)
SHARED = plan("dataflow", {A: 0, B: 16 * KB, C: 0}, INNER_LIVE)
INNER_PLAN = plan("inner", {A: 0, B: 16 * KB, C: 0}, INNER_LIVE)
OVERWRITTEN = Verdict(
    UNSOUND, (Violation(Rule.LOOP_CARRIED, ("As", "Cs"), "`Cs[0] = acc[0]` overwrote it"),)
)
PLANS: dict[str, Judged] = {
    "outer": (APART, Verdict(SOUND)),
    "inner": (INNER_PLAN, OVERWRITTEN),
    "dataflow": (SHARED, Verdict(SOUND)),
}


def stacked(sizes: Sequence[int]) -> Plan:
    """Buffers one above the other, all live throughout."""
    buffers = [buffer(f"B{number}", size) for number, size in enumerate(sizes)]
    offsets = dict(zip(buffers, accumulate(sizes, initial=0), strict=False))
    return plan("outer", offsets, dict.fromkeys(buffers, (0, 9)))


def explanation(one: Buffer, two: Buffer, *causes: Cause, **more: Any) -> Explanation:
    """May share unless there is a cause against it."""
    live = (INNER_LIVE.get(one), INNER_LIVE.get(two))
    verdict = Verdict(UNSOUND) if causes else Verdict(SOUND)
    given = {"settled": (), "verdict": verdict, "outer": "both are touched in `for b`", **more}
    return Explanation((one, two), (one.name, two.name), live, causes, **given)


TOGETHER = Cause(None, "live together from `Bs[0] = 1` (line 13) on")
PAIRS = (explanation(A, B, TOGETHER), explanation(A, C), explanation(B, C))
OVERVIEW = Overview(PLANS, APART, TIMELINE, PAIRS)


def entry(**more: Any) -> dict[str, Any]:
    """What the page shows of the kernel."""
    return {**overview_entry(SUBJECT, OVERVIEW), **more}


def out(width: int = 200, **more: Any) -> Console:
    """A console that writes into a string."""
    return Console(file=io.StringIO(), width=width, **more)


def printed(console: Console) -> str:
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def cells(table: RenderableType) -> list[list[str]]:
    """The cells of each row of a printed table."""
    console = out(no_color=True)
    console.print(table)
    lines = (line for line in printed(console).splitlines() if "|" in line and "--" not in line)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
