"""Which branches different threads take at the same time (rule 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from smemreuse.checker.execution.setting import Setting
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.convergence import converges
from smemreuse.checker.machine.events import Findings
from smemreuse.checker.predicted.barriers import PredictedBarriers
from smemreuse.ir.expr import Expr, Load, walk
from smemreuse.ir.kernel import Attr, Bind, Block, If, Stmt
from smemreuse.results.undecided import UndecidedKind
from smemreuse.semantics.evaluate import Value

Branches = list[tuple[If, np.ndarray | None]]
"""Each with the mask of who takes its first arm; None for one that all come to in its turn."""


class ConcurrentBranches:
    """The branches of a trace that run at the same time."""

    def __init__(
        self,
        setting: Setting,
        findings: Findings,
        predicted: PredictedBarriers,
        decide: Callable[[Expr, Agent], Value],
    ):
        self._setting = setting
        self._slice, self._vectors = setting.program_slice, setting.vectors
        self._findings = findings
        self._predicted = predicted
        self._decide = decide

    def at_head(self, block: Block, agent: Agent) -> Branches:
        """The branches at the head of a block that different threads take, each with who does.

        `if tx < 128: ...` and `if 128 <= tx: ...`, one after the other, run at the same time: the
        threads that skip the first do not wait for it. One whose condition the lanes of a warp have
        to evaluate together is the last, and splits no threads that the others leave together; nor
        does one that comes after what these run together, or any behind that. None comes behind a
        barrier that a later pass puts in.
        """
        group: Branches = []
        for stmt in block:
            if group and self._is_parted([branch for branch, _ in group], stmt):
                break
            if isinstance(stmt, If) and self._slice(stmt):
                if group and converges(stmt):
                    group.append((stmt, None))
                    break
                if self._slice.accesses.get(stmt) or (group and _loads(stmt.condition)):
                    break  # its condition is read in its turn, after what comes before
                condition = self._decide(stmt.condition, agent)
                if not isinstance(condition, np.ndarray):
                    break
                mask = self._vectors.masks(condition)[0]
                in_turn = any(taken is None for _, taken in group) or self._splits(mask, group)
                group.append((stmt, None if in_turn else mask))
            elif self._slice(stmt) or isinstance(stmt, (Bind, Attr)):
                break
        return group

    def _splits(self, mask: np.ndarray, group: Branches) -> bool:
        """Whether some threads that run an arm of a group together are not alike in a mask."""
        taken = [one for _, one in group if one is not None]
        if not taken:
            return False
        return any(
            0 < np.count_nonzero(mask[mine]) < np.count_nonzero(mine)
            and any(
                then or self._slice.block(stmt.orelse)
                for then, (stmt, _) in zip(choice, group, strict=True)
            )
            for choice, mine in self._vectors.choices(taken)
        )

    def _is_parted(self, branches: Sequence[If], stmt: Stmt) -> bool:
        """Whether all threads are taken to meet between branches and what comes behind them."""
        is_parted = self._predicted.parts(branches, stmt)
        if is_parted is False:
            return False
        if self._setting.parts is not None:
            self._setting.may_part = True
            return self._setting.parts
        if is_parted is None:
            self._setting.may_part = True
            self._findings.fork(UndecidedKind.BARRIER, stmt)
        return is_parted is True


def _loads(expr: Expr) -> bool:
    return any(isinstance(node, Load) for node in walk(expr))
