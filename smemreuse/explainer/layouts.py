"""Plans by the names of their buffers, so that those of two states of a program can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from smemreuse.analysis.stages import stages_of
from smemreuse.explainer.pairs import explainer_of, where
from smemreuse.facts import facts_of
from smemreuse.ir.kernel import Buffer, Kernel, unique_names
from smemreuse.results.difference import NamedLayout
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture
from smemreuse.targets.residents import residents_of


def layout_of(
    file: str, kernel: Kernel, plan: Plan, arch: Architecture | None = None
) -> NamedLayout:
    """One plan by names."""
    names = unique_names(tuple(plan.buffers))
    placed = [buffer for buffer in plan.buffers if buffer in plan.offsets]
    by_name = {names[buffer]: buffer for buffer in placed}
    explainer = explainer_of(kernel, plan.scope)

    def why(one: str, two: str) -> str:
        found = explainer.pair((by_name[one], by_name[two]))
        if found.may_share:
            return "the plan keeps them apart, though the two by themselves may share"
        return found.causes[0].text if found.causes else found.forbidden_by

    def ends(buffer: Buffer) -> tuple[str, str]:
        live = plan.live[buffer]
        first, last = plan.entries[live.gen].stmt, plan.entries[live.kill].stmt
        return where(first), where(last)

    by_all = residents_of(kernel, [plan], arch)
    return NamedLayout(
        file,
        kernel.name,
        plan.scope,
        sizes={name: buffer.size or 0 for name, buffer in by_name.items()},
        alignments={name: plan.alignments[buffer] for name, buffer in by_name.items()},
        offsets={name: plan.offsets[buffer] for name, buffer in by_name.items()},
        arena=plan.arena_bytes,
        live={
            name: (plan.live[buffer].begin, plan.live[buffer].end)
            for name, buffer in by_name.items()
        },
        conflicts=frozenset(
            frozenset(names[one] for one in pair) for pair in plan.concurrent if pair <= {*placed}
        ),
        ends={name: ends(buffer) for name, buffer in by_name.items()},
        touches={name: _touches(kernel, buffer) for name, buffer in by_name.items()},
        stages={
            names[buffer]: one.count
            for buffer, one in facts_of(kernel).ask(stages_of).items()
            if buffer in plan.offsets
        },
        why=why,
        residents=residents_of(kernel, [plan], arch, by_registers=False),
        registers=None if by_all is None else by_all.registers,
        objective=plan.objective,
        symbolic="" if plan.arena_expr is None else plan.arena_text,
    )


def _touches(kernel: Kernel, buffer: Buffer) -> Hashable:
    """A buffer's dtype, and how often each engine reads and writes it."""
    found = Counter(
        (access.access.value, str(access.engine))
        for accesses in facts_of(kernel).accesses.values()
        for access in accesses
        if access.buffer is buffer
    )
    return buffer.dtype, tuple(sorted(found.items()))
