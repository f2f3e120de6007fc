"""A plan and its verdict without any part of a kernel: JSON that one process tells another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.results.provenance import Provenance
from smemreuse.results.verdict import Verdict


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
    """What a page shows of a plan that another process made.

    `proved` says that an exact search found no smaller plan. `side_by_side` is what the buffers
    take when none share bytes.
    """

    scope: str
    provenance: Provenance
    verdict: Verdict
    buffers: tuple[CarriedBuffer, ...]
    arena: Taken
    lower_bound_bytes: int
    proved: bool
    side_by_side: Taken


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
