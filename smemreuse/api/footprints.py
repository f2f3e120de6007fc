"""What a block of a kernel takes of shared memory, whatever the kernel is given as."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smemreuse.compilers.text.reader import read_dump
from smemreuse.errors import InputError, PlanError
from smemreuse.explainer.headroom import headroom_of
from smemreuse.explainer.plans import side_by_side
from smemreuse.ir.kernel import Kernel
from smemreuse.pipeline.options import PlanOptions, checked_options
from smemreuse.pipeline.planning import planned
from smemreuse.results.plan import Plan
from smemreuse.targets.architectures import Architecture, architecture
from smemreuse.targets.blocks import block_memory
from smemreuse.versions.merges import merge_of

_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "kb": 1 << 10, "mib": 1 << 20, "mb": 1 << 20}


def bytes_of(amount: int | str) -> int:
    """A number of bytes, also as `"48 KiB"`; KB are 1,024 bytes here, as in CUDA's manuals.

    Raises `InputError` for anything else.
    """
    if isinstance(amount, int) and not isinstance(amount, bool) and amount >= 0:
        return amount
    found = re.fullmatch(r"\s*(\d[\d_,]*)(\.\d+)?\s*([A-Za-z]*)\s*", str(amount))
    if not isinstance(amount, str) or found is None or found[3].lower() not in _UNITS:
        raise InputError(f'{amount!r} is no number of bytes; give one, such as 49152 or "48 KiB"')
    whole = re.sub("[_,]", "", found[1])
    return int(float(whole + (found[2] or "")) * _UNITS[found[3].lower()])


@dataclass(frozen=True)
class Measured:
    """A kernel with the plans of its shared scopes, and the bytes that each of its blocks takes."""

    kernel: Kernel
    plans: tuple[Plan, ...]
    arch: Architecture | None

    @property
    def bytes(self) -> int:
        """All of a block. Raises `PlanError` for a size that only the launch tells."""
        total = block_memory(self.kernel, self.plans).total
        if total is None:
            why = "has a shared buffer whose size is known only at launch; give a constant one"
            raise PlanError(f"{self.kernel.name} {why}")
        return total

    def explained(self) -> Iterator[str]:
        """Where most of them are live and of whom, what stops the next block, what would lower
        them; and what a block takes beside its arenas."""
        from smemreuse.report.headroom import ShippedHeadroom, headroom_lines

        arenas = 0
        merged = {plan.scope: plan for plan in self.plans}
        for scope in self.kernel.shared_scopes():
            plan = merged.get(scope) or side_by_side(self.kernel, scope)
            arenas += plan.arena_bytes
            how = f"policy {plan.policy}" if scope in merged else "not merged"
            yield f"{scope}: {plan.arena_bytes:,} bytes, {how}"
            made = plan.provenance.objective
            found = headroom_of(self.kernel, scope, self.arch, plan=plan)
            least = headroom_of(self.kernel, scope, self.arch) if made == "speed" else found
            both = ShippedHeadroom(found, least, made)
            yield from (line.plain for line in headroom_lines(both))
        if self.bytes > arenas:
            yield f"beside that: {self.bytes - arenas:,} bytes of barriers, static arrays, padding"


def measured(
    subject: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    arch: str | None = None,
    stock: bool = False,
    policy: str = "dataflow",
    objective: str = "speed",
) -> list[Measured]:
    """The kernels of a dump's path, of a `Kernel`, or of what TileLang or Apache TVM can lower.

    `args` and `kwargs` are those of what makes a kernel, such as a `@tilelang.jit` function.
    `stock` takes the compiler's own merge instead of the plan that smemreuse would apply. Raises
    `InputError` for what is none of these, and what reading, lowering and planning raise.
    """
    options = checked_options(policy, "best", objective)
    on = None if arch is None else architecture(arch)
    if isinstance(subject, (str, os.PathLike)):
        kernels: Sequence[Kernel] = read_dump(Path(subject)).kernels
    elif isinstance(subject, Kernel):
        kernels = [subject]
    elif "tilelang" in sys.modules and _makes_kernels(subject):
        return _of_tilelang(subject, tuple(args), kwargs or {}, arch, stock, options)
    else:
        kernels = _of_live(subject)
    if args or kwargs:
        raise InputError(f"a {type(subject).__name__} takes no arguments; only what makes one does")
    if not kernels:
        raise InputError(f"there is no device kernel in {subject}")
    return [_planned(kernel, on, stock, options) for kernel in kernels]


def _planned(
    kernel: Kernel, on: Architecture | None, stock: bool, options: PlanOptions
) -> Measured:
    own = merge_of(kernel)
    plans = tuple(
        own.plan(kernel, scope) if stock else planned(kernel, scope, options, on).plan
        for scope in kernel.shared_scopes()
    )
    return Measured(kernel, plans, on)


def _of_tilelang(
    subject: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    arch: str | None,
    stock: bool,
    options: PlanOptions,
) -> list[Measured]:
    from smemreuse.compilers.tilelang.estimate import LoweringRequest, resolve_place

    place = resolve_place(subject, None, arch)
    found = LoweringRequest(subject, place, options, args, kwargs).lowered()
    return [
        Measured(
            one.kernel,
            tuple(
                one.stock_plan(applied.plan.scope) if stock else applied.plan
                for applied in one.plans
            ),
            place.arch,
        )
        for one in found
    ]


def _makes_kernels(subject: Any) -> bool:
    """Whether it may be a function of TileLang, or what makes one, or was compiled of one."""
    is_module = hasattr(subject, "functions")
    return not is_module and (callable(subject) or hasattr(subject, "attrs"))


def _of_live(subject: Any) -> list[Kernel]:
    """Those of a module, or of a function of Apache TVM, as the merge receives it."""
    if hasattr(subject, "functions") and "tilelang" in sys.modules:
        from smemreuse.compilers.tilelang import visitor

        return visitor.read_module(subject)
    if "tvm" not in sys.modules or not (hasattr(subject, "functions") or hasattr(subject, "attrs")):
        kinds = "a dump's path, a Kernel, or a kernel of TileLang or Apache TVM"
        raise InputError(f"{subject!r} is no kernel; give {kinds}")
    from smemreuse.compilers.tvm.visitor import read_function, read_module

    if hasattr(subject, "functions"):
        return read_module(subject)
    return read_function(str(subject.attrs["global_symbol"]), subject)
