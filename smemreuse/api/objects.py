"""Kernels and plans as Python and notebooks have them: read, planned, with the verbs as methods.

They are those of `ir` and `results`, and may be handed to whatever takes these. Nothing heavy is
imported before a method is called.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
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

__all__ = ["Kernel", "Plan", "Text", "plan", "read"]


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
        made = Kernel(kernel.name, kernel.body, kernel.attrs, kernel.version)
        made.memo.learn(kernel.memo)
        return made

    def plan(self, scope: str | None = None, **options: Any) -> Plan:
        """As `smemreuse.plan`: `policy`, `packer`, `objective`, `arch`, `strict`."""
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
        from smemreuse.api.functions import described, explain
        from smemreuse.errors import InputError

        if not buffers:
            return Text(described(self, arch))
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


def read(path: Path | str) -> list[Kernel]:
    """The device kernels of a dump file, in order; host functions are none.

    The file holds TVMScript as `print(mod.script())` writes it, of TileLang or of any TVM, or a
    part of it without a function's header. It is read as data: nothing in it is executed, and no
    compiler is needed. Raises `InputError`, which names the file and, where known, the line.
    """
    from smemreuse.compilers.text.reader import read_dump

    return [Kernel.of(one) for one in read_dump(path).kernels]


def plan(
    kernel: ir.Kernel,
    scope: str | None = None,
    *,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "speed",
    arch: str | None = None,
    strict: bool = False,
) -> Plan:
    """Plans the merged allocation of one storage scope; by default of the only shared one.

    - `policy`: `dataflow` is what would be applied: proved, or the compiler's own layout where
      that is smaller and not refuted, as its provenance says. `outer` and `inner` are the rules
      that compilers use, exactly, and their plans are nothing without the verdict of `check`.
    - `packer`: `best` is the smallest arena that is found. `tilelang` and `tvm` pack as those
      compilers' passes do.
    - `objective`: `speed`, as the passes plan, for the most blocks on an SM of `arch`, such as
      `sm_90`, by default what the kernel was lowered for, then the most L1, then as little sharing
      as these allow. `bytes` for the smallest arena. `none` for buffers side by side.
    - `strict`: share nothing that is not proved, not even what the compiler itself shares.

    Raises `PlanError` for an option that is not known, and where `scope` has to choose one of two.
    """
    from smemreuse.api.functions import only_scope
    from smemreuse.pipeline.planning import plan_kernel
    from smemreuse.targets.architectures import architecture

    made_for = None if arch is None else architecture(arch)
    made = plan_kernel(
        kernel,
        only_scope(kernel) if scope is None else scope,
        policy=policy,
        packer=packer,
        objective=objective,
        arch=made_for,
        strict=strict,
    )
    return Plan.of(kernel, made)
