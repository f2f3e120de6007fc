"""A plan and its verdict without any part of a kernel: JSON that one process tells another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from smemreuse.results.provenance import (
    Occupancy,
    Origin,
    PackerFallback,
    Provenance,
    StockFailure,
    StockFault,
)
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import Verdict, VerdictKind, Violation


@dataclass(frozen=True)
class CarriedBuffer:
    """One buffer of a scope; they are in the order of the kernel's allocations.

    `size` is None where it is symbolic, `offset` then an expression's text. A buffer that nothing
    touches has no offset, and is not `live`: positions of policy inner's sequence, half-open.
    """

    name: str
    size: int | None
    alignment: int
    offset: int | str | None
    live: tuple[int, int] | None


@dataclass(frozen=True)
class Taken:
    """Bytes of a layout, the text of the whole where that is symbolic, and what it leaves: blocks
    on an SM as far as shared memory and threads go, and whether one fits; None if not known."""

    bytes: int
    text: str | None
    blocks: int | None
    fits: bool | None


@dataclass(frozen=True)
class CarriedPlan:
    """What a page shows of a plan in one process, made in another. `apart` is what the buffers
    would take side by side."""

    scope: str
    provenance: Provenance
    verdict: Verdict
    buffers: tuple[CarriedBuffer, ...]
    arena: Taken
    lower_bound_bytes: int
    proved: bool
    apart: Taken

    def as_data(self) -> dict[str, Any]:
        """Ready for JSON; of the verdict, without the pairs that are open."""
        made, verdict = self.provenance, self.verdict
        failures = [{"fault": one.fault.value, "buffer": one.buffer} for one in made.failures]
        return {
            "scope": self.scope,
            "provenance": {**asdict(made), "origin": made.origin.value, "failures": failures},
            "verdict": {
                "verdict": verdict.verdict.value,
                "violations": [asdict(one) for one in verdict.violations],
                "uncovered": verdict.uncovered,
                "assumptions": verdict.assumptions,
            },
            "buffers": [asdict(one) for one in self.buffers],
            "arena": asdict(self.arena),
            "lower_bound_bytes": self.lower_bound_bytes,
            "proved": self.proved,
            "apart": asdict(self.apart),
        }

    @classmethod
    def from_data(cls, found: Mapping[str, Any]) -> CarriedPlan:
        """What `as_data` gave. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
        return cls(
            scope=found["scope"],
            provenance=_provenance(found["provenance"]),
            verdict=_verdict(found["verdict"]),
            buffers=tuple(map(_buffer, found["buffers"])),
            arena=Taken(**found["arena"]),
            lower_bound_bytes=found["lower_bound_bytes"],
            proved=found["proved"],
            apart=Taken(**found["apart"]),
        )


@dataclass(frozen=True)
class ScopePlans:
    """One scope of a kernel under its plans by name, the last of which is in the kernel; `before`
    is the name of what there would be without us, None for side by side."""

    plans: Mapping[str, CarriedPlan]
    before: str | None = None

    @property
    def last(self) -> CarriedPlan:
        return [*self.plans.values()][-1]

    @property
    def scope(self) -> str:
        return self.last.scope

    def as_data(self) -> dict[str, Any]:
        """Ready for JSON."""
        plans = {name: one.as_data() for name, one in self.plans.items()}
        return {"plans": plans, "before": self.before}

    @classmethod
    def from_data(cls, found: Mapping[str, Any]) -> ScopePlans:
        """What `as_data` gave; raises as `CarriedPlan.from_data`."""
        plans = {name: CarriedPlan.from_data(one) for name, one in found["plans"].items()}
        return cls(plans, found["before"])


def _provenance(found: Mapping[str, Any]) -> Provenance:
    fallback, occupancy = found["fallback"], found["occupancy"]
    return Provenance(
        policy=found["policy"],
        packer=found["packer"],
        objective=found["objective"],
        origin=Origin(found["origin"]),
        fallback=PackerFallback(**fallback) if fallback else None,
        overlap=found["overlap"],
        failures=tuple(
            StockFailure(StockFault(one["fault"]), one["buffer"]) for one in found["failures"]
        ),
        occupancy=Occupancy(**occupancy) if occupancy else None,
    )


def _verdict(found: Mapping[str, Any]) -> Verdict:
    violations = (
        Violation(Rule(one["rule"]), tuple(one["buffers"]), one["witness"])
        for one in found["violations"]
    )
    return Verdict(
        VerdictKind(found["verdict"]),
        tuple(violations),
        tuple(found["uncovered"]),
        tuple(found["assumptions"]),
    )


def _buffer(found: Mapping[str, Any]) -> CarriedBuffer:
    live = found["live"]
    return CarriedBuffer(**{**found, "live": tuple(live) if live is not None else None})
