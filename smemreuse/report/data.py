"""Findings as plain JSON-ready data: the command line's machine contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from smemreuse.ir.expr import format_expr
from smemreuse.ir.kernel import SHARED_SCOPES, Buffer, Kernel, unique_names
from smemreuse.ir.labels import label, node_name
from smemreuse.report.provenance import notes
from smemreuse.report.residents import PlanBlocks, beside, residents_data
from smemreuse.results.plan import Plan
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.results.serialized import picked
from smemreuse.results.sites import Site
from smemreuse.results.verdict import Judged, Verdict, Violation
from smemreuse.targets.architectures import Architecture, architecture_for
from smemreuse.versions import version_of

Data = dict[str, object]


@dataclass(frozen=True)
class Subject:
    """One kernel and storage scope of one file: what every listing has an entry for.

    `source` is the file's text, where it was a dump.
    """

    file: str
    kernel: Kernel
    scope: str
    source: str = field(default="", repr=False, compare=False)

    @property
    def has_buffers(self) -> bool:
        return bool(self.kernel.allocations(self.scope))


def subjects(file: str, kernels: Sequence[Kernel], source: str = "") -> list[Subject]:
    """An entry for each kernel and shared scope; a kernel without shared buffers has one too."""
    return [
        Subject(file, kernel, scope, source)
        for kernel in kernels
        for scope in kernel.shared_scopes() or SHARED_SCOPES[-1:]
    ]


def buffers_data(plan: Plan) -> list[Data]:
    names = unique_names(tuple(plan.buffers))
    return [
        {
            "name": names[buffer],
            "bytes": buffer.size,
            "alignment": plan.alignments[buffer],
            **({"size": format_expr(buffer.size_expr)} if buffer.size is None else {}),
            **({"line": buffer.line} if buffer.line else {}),
        }
        for buffer in plan.buffers
    ]


def kept_apart(kernel: Kernel) -> list[Data]:
    """Shared memory that is never merged: barriers and tensor memory (rule 8)."""
    return [
        picked(buffer, "name scope bytes=size")
        for buffer in kernel.allocations()
        if buffer.scope.startswith("shared") and buffer.scope not in SHARED_SCOPES
    ]


def placement_data(plan: Plan) -> Data:
    """Arena, bound and offsets of a plan; a symbolic offset or arena is an expression's text."""
    names = unique_names(tuple(plan.buffers))
    offsets: Data = {names[buffer]: offset for buffer, offset in plan.offsets.items()}
    for buffer, expr in plan.symbolic_offsets.items():
        offsets[names[buffer]] = format_expr(expr)
    return {
        **picked(plan, "arena_bytes lower_bound_bytes optimal"),
        "offsets": offsets,
        **arena_data(plan),
    }


def lifetimes_data(plan: Plan) -> Data:
    """Live ranges as half-open positions, and the pairs that must not share though these do not
    overlap."""
    names = unique_names(tuple(plan.buffers))
    conflicts = [
        [names[buffer] for buffer in plan.buffers if buffer in pair]
        for pair in plan.concurrent
        if pair <= names.keys()  # it has those with locals, too
    ]
    return {
        "live": {names[buffer]: [one.begin, one.end] for buffer, one in plan.live.items()},
        "apart": sorted(conflicts),
    }


def arena_data(plan: Plan) -> Data:
    """The whole arena where its size is symbolic; `arena_bytes` is then its constant part."""
    return {} if plan.arena_expr is None else {"arena": format_expr(plan.arena_expr)}


def gap_text(plan: Plan) -> str:
    """The arena over the lower bound, rounded up: 1.000 is exactly that; `-` without a bound."""
    return gap_of(plan.arena_bytes, plan.lower_bound_bytes)


def gap_of(arena: int, bound: int) -> str:
    """As `gap_text`, computed from an arena and a lower bound in bytes."""
    if not bound:
        return "-"
    thousandths = -(-1000 * arena // bound)
    return f"{thousandths // 1000:,}.{thousandths % 1000:03}"


def verdict_data(verdict: Verdict) -> Data:
    """The part of the machine contract that every verb with a verdict shares."""
    return {
        **picked(verdict, "sound verdict"),
        "violations": [*map(_violation_data, verdict.violations)],
        **picked(verdict, "uncovered assumptions"),
    }


def _violation_data(violation: Violation) -> Data:
    acts = [{**picked(one, "agent deed"), "site": site_data(one.site)} for one in violation.acts]
    return {**picked(violation, "rule buffers witness"), "acts": acts}


def site_data(site: Site | None) -> Data | None:
    """A statement, by its text and line."""
    if site is None:
        return None
    return {**picked(site, "statement line source"), "loops": dict(site.loops)}


def compare_entry(
    subject: Subject,
    judged: Sequence[Judged],
    hoped: Judged | None = None,
    arch: Architecture | None = None,
) -> Data:
    """One kernel of `smemreuse.compare/1`: the same buffers under several policies.

    `hoped` is a plan smaller than that of policy `dataflow`, neither proved nor refuted.
    `blocks_per_sm` are by shared memory, threads and barriers alone; `residents` count registers,
    too. They and the limit of a block are for `arch`, by default what the kernel says that it is
    for.
    """
    some_plan, _ = judged[0]
    arch, assumed = architecture_for(subject.kernel, arch)
    policies = {plan.policy: _policy_data(subject, plan, verdict, arch) for plan, verdict in judged}
    policies["dataflow"]["hoped"] = hoped_data(hoped)
    return {
        **heading(subject),
        "buffers": buffers_data(some_plan),
        "total_bytes": some_plan.total_bytes,
        "arch": arch.name,
        "arch_assumed": assumed,
        "limit_bytes": arch.per_block,
        "beside_bytes": beside(subject.kernel, some_plan),
        "kept_apart": kept_apart(subject.kernel),
        "policies": policies,
    }


def _policy_data(subject: Subject, plan: Plan, verdict: Verdict, arch: Architecture) -> Data:
    blocks = PlanBlocks.of(subject.kernel, plan, arch)
    return {
        **placement_data(plan),
        **lifetimes_data(plan),
        "blocks_per_sm": blocks.by_memory,
        "residents": residents_data(blocks.residents),
        "fits": blocks.fits,
        **verdict_data(verdict),
        "kept": plan.provenance.is_kept,
        "notes": list(notes(plan.provenance)),
    }


def hoped_data(hoped: Judged | None) -> Data | None:
    """A plan that is smaller than the one that would be applied, and why it is not."""
    if hoped is None:
        return None
    plan, verdict = hoped
    return {**picked(plan, "arena_bytes"), **picked(verdict, "verdict reason=first_finding")}


def plan_entry(subject: Subject, plan: Plan, hoped: Judged | None = None) -> Data:
    """One kernel of `smemreuse.plan/1`; `hoped` is a smaller plan that is not proved."""
    return {
        **heading(subject),
        **picked(plan, "policy packer objective"),
        "buffers": buffers_data(plan),
        **placement_data(plan),
        **lifetimes_data(plan),
        "kept": plan.provenance.is_kept,
        "hoped": hoped_data(hoped),
        "notes": list(notes(plan.provenance)),
    }


def analyze_entry(
    subject: Subject, policy: str, sequence: Linearization, ranges: Mapping[Buffer, LiveRange]
) -> Data:
    """One kernel of `smemreuse.analyze/1`."""
    names = unique_names(subject.kernel.allocations(subject.scope))
    return {
        **heading(subject),
        "policy": policy,
        "sequence": [
            {
                "stmt": node_name(entry.stmt),
                "label": label(entry.stmt),
                "scope_pair_offset": entry.scope_pair_offset,
                "touched": [names[touch.buffer] for touch in entry.touched],
                **({"line": entry.stmt.line} if entry.stmt.line else {}),
            }
            for entry in sequence.entries
        ],
        "alloc_level": {names[buffer]: level for buffer, level in sequence.alloc_level.items()},
        "gen": {names[buffer]: live.gen for buffer, live in ranges.items()},
        "kill": {names[buffer]: live.kill for buffer, live in ranges.items()},
        "live": {names[buffer]: [live.begin, live.end] for buffer, live in ranges.items()},
    }


def heading(subject: Subject) -> Data:
    """Which kernel and scope of which file it is, and what it is written in."""
    return {**place_data(subject), "dialect": version_of(subject.kernel).dialect}


def place_data(subject: Subject) -> Data:
    """Which kernel and scope of which file it is."""
    return picked(subject, "file name=kernel.name scope")
