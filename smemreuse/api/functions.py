"""What is asked of kernels and plans: functions of `import smemreuse` that do what verbs do."""

from __future__ import annotations

from smemreuse.audit import BarrierStage
from smemreuse.errors import InputError, PlanError
from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.pairs import explained_pairs
from smemreuse.ir import kernel as ir
from smemreuse.ir.kernel import SHARED_SCOPES, unique_names
from smemreuse.linter import lint as lint_kernel
from smemreuse.pipeline.judging import judge
from smemreuse.results import plan as plans
from smemreuse.results.explanation import Explanation
from smemreuse.results.hazards import LintReport
from smemreuse.results.headroom import Headroom
from smemreuse.results.verdict import Verdict
from smemreuse.targets.architectures import architecture


def only_scope(kernel: ir.Kernel) -> str:
    """The shared scope of a kernel. Raises `PlanError` where it has buffers in several."""
    scopes = kernel.shared_scopes()
    if len(scopes) > 1:
        raise PlanError(f"{kernel.name} has buffers in {' and '.join(scopes)}; give one of them")
    return scopes[0] if scopes else SHARED_SCOPES[-1]


def check(kernel: ir.Kernel, plan: plans.Plan) -> Verdict:
    """Whether a plan is sound for the kernel that it was made for.

    It is judged as it would be applied: with the barriers that the compiler's later passes insert
    at the reuse, as TileLang's do, or that come with the plan, as in Apache TVM. Raises `PlanError`
    for a plan of another kernel.
    """
    if tuple(plan.buffers) != kernel.allocations(plan.scope):
        raise PlanError(f"the plan is not one of {kernel.name}; plan the kernel that is checked")
    return judge(kernel, plan)


def lint(kernel: ir.Kernel, barriers: str = "auto") -> LintReport:
    """The hazards of the kernel itself, whatever is merged in it.

    `barriers` says whether the kernel has all its barriers and fences (`present`), or a later pass
    inserts them (`later`), which are not missed then; `auto` looks for them. `clean` is proved, on
    the assumptions that the report has. Raises `PlanError` for another word.
    """
    if barriers not in {stage.value for stage in BarrierStage}:
        raise PlanError(f"barriers are present, later or auto, not {barriers!r}")
    return lint_kernel(kernel, BarrierStage(barriers))


def explain(kernel: ir.Kernel, one: str, two: str) -> Explanation:
    """Why two buffers may share bytes, or which rule and which statements forbid it.

    Names are those of the dump; the second buffer of a name is `name#1`, and so on. Raises
    `InputError` for a name that no shared buffer has, and for two that are not of one scope.
    """
    if one == two:
        raise InputError(f"{one} always shares its bytes with itself; give two buffers")
    for scope in kernel.shared_scopes():
        found = explained_pairs(kernel, scope, (one, two))
        if found is not None:
            return found[0]
    there = {
        name: scope
        for scope in kernel.shared_scopes()
        for name in unique_names(kernel.allocations(scope)).values()
    }
    absent = [name for name in (one, two) if name not in there]
    if not absent:
        raise InputError(f"{one} is in scope {there[one]} and {two} in {there[two]}")
    choices = f"the shared buffers are {', '.join(there)}" if there else "it has no shared buffers"
    raise InputError(f"{kernel.name} has no buffer {' and no buffer '.join(absent)}; {choices}")


def headroom(kernel: ir.Kernel, scope: str | None = None, arch: str | None = None) -> Headroom:
    """What the bytes of a kernel's smallest plan hang on: the peak, the next block, changes."""
    made_for = None if arch is None else architecture(arch)
    return headroom_of(kernel, only_scope(kernel) if scope is None else scope, made_for)


def described(kernel: ir.Kernel, arch: str | None = None) -> str:
    """What `smemreuse explain` has on top, of every shared scope."""
    from smemreuse.report.headroom import ShippedHeadroom, headroom_lines

    lines = []
    for scope in kernel.shared_scopes():
        found = headroom(kernel, scope, arch)
        lines.append(f"{kernel.name} ({scope}), smallest arena: {found.arena_bytes:,} bytes")
        lines += [line.plain for line in headroom_lines(ShippedHeadroom(found, found))]
    return "\n".join(lines) or f"{kernel.name} has no shared buffers"
