"""A plan and its verdict without any part of a kernel, to send to another process as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.results.provenance import Provenance
from smemreuse.results.verdict import Verdict


@dataclass(frozen=True)
class CarriedBuffer:
    """One buffer of a scope; buffers are kept in the order of the kernel's allocations.

    `size` is in bytes, None where it is symbolic; `offset` is then an expression's text. `live` is
    the half-open live range in positions of policy inner's sequence. A buffer without accesses has
    neither an offset nor a live range.
    """

    name: str
    size: int | None
    alignment: int
    offset: int | str | None
    live: tuple[int, int] | None


@dataclass(frozen=True)
class Taken:
    """The shared memory that a layout takes, and the occupancy that follows.

    `bytes` is the constant part; `text` is the whole size where it is symbolic, else None. `blocks`
    are those that one SM holds by its shared memory, threads and barriers, and `fits` says whether
    it holds any; both are None where that is not known.
    """

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
    """The plans of one scope of a kernel, by name; the last one was applied to the kernel.

    `before` names the plan that the compiler would apply without smemreuse, None where it would
    place the buffers side by side.
    """

    plans: Mapping[str, CarriedPlan]
    before: str | None = None

    @property
    def last(self) -> CarriedPlan:
        return [*self.plans.values()][-1]

    @property
    def scope(self) -> str:
        return self.last.scope
