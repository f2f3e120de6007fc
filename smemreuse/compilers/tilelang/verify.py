"""Checks a merged function on the IR that has its barriers (rule 6).

TileLang inserts barriers after the merge, with `ThreadSync`, which sees the aliases. A plan is
checked on what that returns, with no barrier assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.compilers.functions import DeviceFunction, PlannedFunction, stock_proposal
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.tilelang.installed import inject_fence_proxy
from smemreuse.compilers.tilelang.rewrite import apply_plans
from smemreuse.compilers.tilelang.visitor import IN_SEQUENCE
from smemreuse.pipeline.candidate import Proposal
from smemreuse.pipeline.choice import Attempts, Choice, choose
from smemreuse.results.verdict import UNPROVED, Verdict
from smemreuse.versions.merges import Merge


def with_barriers(name: str, func: Any) -> Any:
    """The function as the passes between the merge and code generation synchronize it."""
    mod = tvm.IRModule({name: func})
    mod = inject_fence_proxy()(mod)
    for scope in ("shared", "shared.dyn"):
        mod = tilelang.transform.ThreadSync(scope)(mod)
    return mod[name]


_FAILS = "TileLang's insertion of barriers fails on it"

_UNREAD = Verdict(UNPROVED, uncovered=("what TileLang's own merge leaves of its buffers",))


def judged_as_merged(function: DeviceFunction, own: Proposal, merged: Any) -> Proposal:
    """What TileLang's own merge did, with its verdicts, on what its passes made of the function.

    Where that merge writes places into accesses, nothing tells there whose bytes they are.
    """
    if IN_SEQUENCE:
        return function.judged(own, merged)
    return own.with_verdicts([_UNREAD for _ in own])


@dataclass(frozen=True)
class StockMerge:
    """TileLang's own merge as a lowering configures it: what it does, and the pass itself."""

    merge: Merge
    run: Callable[[Any], Any]

    def makes(self, proposal: Proposal) -> bool:
        """Whether a proposal asks for nothing but what that pass does.

        Where that pass leaves nothing of the buffers to judge, it makes what stays unproved alone.
        """
        if not IN_SEQUENCE and not all(one.provenance.is_kept for one in proposal):
            return False
        return all(
            one.provenance.is_own
            and one.plan.offsets == self.merge.plan(one.kernel, one.scope).offsets
            for one in proposal
        )

    def merged(self, function: DeviceFunction) -> Any:
        """The function as that pass merges it."""
        return self.run(tvm.IRModule({function.name: function.func}))[function.name]


class PendingMerge:
    """A function that has been merged and not yet been seen with its barriers."""

    def __init__(self, function: DeviceFunction, attempts: Attempts, stock: StockMerge):
        self.function = function
        self.stock = stock
        self._attempts = attempts
        self._wanted = attempts.best()
        self._seen: Any = None  # the function under the proposal looked at last, with its barriers
        self.failed: Exception | None = None  # what kept TileLang from putting barriers there

    @property
    def planned(self) -> PlannedFunction:
        """The function with the plans that it is merged under at first."""
        return PlannedFunction(self.function, self.stock.merge, self._wanted)

    def merged(self) -> Any:
        """The function under the wanted plans."""
        return self._under(self._wanted)

    def confirmed(self, func: Any, *, unchecked: bool) -> tuple[Choice, Any]:
        """The plans that hold, and the function under them, with its barriers.

        `func` is what TileLang's own passes made of `merged`. What does not hold there is taken
        back: the function is merged anew under the next plans and synchronized again.
        """
        self._seen = func
        choice = choose(self._attempts, self._verified, unchecked=unchecked)
        if self.failed is not None:  # it is refused, but where nothing is checked
            raise self.failed
        return choice, self._seen

    def _verified(self, proposal: Proposal) -> Proposal:
        if proposal is not self._wanted:
            self._synchronize(proposal)
        if self.failed is not None:
            refused = Verdict(UNPROVED, uncovered=(f"{_FAILS}: {error_line(self.failed)}",))
            return proposal.with_verdicts([refused for _ in proposal])
        if self.stock.makes(proposal):
            return judged_as_merged(self.function, proposal, self._seen)
        return self.function.judged(proposal, self._seen)

    def _synchronize(self, proposal: Proposal) -> None:
        """The function under a proposal, with its barriers, or what kept TileLang from that.

        What fails on two proposals in a row, or on what TileLang itself makes, is raised: these
        passes may take a minute each.
        """
        again = self.failed is not None or self.stock.makes(proposal)
        self.failed = None
        try:
            self._seen = with_barriers(self.function.name, self._under(proposal))
        except Exception as error:  # TVM's own, of whatever type
            if again:
                raise
            self.failed = error

    def _under(self, proposal: Proposal) -> Any:
        """The function as it is merged; what the compiler would do, its own pass does."""
        if self.stock.makes(proposal):
            return self.stock.merged(self.function)
        return apply_plans(self.function.func, self.function.visitor, proposal.plans)


@dataclass
class StockAudit:
    """What the checker says of TileLang's own merge of a function, found out when first asked.

    `chosen` says which scopes are merged. `config` is that of the lowering, since it may switch
    barriers off.
    """

    function: DeviceFunction
    stock: Merge
    chosen: Proposal
    config: dict[str, Any]

    def verdict(self, launch: int, scope: str) -> Verdict:
        found = {one.scope: one.verdict for one in self._judged.launches[launch]}
        return found[scope]

    @cached_property
    def _judged(self) -> Proposal:
        scopes = [[one.scope for one in launch] for launch in self.chosen.launches]
        stock = stock_proposal(self.function.kernels, scopes, self.stock)
        with tvm.transform.PassContext(opt_level=3, config=self.config):
            merged = apply_plans(self.function.func, self.function.visitor, stock.plans)
            func = with_barriers(self.function.name, merged)
        return judged_as_merged(self.function, stock, func)
