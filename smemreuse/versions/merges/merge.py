"""A compiler's own merge: its live ranges, and the plan that its packer makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from smemreuse.facts import KernelFacts, facts_of
from smemreuse.ir.kernel import Kernel
from smemreuse.policies.packing import Liveness, packed
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import (
    ObjectiveName,
    PackerName,
    PolicyName,
    Provenance,
    StockFailure,
)
from smemreuse.versions.version import MergeRules


@dataclass(frozen=True)
class Merge(ABC):
    """The merge of one compiler, as a model to compare with and to fall back on.

    `rules` are its version's. `policy` and `packer` are its names on the command line and in the
    provenance of its plans.
    """

    name: str
    policy: PolicyName
    rules: MergeRules
    objective: ObjectiveName = "bytes"

    compiler: ClassVar[str] = "TileLang"
    """Whose merge it is, whatever the version."""

    only_whole: ClassVar[bool] = False
    """Whether nothing but its own plan may be made of its live ranges, which miss accesses."""

    @property
    def configured(self) -> Merge:
        """The merge of a version under some options: itself, or what it was seen to carry out."""
        return self

    @property
    def packer(self) -> PackerName:
        return self.rules.packer

    @property
    def own_packer(self) -> str | None:
        """The packer of its pass, where that is not `packer` as it can be chosen."""
        return self.rules.packs_as

    @abstractmethod
    def liveness(self, kernel: Kernel, scope: str) -> Liveness:
        """Live ranges, alignments and the order of events, as its pass has them."""

    def failures(self, kernel: Kernel, scope: str) -> tuple[StockFailure, ...]:
        """Why its pass does not compile a kernel; none where it does."""
        return ()

    def plan(self, kernel: Kernel, scope: str) -> Plan:
        """The plan that its pass makes, faults included."""
        return facts_of(kernel).ask(_stock_plan, self, scope)

    def made(self, kernel: Kernel, scope: str) -> Plan:
        """As `plan`, made anew."""
        return packed(
            self.liveness(kernel, scope),
            self.provenance,
            keeps_overlap=self.only_whole,
            own=self.own_packer,
        )

    @property
    def provenance(self) -> Provenance:
        return Provenance(self.policy, self.packer, self.objective)


def _stock_plan(facts: KernelFacts, merge: Merge, scope: str) -> Plan:
    return merge.made(facts.kernel, scope)
