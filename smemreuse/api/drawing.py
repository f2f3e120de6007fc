"""Plans drawn for a notebook."""

from __future__ import annotations

from html import escape

from smemreuse.errors import BackendError
from smemreuse.explainer.overview import map_of
from smemreuse.ir.kernel import Kernel
from smemreuse.report.data import Subject
from smemreuse.report.overview import overview_entry
from smemreuse.results.plan import Plan


def drawn(kernel: Kernel, plan: Plan) -> str | None:
    """A heading and the plan's memory map as HTML; None where the package draws none."""
    try:
        from smemreuse.report.page import map_fragment
    except (BackendError, ImportError):
        return None
    shown = map_of(kernel, plan)
    entry = overview_entry(Subject("", kernel, plan.scope), shown)
    (_, verdict), unshared = shown.plans[plan.policy], shown.side_by_side
    caption = (
        f"{kernel.name} ({plan.scope}), {plan.policy}: {plan.arena_text} of "
        f"{unshared.arena_text} bytes, {verdict.verdict}"
    )
    return f"<p><b>{escape(caption)}</b></p>{map_fragment(entry, plan.policy)}"
