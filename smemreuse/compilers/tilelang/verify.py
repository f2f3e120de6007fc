"""Checks a merged function on the IR that has its barriers (rule 6).

TileLang inserts barriers behind the merge, with `ThreadSync`, which sees the aliases. A plan is
checked on what that returns, with no barrier assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.baselines import Baseline
from smemreuse.compilers.session import DeviceFunction
from smemreuse.compilers.tilelang.rewrite import apply_plans
from smemreuse.pipeline.candidate import Candidate, Proposal
from smemreuse.pipeline.choice import Choice, choose
from smemreuse.results.verdict import Verdict


def with_barriers(name: str, func: Any) -> Any:
    """The function as the passes between the merge and code generation synchronize it."""
    mod = tvm.IRModule({name: func})
    mod = tilelang.cuda.transform.InjectFenceProxy()(mod)
    for scope in ("shared", "shared.dyn"):
        mod = tilelang.transform.ThreadSync(scope)(mod)
    return mod[name]


def synchronized(function: DeviceFunction, proposal: Proposal) -> Any:
    """The function with a proposal's plans applied, and then its barriers."""
    merged = apply_plans(function.func, function.visitor, proposal.plans)
    return with_barriers(function.name, merged)


class PendingMerge:
    """A function that has been merged and not yet been seen with its barriers."""

    def __init__(self, function: DeviceFunction, proposals: Iterator[Proposal], stock: Baseline):
        self.function = function
        self.stock = stock
        self.wanted = next(proposals)
        self._others = proposals
        self._seen: Any = None  # the function under the proposal looked at last, with its barriers

    def merged(self) -> Any:
        """The function under the wanted plans."""
        return apply_plans(self.function.func, self.function.visitor, self.wanted.plans)

    def confirmed(self, func: Any, *, unchecked: bool) -> tuple[Choice, Any]:
        """The plans that hold, and the function under them, with its barriers.

        `func` is what TileLang's own passes made of `merged`. What does not hold there is taken
        back: the function is merged anew under the next plans and synchronized again.
        """
        self._seen = func
        choice = choose(chain([self.wanted], self._others), self._verified, unchecked=unchecked)
        return choice, self._seen

    def _verified(self, proposal: Proposal) -> Proposal:
        if proposal is not self.wanted:
            self._seen = synchronized(self.function, proposal)
        return self.function.judged(proposal, self._seen)


@dataclass
class StockAudit:
    """What the checker says of TileLang's own merge of a function, found out when first asked.

    `chosen` tells which scopes are merged. `config` is that of the lowering, since it may switch
    barriers off.
    """

    function: DeviceFunction
    stock: Baseline
    chosen: Proposal
    config: dict[str, Any]

    def verdict(self, launch: int, scope: str) -> Verdict:
        found = {one.scope: one.verdict for one in self._judged.launches[launch]}
        return found[scope]

    @cached_property
    def _judged(self) -> Proposal:
        stock = Proposal(
            tuple(
                tuple(
                    Candidate(one.kernel, self.stock.plan(one.kernel, one.scope)) for one in launch
                )
                for launch in self.chosen.launches
            )
        )
        with tvm.transform.PassContext(opt_level=3, config=self.config):
            func = synchronized(self.function, stock)
        return self.function.judged(stock, func)
