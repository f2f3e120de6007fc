"""Apache TVM's merge pass run on described modules, and its layout read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel, unique_names
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.provenance import Provenance
from tests.versions.merges.emit import Emitter

ARENAS = {"shared.dyn": "buf_dyn_shmem", "shared": "buf_shmem"}


@dataclass(frozen=True)
class Merged:
    """One arena: its bytes, and the offsets of the buffers that are accessed at a plain index."""

    arena: int
    offsets: dict[str, int]


def emitted(module: Sequence[Kernel]) -> Any:
    """The module as a function of Apache TVM."""
    bodies = [Emitter(tvm, is_apache=True).launch(kernel) for kernel in module]
    body = bodies[0] if len(bodies) == 1 else tvm.tirx.SeqStmt(bodies)
    return tvm.ir.IRModule({"main": tvm.tirx.PrimFunc([], body)})


def read_text(mod: Any) -> list[Kernel]:
    return list(parse_dump(mod.script(show_meta=False)).kernels)


def merged(mod: Any) -> Any:
    """What the stock pass makes of a module. Raises what the pass raises."""
    with tvm.transform.PassContext(config={"tirx.merge_static_smem": True}):
        return tvm.s_tir.transform.MergeSharedMemoryAllocations()(mod)


def layouts(mod: Any, scope: str) -> list[Merged | None]:
    """The layout of each launch of a merged module; None for a launch without an arena."""
    body = mod["main"].body
    launches = list(body.seq) if type(body).__name__ == "SeqStmt" else [body]
    return [_layout(launch, scope) for launch in launches]


def _layout(launch: Any, scope: str) -> Merged | None:
    arenas: list[int] = []
    offsets: dict[str, int] = {}

    def note(buffer: Any, index: Any) -> None:
        known = type(index).__name__ == "IntImm" and str(buffer.scope()) == scope
        if known and buffer.name not in ARENAS.values():
            bits = int(buffer.dtype.bits) * int(buffer.dtype.lanes)
            offset = int(index.value) * bits // 8
            name = str(buffer.name).removesuffix("_v")
            assert offsets.setdefault(name, offset) == offset

    def visit(node: Any) -> None:
        kind = type(node).__name__
        if kind == "AllocBuffer" and node.buffer.name == ARENAS[scope]:
            arenas.append(int(node.buffer.shape[0]))
        elif kind == "BufferStore":
            note(node.buffer, node.indices[0])
        elif kind == "TensorLoad":
            note(node.source if hasattr(node, "source") else node.buffer, node.indices[0])

    tvm_ffi.structural_walk(launch, visit)
    return Merged(arenas[0], offsets) if arenas else None


@dataclass(frozen=True)
class Planned:
    """Our model of the pass on one kernel."""

    arena: int
    offsets: dict[str, int]
    provenance: Provenance

    @property
    def fails(self) -> bool:
        """Whether the pass would not compile it."""
        return bool(self.provenance.failures)


def planned(kernels: list[Kernel], scope: str) -> Iterator[Planned | None]:
    """Our plan for each kernel; None where there is nothing to merge."""
    for kernel in kernels:
        if len(kernel.allocations(scope)) < 2:
            yield None
            continue
        plan = plan_kernel(kernel, scope, policy="outer", packer="tvm")
        names = unique_names(tuple(plan.buffers))
        offsets = {names[buffer]: offset for buffer, offset in plan.offsets.items()}
        yield Planned(plan.arena_bytes, offsets, plan.provenance)
