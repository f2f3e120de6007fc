"""All that a report shows of one kernel and storage scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smemreuse.results.explanation import Explanation
from smemreuse.results.plan import Plan
from smemreuse.results.timeline import Timeline
from smemreuse.results.verdict import Judged


@dataclass(frozen=True)
class Overview:
    """Plans by name with their verdicts, the plan that shares nothing, and every pair explained.

    `applied` names the plan among them that a compilation applied, for the objective `made_for`.
    """

    plans: Mapping[str, Judged]
    side_by_side: Plan
    timeline: Timeline
    pairs: tuple[Explanation, ...]
    applied: str | None = None
    made_for: str = ""
