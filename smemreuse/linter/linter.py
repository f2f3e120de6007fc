"""`lint`: turns the checker's machine on a kernel as it is, without a plan.

Every shared buffer lies at a place of its own and is its own partner. So the history with its
vector clocks finds races, the engines' queues missing waits, the lattice of values reads of what
no thread has written, the proxies missing fences, and the barriers' phases deadlocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from smemreuse.audit import BarrierStage, applied_layout, barriers_follow, inseparable_arena
from smemreuse.checker.budget import Work
from smemreuse.checker.verdict.check import MAX_BUFFER
from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import (
    SHARED_SCOPES,
    Allocate,
    Bind,
    Buffer,
    Declare,
    Kernel,
    Stmt,
    unique_names,
    walk_statements,
)
from smemreuse.linter.origins import with_origins
from smemreuse.linter.runs import LintRuns, LintSubject
from smemreuse.linter.undeclared import with_declarations
from smemreuse.results.hazards import LintReport
from smemreuse.results.preconditions import Preconditions
from smemreuse.semantics.accesses import KernelAccesses
from smemreuse.semantics.declarations import taken_on_trust
from smemreuse.semantics.pointers import views_beyond
from smemreuse.semantics.undeclared import handed_to_undeclared

OF_GROUNDS = 400_000_000
"""Units of work for one kernel's preconditions, where they are not all that is asked for."""


@dataclass(frozen=True)
class Apart:
    """A kernel whose merged buffers were separated, to lint each on its own.

    It also has what could not be separated, and the bytes that merged buffers are declared to have.
    """

    kernel: Kernel
    doubts: tuple[str, ...] = ()
    declared: Mapping[Buffer, int] = field(default_factory=dict)


def lint(
    kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO, work: Work | None = None
) -> LintReport:
    """The hazards of a kernel: of each shared buffer with itself, whatever is merged.

    Merged buffers are separated first. Whether they may share their bytes is for `check` to say.
    `work` is a budget shared with others.
    """
    return lint_apart(taken_apart(kernel), barriers_follow(kernel, barriers), work)


def lint_apart(apart: Apart, follow: bool, work: Work | None = None) -> LintReport:
    """The hazards of a kernel whose buffers are separate.

    `follow` tells whether a later pass inserts barriers. `work` is a budget shared by several
    kernels.
    """
    whole, doubts = apart.kernel, [*apart.doubts]
    accesses = KernelAccesses.of(whole.body)
    names = unique_names(whole.allocations())
    used = {one.buffer for found in accesses.by_statement.values() for one in found}
    sizes = {}
    for buffer in whole.allocations():
        if buffer.scope not in SHARED_SCOPES:
            continue
        if buffer.size is not None and buffer.size <= MAX_BUFFER:
            sizes[buffer] = apart.declared.get(buffer, buffer.size)
        elif buffer in used:
            doubts.append(f"the size of {names[buffer]} is not followed")
    doubts += [
        f"{view.name}, a view of {names[buffer]}, is larger than that"
        for view, buffer in views_beyond(whole.body, accesses.pointers)
        if buffer in sizes
    ]
    found = LintRuns(LintSubject(whole, sizes, names, accesses, follow, work)).findings()
    told = with_declarations(found.hazards, handed_to_undeclared(accesses.by_statement))
    hazards = sorted(told.values(), key=lambda one: (not one.certain, one.site.line or 0))
    unknown = tuple(dict.fromkeys((*doubts, *found.reasons)))
    sentences = dict.fromkeys(one.assumption for one in found.assumed)
    return LintReport(
        whole.name,
        follow,
        with_origins(tuple(hazards), whole),
        unknown,
        (*sentences, *taken_on_trust(whole.body)),
        tuple(one for one in found.assumed if one.buffer),
    )


def grounds_of(
    kernel: Kernel, barriers: BarrierStage = BarrierStage.AUTO, *, most: int | None = None
) -> Preconditions:
    """The preconditions of a sound plan: what lint finds of a kernel, with `most` units of work if
    that is given; found once."""
    return facts_of(kernel).ask(_grounds, barriers, most)


def _grounds(facts: KernelFacts, barriers: BarrierStage, most: int | None) -> Preconditions:
    work = None if most is None else Work(most)
    return Preconditions(lint(facts.kernel, barriers, work), is_bounded=work is not None)


def taken_apart(kernel: Kernel) -> Apart:
    """The kernel with its merged buffers separated; the kernel itself where nothing is merged."""
    found = Apart(kernel)
    for scope in kernel.shared_scopes():
        applied = applied_layout(found.kernel, scope)
        if applied is not None:
            doubts = (*found.doubts, *applied.beyond)
            found = Apart(applied.kernel, doubts, {**found.declared, **applied.declared})
        elif inseparable_arena(found.kernel, scope) is not None:
            doubt = f"the buffers merged in {scope} cannot be distinguished"
            found = replace(found, doubts=(*found.doubts, doubt))
    return found


def counterparts(apart: Kernel, kernel: Kernel) -> dict[Stmt, Stmt] | None:
    """The statements of a kernel that act, by those of the same kernel taken apart; None where the
    two do not match."""
    allocating = (Allocate, Bind, Declare)
    theirs, ours = (
        [stmt for stmt in walk_statements(one.body) if not isinstance(stmt, allocating)]
        for one in (apart, kernel)
    )
    return dict(zip(theirs, ours, strict=True)) if len(theirs) == len(ours) else None
