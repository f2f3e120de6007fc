"""`AnnotateWarpGroupRegAlloc` re-enacted: where TileLang hands registers from group to group.

The pass, which runs after the merge, lets a producer's warps give up registers and the consumers'
take them (`setmaxnreg`). For a kernel that does so ptxas gives each thread at launch what the
consumers take, or as many as the threads divide an SM's registers into. For other kernels only
ptxas knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from smemreuse.ir.expr import Call, constant
from smemreuse.ir.kernel import (
    WARP_SPECIALIZATION,
    Attr,
    Block,
    If,
    Stmt,
    Store,
    walk_statements,
)
from smemreuse.semantics.table import evaluated_call

MOST = 240
"""The most that `setmaxnreg` gives a thread."""

GROUP = 128
"""Threads of a warp group."""


@dataclass(frozen=True)
class RegisterPass:
    """What one version of the pass recognizes, as lists of operations.

    - `sets`: a warp group takes or gives up registers; the kernel's author wrote it.
    - `keeps`: tells the pass to leave registers as they are.
    - `asks`: states how many registers the pass shall give to the consumers.
    - `copies`: a producer that executes one of these keeps its registers.
    - `custom`: attribute of a kernel that specializes its warps itself, which the pass leaves
      alone.
    - `layouts`: numbers of warp groups (producers, consumers) for which the pass hands over
      registers even if nothing asks for it; None for all.
    """

    sets: frozenset[str]
    keeps: str
    asks: frozenset[str]
    copies: frozenset[str]
    custom: str
    layouts: frozenset[tuple[int, int]] | None

    def handed_over(self, body: Block, threads: int) -> int | None:
        """The most registers that a thread has after the hand-over between warp groups.

        None where the warp groups of the block, which has so many `threads`, do not hand over
        registers.
        """
        calls = [call for call in map(evaluated_call, walk_statements(body)) if call is not None]
        own = _largest(calls, self.sets)
        if own is not None:
            return own
        attributes = [stmt for stmt in walk_statements(body) if isinstance(stmt, Attr)]
        if any(one.op == self.keeps for one in calls) or any(
            one.key == self.custom for one in attributes
        ):
            return None
        splits = [_split(one) for one in attributes if one.key == WARP_SPECIALIZATION]
        asked = _largest(calls, self.asks)
        if splits and asked is not None:
            return asked
        return MOST if any(self._by_default(one, threads) for one in splits) else None

    def _by_default(self, split: If | None, threads: int) -> bool:
        """Whether the pass hands over registers for this branch of warp specialization without
        being asked.

        `split` is the branch between producers (`then`) and consumers, `threads` the size of the
        block.
        """
        if split is None or any(map(self._is_copy, walk_statements(split.then))):
            return False
        if self.layouts is None:
            return True
        condition = split.condition
        if not isinstance(condition, Call) or condition.op != "lt":
            return False
        at = constant(condition.args[1])
        return at is not None and (at // GROUP, (threads - at) // GROUP) in self.layouts

    def _is_copy(self, stmt: Stmt) -> bool:
        """Whether a statement of a producer moves values through its own registers."""
        if isinstance(stmt, Store):
            return stmt.buffer.scope != "global"
        call = evaluated_call(stmt)
        return call is not None and call.op in self.copies


def _largest(calls: Iterable[Call], names: Collection[str]) -> int | None:
    """The largest first operand of the calls of those names."""
    given = [constant(call.args[0]) for call in calls if call.op in names]
    return max((one for one in given if one is not None), default=None)


def _split(attribute: Attr) -> If | None:
    """The branch that separates producers from consumers."""
    return next((one for one in walk_statements(attribute.body) if isinstance(one, If)), None)
