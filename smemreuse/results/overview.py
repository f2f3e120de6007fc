"""All that a report shows of one kernel and storage scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.results.explanation import Explanation
from smemreuse.results.sequence import Plan
from smemreuse.results.timeline import Timeline
from smemreuse.results.verdict import Judged


@dataclass(frozen=True)
class Overview:
    """Plans by name with their verdicts, the plan that shares nothing, and every pair explained."""

    plans: Mapping[str, Judged]
    side_by_side: Plan
    timeline: Timeline
    pairs: tuple[Explanation, ...]
