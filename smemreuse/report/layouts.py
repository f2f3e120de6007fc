"""Which layout of a kernel ships, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from smemreuse.ir.kernel import DYNAMIC_SCOPE
from smemreuse.report.data import Subject
from smemreuse.report.verdicts import kind_text
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Judged, Verdict


@dataclass(frozen=True)
class Layouts:
    """The layouts of one kernel and scope.

    `shipped` is the one that is applied, or the compiler's own where it is kept; `default` is that
    of the default merge of `compiler`, None where it makes none; `apart` shares nothing.
    """

    compiler: str
    shipped: Judged
    default: Judged | None
    apart: Plan

    @property
    def is_smaller(self) -> bool:
        """Whether what ships takes fewer bytes than the default merge or, without one, than buffers
        side by side."""
        usual = self.apart if self.default is None else self.default[0]
        return self.shipped[0].arena_bytes < usual.arena_bytes

    @property
    def whose(self) -> str:
        """Where the shipped layout comes from."""
        plan, _ = self.shipped
        merge = f"the layout of {self.compiler}'s default merge"
        if plan.provenance.is_kept:
            return f"{merge}, which is kept"
        if plan.provenance.is_own:
            return merge
        return "smemreuse's layout" if plan.sharing_pairs() else "no buffers share bytes"

    @property
    def why_no_default(self) -> str:
        """Why the default merge of the compiler makes no layout."""
        if self.apart.scope == DYNAMIC_SCOPE:
            return "none, it does not compile this kernel"
        return "none, it leaves static shared memory as it is"


SHIPS_WITH_HAZARD = (
    "`apply` and builds use it all the same: the kernel has its hazards in every layout, and this "
    "one adds none"
)


def layout_lines(
    subject: Subject, layouts: Layouts, refuted: str = "", *, is_idle: bool = False
) -> Iterator[Text]:
    """The layout that is chosen, its bytes and verdict, and those that it is compared with.

    `refuted` is the hazard of the kernel that refutes what a proof of sharing assumes: of layouts
    that share bytes it is told that they are proved but for that. `is_idle` tells that fewer bytes
    than the default merge's gain nothing else.
    """
    plan, verdict = layouts.shipped
    yield Text(f"{subject.kernel.name} ({subject.scope})", style="bold")
    symbolic = " and those of symbolic size" if plan.symbolic_offsets else ""
    first = f"  chosen: {plan.arena_bytes:,} bytes{symbolic}, {layouts.whose} "
    yield Text(first, style="bold").append_text(_told(plan, verdict, refuted))
    if refuted and verdict.sound and plan.sharing_pairs():
        yield Text(f"  {SHIPS_WITH_HAZARD}")
    name = f"  {layouts.compiler}'s default merge: "
    if layouts.default is None:
        yield Text(f"{name}{layouts.why_no_default}")
    elif not plan.provenance.is_own:
        other, found = layouts.default
        against = _against(other.arena_bytes, plan.arena_bytes)
        if verdict.sound and found.sound and other.arena_bytes == plan.arena_bytes:
            against += ", so neither gains anything"
        against += ", which gains neither a resident block nor L1" if is_idle else ""
        told = _told(other, found, refuted and "as above").append(against)
        yield Text(f"{name}{other.arena_bytes:,} bytes ").append_text(told)
    if plan.sharing_pairs():
        apart = layouts.apart.arena_bytes
        yield Text(f"  buffers side by side: {apart:,} bytes{_against(apart, plan.arena_bytes)}")


def _told(plan: Plan, verdict: Verdict, refuted: str) -> Text:
    """The verdict on a layout, in parentheses."""
    if refuted and verdict.sound and plan.sharing_pairs():
        but = "proved, but for a hazard of the kernel itself"
        return Text("(", style="").append(but, style="yellow").append(f": {refuted})")
    word = kind_text(verdict.verdict)
    return Text("(proved " if verdict.sound else "(", style="").append_text(word).append(")")


def _against(other: int, chosen: int) -> str:
    """How far the chosen layout's bytes are from those of another layout, in percent of these."""
    if other == chosen:
        return "; the same size"
    if not other:
        return ""
    change = 100 * abs(chosen - other) / other
    return f"; chosen: {change:.1f} % {'fewer' if chosen < other else 'more'}"
