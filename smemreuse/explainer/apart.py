"""Why buffers of a plan do not share bytes though they are not live at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from smemreuse.explainer.pairs import explainer_of
from smemreuse.ir.kernel import Kernel
from smemreuse.results.plan import Plan

UNNEEDED: Mapping[str, str] = {
    "speed": "sharing their bytes gains no resident block, and no L1 that is worth its barriers",
    "bytes": "sharing their bytes makes the arena no smaller",
    "none": "nothing is reused: it is switched off",
}
"""Why two buffers that may share do not, by the objective of the plan."""

Names = tuple[str, str]


def kept_apart(kernel: Kernel, plan: Plan) -> dict[str, list[Names]]:
    """The pairs of a plan that are side by side though their live ranges do not meet, by reason."""
    explainer = explainer_of(kernel, plan.scope)
    found: dict[str, list[Names]] = {}
    for one, two in combinations(plan.offsets, 2):
        if plan.shared_bytes(one, two) or plan.live[one].overlaps(plan.live[two]):
            continue
        if frozenset((one, two)) not in plan.concurrent:
            why = UNNEEDED[plan.objective]
        else:
            # No verdict of its own: that may take long, and the plan rests on what is known.
            causes = explainer.pair((one, two), most=0).causes
            why = causes[0].clause if causes else "not proved to be harmless"
        found.setdefault(why, []).append((explainer.names[one], explainer.names[two]))
    return found
