"""Kernels and plans as Python and notebooks have them: with the verbs as methods, and drawn.

They are those of `ir` and `results`, and may be handed to whatever takes these. Nothing heavy is
imported before a method is called.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from smemreuse.api.named import ByBuffer
from smemreuse.ir import kernel as ir
from smemreuse.results import plan as plans
from smemreuse.results.text import Text

if TYPE_CHECKING:
    from smemreuse.ir.expr import Expr
    from smemreuse.results.explanation import Explanation
    from smemreuse.results.hazards import LintReport
    from smemreuse.results.headroom import Headroom
    from smemreuse.results.sequence import LiveRange
    from smemreuse.results.verdict import Verdict

__all__ = ["Kernel", "Plan", "Text"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kernel(ir.Kernel):
    """One device kernel of a dump.

    k = smemreuse.read("x.tir")[0]
    k.plan().verdict
    k.explain("As", "Cs")
    """

    @staticmethod
    def of(kernel: ir.Kernel) -> Kernel:
        """The same kernel, with what is known of it."""
        if isinstance(kernel, Kernel):
            return kernel
        made = Kernel(kernel.name, kernel.body, kernel.attrs, kernel.dialect)
        made.derived.update(kernel.derived)
        return made

    def plan(self, scope: str | None = None, **options: Any) -> Plan:
        """As `smemreuse.plan`: `policy`, `packer`, `objective`, `arch`, `strict`."""
        from smemreuse.api.functions import plan

        return plan(self, scope, **options)

    def check(self, plan: plans.Plan) -> Verdict:
        """As `smemreuse.check`."""
        from smemreuse.api.functions import check

        return check(self, plan)

    def lint(self, barriers: str = "auto") -> LintReport:
        """As `smemreuse.lint`."""
        from smemreuse.api.functions import lint

        return lint(self, barriers)

    def explain(self, *buffers: str, arch: str | None = None) -> Explanation | Text:
        """Of two buffers, why they may share bytes or not, as `smemreuse.explain`.

        Of none, what the command tells of the whole kernel: where most bytes are live and of
        whom, what stops the next resident block on `arch`, and the cheapest changes.
        """
        from smemreuse.api.functions import explain, told
        from smemreuse.errors import InputError

        if not buffers:
            return Text(told(self, arch))
        if len(buffers) != 2:
            raise InputError(f"give two buffers, or none, not {len(buffers)}")
        return explain(self, *buffers)

    def headroom(self, scope: str | None = None, arch: str | None = None) -> Headroom:
        """What the bytes of the smallest plan hang on, as data."""
        from smemreuse.api.functions import headroom

        return headroom(self, scope, arch)

    def _repr_html_(self) -> str | None:
        """The memory maps of the plans that would be applied, one for each shared scope."""
        from smemreuse.api.drawing import drawn

        maps = [drawn(self, self.plan(scope)) for scope in self.shared_scopes()]
        return None if None in maps or not maps else "".join(filter(None, maps))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Plan(plans.Plan):
    """Where the buffers of one kernel and storage scope lie.

    `offsets`, `alignments` and `live` answer to a buffer's name as well: `plan.offsets["As"]`.
    """

    offsets: ByBuffer[int]
    alignments: ByBuffer[int]
    live: ByBuffer[LiveRange]
    symbolic_offsets: ByBuffer[Expr]
    kernel: ir.Kernel = field(default=cast(ir.Kernel, None), repr=False, compare=False)

    @staticmethod
    def of(kernel: ir.Kernel, plan: plans.Plan) -> Plan:
        """The same plan, with the kernel that it is of."""
        known = {each.name: getattr(plan, each.name) for each in fields(plans.Plan)}
        buffers = tuple(plan.buffers)
        for name in ("offsets", "alignments", "live", "symbolic_offsets"):
            known[name] = ByBuffer(known[name], buffers)
        return Plan(**known, kernel=kernel)

    @property
    def verdict(self) -> Verdict:
        """The checker's, on the plan as it would be applied. It is reached once."""
        from smemreuse.pipeline.judging import judge

        return judge(self.kernel, self)

    @property
    def size(self) -> int:
        """Bytes of the arena; of its constant part where some buffer's size is symbolic."""
        return self.arena_bytes

    def _repr_html_(self) -> str | None:
        """The memory map: program order across, bytes upwards."""
        from smemreuse.api.drawing import drawn

        return drawn(self.kernel, self)
