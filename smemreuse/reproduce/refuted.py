"""What refutes a plan, as a hazard that is made to show like any other."""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.kernel import Kernel, Stmt, walk_statements
from smemreuse.ir.labels import label
from smemreuse.results.hazards import Act, Hazard, HazardKind, Mend, Remedy
from smemreuse.results.rules import Rule
from smemreuse.results.sites import Site
from smemreuse.results.verdict import UNSOUND, Verdict, Violation

OF_A_PLAN = "bytes shared by a plan"
"""How the mechanism of such a hazard begins: what kernels themselves do tells nothing of it."""

KINDS = {
    Rule.LOOP_CARRIED: HazardKind.RACE,
    Rule.BARRIER: HazardKind.RACE,
    Rule.IN_FLIGHT: HazardKind.MISSING_WAIT,
    Rule.PROXY: HazardKind.MISSING_FENCE,
}
"""What a broken rule is like, where an execution shows it."""


def hazards_of(verdict: Verdict, kernel: Kernel) -> Iterator[Hazard]:
    """What an unsound plan does to a kernel that is merged by it, with the kernel's statements.

    What no execution shows, as an alignment, is left out, and so is a statement that stands in
    several places.
    """
    if verdict.verdict is UNSOUND:
        for violation in verdict.violations:
            yield from _hazard(violation, kernel)


def _hazard(violation: Violation, kernel: Kernel) -> Iterator[Hazard]:
    acts = violation.acts[-2:]
    if violation.rule not in KINDS or len(acts) < 2:
        return
    sites = [_with_statement(one.site, kernel) for one in acts]
    if None in sites:
        return
    earlier, later = sites
    assert earlier is not None
    assert later is not None
    names = " and ".join(violation.buffers)
    yield Hazard(
        KINDS[violation.rule],
        True,
        later,
        violation.buffers,
        violation.witness,
        Mend(Remedy.CODE, f"keep {names} apart.", earlier, later),
        other=earlier,
        agents=tuple(one.agent for one in acts),
        acts=tuple(Act(one.deed, one.threads) for one in acts),
        mechanism=f"{OF_A_PLAN}, rule {violation.rule}",
    )


def _with_statement(site: Site, kernel: Kernel) -> Site | None:
    found: list[Stmt] = [
        stmt for stmt in walk_statements(kernel.body) if label(stmt) == site.statement
    ]
    return Site.of(found[0], site.loops) if len(found) == 1 else None
