"""All that a report shows of one kernel and storage scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smemreuse.results.explanation import Explanation
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import Timeline
from smemreuse.results.verdict import Judged


@dataclass(frozen=True)
class Overview:
    """Plans by name with their verdicts, the plan that shares nothing, and every pair explained.

    `remarks` are notes on a plan in addition to its provenance, by the plan's name. `before` names
    the plan that the compiler would apply without smemreuse, if it is one of them. `default` is
    that plan with its name where it is not. With neither, `side_by_side` is what was before.
    """

    plans: Mapping[str, Judged]
    side_by_side: Plan
    timeline: Timeline
    pairs: tuple[Explanation, ...]
    remarks: Mapping[str, str] = field(default_factory=dict)
    before: str | None = None
    default: tuple[str, Plan] | None = None
