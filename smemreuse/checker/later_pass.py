"""The barriers that a pass behind the merge puts in, as the trace assumes them (rule 6).

It can put one where all threads come by that are known to be here, not among an unknown few.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from smemreuse.checker.agent import Agent
from smemreuse.checker.setting import Setting
from smemreuse.checker.state import State
from smemreuse.checker.synchronization import Synchronization
from smemreuse.ir.kernel import If


class LaterPass:
    """What is assumed in a trace; nothing where the kernel has all its barriers."""

    def __init__(self, setting: Setting, synchronization: Synchronization):
        self._is_assumed = setting.assume_barriers
        self._relevance = setting.relevance
        self._vectors = setting.vectors
        self._partners = setting.layout.partners
        self._synchronization = synchronization

    def _acts_for(self, agent: Agent) -> bool:
        return self._is_assumed and not agent.partly

    def before(self, agent: Agent) -> None:
        """Between statements that share bytes."""
        if self._acts_for(agent):
            self._synchronization.assume_barrier(agent.threads)

    def behind_wait(self, agent: Agent) -> None:
        """TileLang's `ThreadSync` puts one directly behind each wait for cp.async, too."""
        if self._acts_for(agent):
            self._synchronization.barrier(agent.threads)

    def before_branch(self, branch: If, agent: Agent) -> None:
        """Before some branches it surely stands."""
        if self._acts_for(agent) and self._relevance.met_before(branch, self._partners):
            self._synchronization.assume_barrier(agent.threads, inserted=True)

    def goes_round(self, state: State, begun: np.ndarray) -> None:
        """It does not compare a round of a `while`, begun in these epochs, with the next one."""
        if self._is_assumed:
            state.history.goes_round(state.order, begun)

    def within(self, arms: Iterable[Agent], branches: Iterable[If]) -> None:
        """In arms it may be of their threads alone."""
        if self._is_assumed and any(map(self._relevance.meets_inside, branches)):
            for arm in arms:
                arm.among = self._vectors.warps(arm.threads.ids)
