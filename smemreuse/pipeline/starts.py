"""Plans before any proof: live ranges and conflicts in, a packed arena out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum

from smemreuse.analysis.alignment import alignments
from smemreuse.analysis.linearize import linearize
from smemreuse.analysis.liveness import live_ranges
from smemreuse.facts import KernelFacts
from smemreuse.ir.access import Access
from smemreuse.ir.expr import Call, Expr, Load, Var, children, constant
from smemreuse.ir.kernel import Bind, Block, Buffer, For, Kernel, While, walk_statements
from smemreuse.pipeline.objectives import rooms, with_least_sharing, with_occupancy
from smemreuse.pipeline.options import PlanOptions, known, policy_names
from smemreuse.policies.attribution import POLICIES
from smemreuse.policies.dataflow import dataflow
from smemreuse.policies.packing import Liveness, Pair, packed
from smemreuse.results.plan import Plan
from smemreuse.results.provenance import Origin, PackerName, PolicyName, Provenance
from smemreuse.results.sequence import Linearization, LiveRange
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.targets.architectures import Architecture
from smemreuse.versions.merges import merge_for


class Start(Enum):
    """The live ranges and conflicts from which a plan is guessed; the checker then proves or
    refutes it.
    """

    DATAFLOW = Origin.POLICY
    """Those of the rules, which hold by themselves."""

    INNER = Origin.INNER_PROVED
    """Inner's ranges alone: what is read before it is written is not seen."""


def attributed_ranges(
    facts: KernelFacts, scope: str, policy: PolicyName, packer: PackerName
) -> Liveness:
    """Live ranges of an attribution rule, or of a compiler where both names stand for one's."""
    kernel = facts.kernel
    stock = merge_for(kernel, policy, packer)
    if stock is not None and not stock.only_whole:
        return stock.liveness(kernel, scope)
    sequence, live = sequence_of(kernel, scope, policy)
    buffers, align = kernel.allocations(scope), alignments(kernel, scope)
    return Liveness(scope, buffers, align, live, sequence.entries)


def ranges_by_the_rules(facts: KernelFacts, scope: str) -> Liveness:
    """Live ranges and conflicts of the dataflow policy."""
    kernel = facts.kernel
    found = dataflow(kernel, scope)
    return Liveness(
        scope,
        kernel.allocations(scope),
        alignments(kernel, scope),
        found.live,
        found.sequence.entries,
        [*found.concurrent],
    )


def ranges_of(facts: KernelFacts, scope: str, start: Start, packer: PackerName) -> Liveness:
    """The live ranges and conflicts from which this kind of start packs its first plan."""
    if start is Start.DATAFLOW:
        return facts.ask(ranges_by_the_rules, scope)
    found = facts.ask(attributed_ranges, scope, "inner", packer)
    return with_conflicting(found, facts.ask(carried_pairs))


def carried_pairs(facts: KernelFacts) -> frozenset[Pair]:
    """Pairs of buffers of which a loop carries one from round to round while it writes the other.

    Inner's live ranges do not show these: the carried buffer is read in every round, and no earlier
    statement of the round writes it.
    """
    found: set[Pair] = set()
    filled = {access.buffer for access in _accesses_in(facts, facts.kernel.body) if _writes(access)}
    for loop in walk_statements(facts.kernel.body):
        if isinstance(loop, (For, While)):
            inside = list(_accesses_in(facts, loop.body))
            written = {access.buffer for access in inside if _writes(access)}
            turning = {stmt.var for stmt in walk_statements(loop.body) if isinstance(stmt, Bind)}
            turning |= {loop.var} if isinstance(loop, For) else set()
            fresh: set[Buffer] = set()
            for access in inside:
                if _writes(access):
                    fresh.add(access.buffer)
                elif access.buffer in filled - fresh and _recurs(access, turning):
                    found |= {frozenset((access.buffer, one)) for one in written - {access.buffer}}
    return frozenset(found)


def _accesses_in(facts: KernelFacts, block: Block) -> Iterator[MemoryAccess]:
    for stmt in walk_statements(block):
        yield from facts.accesses.get(stmt, ())


def _writes(access: MemoryAccess) -> bool:
    return access.access is not Access.READ


def _recurs(access: MemoryAccess, turning: set[Var]) -> bool:
    """Whether an access is to the same bytes in each round of the loops with these variables.

    Bytes that repeat every few rounds count, too: there only remainders of the variables appear.
    """
    pending: list[Expr] = [] if access.footprint.start is None else [access.footprint.start]
    while pending:
        node = pending.pop()
        if isinstance(node, Load) or _is_one_of(node, turning):
            return False
        if not (_is_remainder(node) and _is_one_of(children(node)[0], turning)):
            pending += children(node)
    return True


def _is_one_of(expr: Expr, variables: set[Var]) -> bool:
    return isinstance(expr, Var) and expr in variables


def _is_remainder(expr: Expr) -> bool:
    """Whether it is what a division by a constant leaves."""
    is_modulo = isinstance(expr, Call) and expr.op in ("floormod", "mod")
    return is_modulo and constant(children(expr)[1]) is not None


def least_bytes(facts: KernelFacts, scope: str, start: Start, packer: PackerName) -> int:
    """Bytes below which no plan of this start can be, whatever conflicts are added."""
    return ranges_of(facts, scope, start, packer).problem().lower_bound


def plan_from(
    facts: KernelFacts,
    scope: str,
    start: Start,
    packer: PackerName,
    conflicts: frozenset[Pair],
    hasty: bool = False,
) -> Plan:
    """The smallest arena for the ranges of one start, if no pair of `conflicts` may share bytes;
    `hasty` while a compiler waits."""
    ranges = ranges_of(facts, scope, start, packer)
    made = Provenance("dataflow", packer, "bytes", start.value)
    own = "best in a lowering" if hasty and packer == "best" else None
    return packed(with_conflicting(ranges, conflicts), made, own=own)


def with_conflicting(ranges: Liveness, conflicts: frozenset[Pair]) -> Liveness:
    """The same ranges, with more pairs that must not share."""
    return replace(ranges, concurrent=list(dict.fromkeys((*ranges.concurrent, *conflicts))))


def attributed_plan(
    facts: KernelFacts, scope: str, policy: PolicyName, packer: PackerName, reuse: bool
) -> Plan:
    """The plan of an attribution rule or a compiler's live ranges, as it is, whether
    sound or not.
    """
    ranges = facts.ask(attributed_ranges, scope, policy, packer)
    return packed(ranges, Provenance(policy, packer, "bytes" if reuse else "none"))


def side_by_side(facts: KernelFacts, scope: str, packer: PackerName) -> Plan:
    """The plan that shares nothing, of the buffers that are used."""
    ranges = facts.ask(ranges_by_the_rules, scope)
    return packed(ranges, Provenance("dataflow", packer, "none"))


def wanted_plan(
    facts: KernelFacts, scope: str, options: PlanOptions, arch: Architecture | None
) -> Plan:
    """The plan of an attribution rule, or for objective `none` the one that shares nothing.

    A policy and packer that together name a compiler's own merge get that merge's live ranges, and
    where these allow no other layout its plan, sound or not; the provenance says so.
    """
    policy, packer, objective = options.policy, options.packer, options.objective
    stock = merge_for(facts.kernel, policy, packer)
    if stock is not None and stock.only_whole and objective != "none":
        return stock.plan(facts.kernel, scope).with_provenance(objective=objective)
    if objective == "none" and policy == "dataflow":
        return facts.ask(side_by_side, scope, packer)
    plan = facts.ask(attributed_plan, scope, policy, packer, objective != "none")
    if objective == "speed":
        for room in rooms(facts.kernel, plan, arch)[:1]:
            plan = with_least_sharing(facts.kernel, plan, room)
        plan = with_occupancy(facts.kernel, plan, arch)
    return plan.with_provenance(objective=objective)


def sequence_of(
    kernel: Kernel, scope: str, policy: str
) -> tuple[Linearization, Mapping[Buffer, LiveRange]]:
    """The linear sequence under a policy given by name, and the live ranges on it.

    The dataflow policy's ranges lie on inner's sequence, wider than inner's where a rule asks.
    """
    name = known("policy", policy, policy_names())
    if name == "dataflow":
        found = dataflow(kernel, scope)
        return found.sequence, found.live
    sequence = linearize(kernel, scope, POLICIES[name])
    return sequence, live_ranges(sequence.entries)
