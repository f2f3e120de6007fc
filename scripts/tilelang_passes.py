"""TVMScript through the passes with which TileLang inserts proxy fences and barriers."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import Any

os.environ.setdefault("TILELANG_CACHE_DIR", tempfile.mkdtemp(prefix="passes-"))

from tilelang import tvm
from tvm.script import ir, tirx

from smemreuse.compilers.functions import DeviceFunction
from smemreuse.compilers.tilelang.rewrite import apply_plans
from smemreuse.compilers.tilelang.verify import with_barriers
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.ir.kernel import DYNAMIC_SCOPE, Kernel
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.plan import Plan

ALIGNMENT = 1024
"""Bytes, of the places: swizzled tiles want as much."""

AS_INTRINSICS = ("tvm_storage_sync", "ptx_arrive_barrier")
"""Operations of TVM whose builders take fewer operands than TileLang hands them, or no result."""


class Script:
    """What a dump calls `T`: TileLang's operations, which TVM's parser knows no names of."""

    def __getattr__(self, name: str) -> Any:
        dialect = "tirx" if name in AS_INTRINSICS else "tl"
        try:
            operation = tvm.ir.Op.get(f"{dialect}.{name}")
        except Exception:  # TVM's own error, of whatever type
            return getattr(tirx, name)
        return lambda *operands: tirx.call_intrin("int32", operation, *operands)


def device_function(source: str) -> DeviceFunction:
    """That of a module whose device function is called main. Raises the parser's errors."""
    func = tvm.script.from_source(source, extra_vars={"T": Script(), "I": ir})["main"]
    return DeviceFunction("main", func, TirVisitor())


def apart(kernel: Kernel) -> Plan:
    """A plan that gives every buffer a place of its own."""
    plan = plan_kernel(kernel, DYNAMIC_SCOPE, policy="outer", objective="none")
    places, end = {}, 0
    for buffer in kernel.allocations(DYNAMIC_SCOPE):
        if buffer in plan.offsets:
            places[buffer] = end
            end += -(-(buffer.size or 0) // ALIGNMENT) * ALIGNMENT
    return replace(plan, offsets=places, arena_bytes=end, alignments=dict.fromkeys(places, 1))


def behind(function: DeviceFunction) -> Kernel:
    """The one kernel of a function, merged with every buffer at a place of its own, with the fences
    and barriers that the passes put in. Raises their errors."""
    (kernel,) = function.kernels
    return applied(function, apart(kernel))


def applied(function: DeviceFunction, plan: Plan) -> Kernel:
    """As `behind`, merged under a plan."""
    merged = apply_plans(function.func, function.visitor, [[plan]])
    (found,) = function.visitor.again().kernels("main", with_barriers("main", merged))
    return found
