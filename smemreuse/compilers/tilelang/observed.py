"""TileLang's own merge as it was seen to lay a function out, in whatever version it is.

In a lowering the pass itself is at hand: what it does need not be re-enacted, and where a
re-enactment would differ from it, no figure and no verdict is about a layout that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from smemreuse.compilers.functions import DeviceFunction
from smemreuse.compilers.tilelang.visitor import TIR, tirx
from smemreuse.errors import PlanError
from smemreuse.ir.expr import Expr, constant
from smemreuse.ir.kernel import Buffer, Kernel
from smemreuse.policies.packing import Liveness
from smemreuse.results.plan import Plan
from smemreuse.versions.merges import Merge

ADD_OFFSET = f"{TIR}.handle_add_byte_offset"
"""The operator by which a merged buffer is bound to its place in an arena."""


@dataclass(frozen=True)
class Layout:
    """Where the buffers of a function lie after a merge, in bytes, and each one's arena."""

    offsets: Mapping[Buffer, Expr]
    arenas: Mapping[Buffer, Expr]


def layout_of(merged: Any, function: DeviceFunction) -> Layout:
    """The layout that a merge has given a function, `merged`."""
    sizes: dict[Any, Expr] = {}
    offsets: dict[Buffer, Expr] = {}
    arenas: dict[Buffer, Any] = {}
    visitor = function.visitor

    def look(node: Any) -> None:
        if isinstance(node, tirx.AllocBuffer) and len(node.buffer.shape) == 1:
            sizes[node.buffer.data] = visitor.expr(node.buffer.shape[0])
        if isinstance(node, tirx.Bind) and isinstance(node.value, tirx.Call):
            buffer = visitor.allocated.get(node.var)
            if buffer is not None and getattr(node.value.op, "name", None) == ADD_OFFSET:
                arena, offset = node.value.args
                offsets[buffer], arenas[buffer] = visitor.expr(offset), arena

    tirx.stmt_functor.post_order_visit(merged.body, look)
    return Layout(offsets, {buffer: sizes[arena] for buffer, arena in arenas.items()})


@dataclass(frozen=True)
class ObservedMerge(Merge):
    """What TileLang's pass does under the options of a lowering, and did to one function.

    Live ranges and alignments are those that `stock` has for it.
    """

    stock: Merge = field(kw_only=True)
    layout: Layout = field(kw_only=True, compare=False, repr=False)

    @classmethod
    def of(cls, stock: Merge, function: DeviceFunction, merged: Any) -> ObservedMerge:
        """What `stock`, by its options, made of a function: `merged`."""
        layout = layout_of(merged, function)
        return cls(
            *(stock.name, stock.policy, stock.rules, stock.objective), stock=stock, layout=layout
        )

    @property
    def configured(self) -> Merge:
        return self.stock

    def liveness(self, kernel: Kernel, scope: str) -> Liveness:
        return self.stock.liveness(kernel, scope)

    def made(self, kernel: Kernel, scope: str) -> Plan:
        """The plan that was seen. Raises `PlanError` where the pass has no place for a buffer."""
        plan, seen = self.stock.made(kernel, scope), self.layout
        for buffer in (*plan.offsets, *plan.symbolic_offsets):
            if buffer not in seen.offsets:
                raise PlanError(f"{self.name}'s own merge has no place for {buffer.name}")
        offsets = {one: constant(seen.offsets[one]) for one in plan.offsets}
        if offsets == plan.offsets:
            return plan
        placed = {one: offset for one, offset in offsets.items() if offset is not None}
        symbolic = [one for one in seen.offsets if one.scope == scope and one not in placed]
        return replace(
            plan,
            offsets=placed,
            symbolic_offsets={one: seen.offsets[one] for one in symbolic},
            arena_bytes=max(offset + (one.size or 0) for one, offset in placed.items()),
            arena_expr=seen.arenas[symbolic[0]] if symbolic else None,
            proved=False,
        )
