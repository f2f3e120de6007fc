"""The whole state of the shadow machine, which a branch copies and joins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smemreuse.checker.layout import ByteLayout
from smemreuse.checker.machine.arrivals import Pairings
from smemreuse.checker.machine.engines import Engines
from smemreuse.checker.machine.history import History
from smemreuse.checker.machine.mbarriers import Barriers
from smemreuse.checker.machine.memory import Memory
from smemreuse.checker.machine.order import Order
from smemreuse.checker.machine.proxies import Proxies
from smemreuse.checker.values.counters import Counters
from smemreuse.checker.values.descriptors import Descriptors
from smemreuse.checker.values.symbols import Definitions


@dataclass
class State:
    """The shadow machine between two steps."""

    memory: Memory
    history: History
    order: Order
    proxies: Proxies
    engines: Engines
    barriers: Barriers
    pairings: Pairings
    counters: Counters
    descriptors: Descriptors
    memo: Definitions

    @staticmethod
    def initial(layout: ByteLayout, everyone: np.ndarray) -> State:
        warps = -(-len(everyone) // 32)
        return State(
            Memory(layout),
            History(layout, warps),
            Order(warps),
            Proxies(layout, warps),
            Engines(),
            Barriers(),
            Pairings(len(everyone)),
            Counters(everyone),
            Descriptors(),
            Definitions(),
        )

    def copy(self) -> State:
        return State(
            self.memory.copy(),
            self.history.copy(),
            self.order.copy(),
            self.proxies.copy(),
            self.engines.copy(),
            self.barriers.copy(),
            self.pairings.copy(),
            self.counters.copy(),
            self.descriptors.copy(),
            self.memo.copy(),
        )

    def knows_what(self, other: State) -> bool:
        """Whether both know the same of bytes, counters and definitions: a fixpoint test for
        loops."""
        return (
            self.memory.same(other.memory)
            and self.counters.same(other.counters)
            and self.memo.same(other.memo)
        )

    def is_as_before(self, before: State) -> bool:
        """Whether a round of a loop has changed nothing that the next one asks for, where rounds
        hand nothing on but by barriers of the block."""
        return self.knows_what(before) and self.engines.alike(before.engines)

    def become(self, other: State) -> State:
        """Takes over another state's parts; gives back a state with those given up."""
        given_up = State(**vars(self))
        vars(self).update(vars(other))
        return given_up

    def joined(self, other: State, *, alike: bool = False) -> State:
        """The join of two states: what holds in both. An access that was never made in one of them
        is over there, whoever asks; so is one that is past there by the order of that state, where
        all threads went the same way, `alike`."""
        mine = self.engines.issued & ~other.engines.issued
        theirs = other.engines.issued & ~self.engines.issued
        order = self.order.joined(other.order, mine, theirs)
        sides = (self.order, other.order) if alike else (order, order)
        return State(
            self.memory.joined(other.memory),
            self.history.joined(other.history, *sides),
            order,
            self.proxies.joined(other.proxies, order.epochs),
            self.engines.joined(other.engines),
            self.barriers.joined(other.barriers, mine, theirs),
            self.pairings.joined(other.pairings),
            self.counters.joined(other.counters),
            self.descriptors.joined(other.descriptors),
            self.memo.joined(other.memo),
        )
