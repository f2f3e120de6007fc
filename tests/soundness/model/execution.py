"""Runs a program: threads in agents that go together, in an order that the mode says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.soundness.model.machine import Machine
from tests.soundness.model.modes import IllDefined
from tests.soundness.model.program import Branch, Ids, Jump, Leaf, by_warp

MAX_STEPS = 700
"""Of all agents together, for each warp."""


@dataclass(eq=False)
class Join:
    """Where threads that parted meet again."""

    at: int
    depth: int
    ids: Ids
    missing: int
    outer: tuple[Join, ...]


@dataclass(eq=False)
class Agent:
    """Threads that are at one place of the program, in one round of the loops around it."""

    ids: Ids
    at: int = 0
    joins: tuple[Join, ...] = ()
    blocked: Callable[[], bool] | None = None
    rank: float = 0.0
    held: bool = False
    rounds: int = 0

    def can_go(self) -> bool:
        if self.held:
            return False
        if self.blocked is not None and self.blocked():
            self.blocked = None
        return self.blocked is None


class Execution:
    """One execution on a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._mode, self._random = machine.mode, machine.random
        self._code = machine.program.code
        self._agents: list[Agent] = []
        self._current: Agent | None = None
        held = machine.mode.hold >= 0
        self._hold = int(machine.mode.hold * len(self._code)) if held else -1
        self._branches = 0
        self._joins = machine.mode.assumed or machine.mode.converges
        self._warps = -(-len(machine.alive) // 32)
        self._budget = MAX_STEPS * (1 if machine.mode.assumed else 2 * self._warps)

    # Running ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Until all threads are done and nothing is under way."""
        self._agents = [
            Agent(ids) for ids in self._groups(np.arange(len(self._machine.alive)), True)
        ]
        self._rank(self._agents)
        while True:
            agent = self._choose()
            if agent is not None:
                self._step(agent)
            elif any(one.held for one in self._agents) and (
                not self._machine.flights or self._random.random() < 0.5
            ):
                self._release()
            elif self._machine.flights:
                self._machine.flights.land_one()
            elif self._agents:
                raise IllDefined("it hangs")
            else:
                return

    def _groups(self, ids: Ids, outermost: bool = False) -> list[Ids]:
        """Threads that go together from here on."""
        if self._mode.assumed:
            if not self._mode.free or outermost:
                return [ids]
            warps, count = np.unique(ids // 32, return_counts=True)
            whole = np.minimum(len(self._machine.alive) - warps * 32, 32) == count
            together = np.isin(ids // 32, warps[whole])
            groups = [ids[together]] if together.any() else []
            alone = ids[~together]
            return groups + [part for part in (alone[i::8] for i in range(8)) if len(part)]
        if not outermost:
            return [ids]
        found = []
        for mine in by_warp(ids):
            if self._mode.parts:
                chosen = np.array([self._random.random() < 0.5 for _ in mine])
                found += [part for part in (mine[chosen], mine[~chosen]) if len(part)]
            else:
                found.append(mine)
        return found

    def _rank(self, agents: list[Agent]) -> None:
        for one in agents:
            one.rank = self._random.random()

    def _release(self) -> None:
        self._random.choice([one for one in self._agents if one.held]).held = False

    def _is_starved(self, agent: Agent) -> bool:
        starved = self._mode.starved
        return starved >= 0 and int(agent.ids[0]) // 32 == starved % self._warps

    def _choose(self) -> Agent | None:
        arms = self._mode.arms
        able = [one for one in self._agents if not self._is_starved(one) and one.can_go()]
        # A starved warp does not even look whether what it waits for has come.
        able = able or [one for one in self._agents if self._is_starved(one) and one.can_go()]
        if not able:
            return None
        current = self._current if self._current in self._agents else None
        if current is not None and current in able and arms in ("bursts", "ranked"):
            if self._random.random() < 0.93:
                return current
            if arms == "ranked":
                current.rank = self._random.random() - 1.0
        if arms == "then":
            return able[0]
        if arms == "else":
            return able[-1]
        if arms == "turns":
            place = -1 if current is None else self._agents.index(current)
            return next((one for one in able if self._agents.index(one) > place), able[0])
        if arms == "ranked":
            return max(able, key=lambda one: one.rank)
        return self._random.choice(able)

    def _step(self, agent: Agent) -> None:
        """One statement, and what leads up to it."""
        self._current = agent
        while agent in self._agents:
            if agent.at >= len(self._code):
                self._end(agent)
                return
            if self._machine.record is not None:
                self._machine.record.reached.add(agent.at)
            instruction = self._code[agent.at]
            if isinstance(instruction, Branch):
                self._branches += 1
                if self._branches > self._budget:
                    raise IllDefined("too long")
                self._branch(agent, instruction)
            elif isinstance(instruction, Jump):
                self._jump(agent, instruction)
            else:
                self._leaf(agent, instruction)
            self._arrive(agent)
            if not (isinstance(instruction, Jump) or instruction.is_silent):
                return

    def _leaf(self, agent: Agent, leaf: Leaf) -> None:
        if not leaf.is_silent:
            self._machine.steps += 1
            if self._machine.steps > self._budget:
                raise IllDefined("too long")
            self._machine.flights.tick(self._machine.steps)
        self._machine.memory.statement = agent.at
        agent.at += 1
        agent.blocked = leaf.run(self._machine, agent.ids)
        if agent.at == self._hold:
            draw = self._random.random()
            agent.held = draw < 0.5
            while draw > 0.7 and self._machine.flights:
                self._machine.flights.land_one()

    def _end(self, agent: Agent) -> None:
        self._machine.leave(agent.ids)
        self._agents.remove(agent)

    # Parting and meeting again ------------------------------------------------------------------

    def _branch(self, agent: Agent, branch: Branch) -> None:
        chosen = self._machine.truth(branch.condition, agent.ids)
        if chosen.all():
            agent.at += 1
            return
        if not chosen.any():
            agent.at = branch.other
            return
        joins = agent.joins
        for at, depth in branch.joins if self._joins else ():
            if not any((one.at, one.depth) == (at, depth) for one in joins):
                joins = (*joins, Join(at, depth, agent.ids, len(agent.ids), joins))
        parts = [
            Agent(ids, at, joins, rank=agent.rank, rounds=agent.rounds)
            for mine, at in ((agent.ids[chosen], agent.at + 1), (agent.ids[~chosen], branch.other))
            for ids in self._groups(mine)
        ]
        parts[-1].rank = self._random.random()
        place = self._agents.index(agent)
        self._agents[place : place + 1] = parts
        for one in parts:
            self._arrive(one)

    def _jump(self, agent: Agent, jump: Jump) -> None:
        while agent.joins and agent.joins[-1].depth > jump.depth:
            left = agent.joins[-1]
            agent.joins = agent.joins[:-1]
            left.ids = np.setdiff1d(left.ids, agent.ids)
            left.missing -= len(agent.ids)
            self._meet(left)
        if jump.target == -1:
            self._end(agent)
        agent.rounds += jump.target < agent.at
        agent.at = jump.target

    def _arrive(self, agent: Agent) -> None:
        """Threads come to a place where others may be, or will be."""
        if agent not in self._agents:
            return
        if self._joins:
            join = agent.joins[-1] if agent.joins else None
            if join is not None and agent.at == join.at:
                self._agents.remove(agent)
                join.missing -= len(agent.ids)
                self._meet(join)
        elif self._mode.rejoins and agent.blocked is None:
            for other in self._agents:
                here = (other.at, other.rounds) == (agent.at, agent.rounds)
                if other is not agent and here and other.blocked is None:
                    if other.ids[0] // 32 == agent.ids[0] // 32:
                        other.ids = np.sort(np.concatenate([other.ids, agent.ids]))
                        self._agents.remove(agent)
                        return

    def _meet(self, join: Join) -> None:
        if join.missing == 0 and len(join.ids):
            agent = Agent(join.ids, join.at, join.outer)
            self._agents.append(agent)
            self._arrive(agent)
