"""What the merge pass of the installed TileLang does, whichever version that is, and what we say.

The pass is run by itself on what its pipeline hands it, which we read as text. Where a merged
buffer is bound to its place in the arena, offsets are read from there; where it is not (before
0.1.10), from what the pass logs.
"""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel, unique_names
from smemreuse.results.plan import Plan
from smemreuse.versions import TILELANG, installed
from smemreuse.versions.merges import configured

Layout = tuple[int, dict[str, int]]
"""The bytes of an arena, and each buffer's offset in it by name."""

SCOPE = "shared.dyn"
VERSION = installed(TILELANG, tilelang.__version__)

MERGES: Mapping[str, Mapping[str, bool]] = {
    "default": {},
    "aggressive": {"enable_aggressive_merge": True},
    "side by side": {"disable_reuse": True},
}
"""The merges by the options of the pass that ask for them."""

_TIR = getattr(tvm, "tirx", None) or tvm.tir
_LOG = "tl.debug_merge_shared_memory_allocations"
_PLANNED = re.compile(r"Buffer: (\S+) start=\d+ end=\d+ alignment=\d+ offset=(\d+)")
_TOTAL = re.compile(r"Total Merged Size \(aligned\): (\d+)")


def merges() -> list[str]:
    """Those that the installed pass has options for."""
    known = inspect.signature(tilelang.transform.MergeSharedMemoryAllocations).parameters
    return [name for name, options in MERGES.items() if known.keys() >= options.keys()]


def before_merge(func: Any, arch: str, config: Mapping[str, object]) -> Any:
    """The module that the merge is handed in the lowering of a function."""
    seen: list[Any] = []
    stock = tilelang.transform.MergeSharedMemoryAllocations

    def watched(*args: Any, **options: Any) -> Callable[[Any], Any]:
        merge = stock(*args, **options)

        def run(mod: Any) -> Any:
            seen.append(mod)
            return merge(mod)

        return run

    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    tilelang.transform.MergeSharedMemoryAllocations = watched
    try:
        with tvm.transform.PassContext(opt_level=3, config=dict(config)), target:
            tilelang.lower(func, target=target)
    finally:
        tilelang.transform.MergeSharedMemoryAllocations = stock
    (mod,) = seen
    return mod


def layouts(mod: Any, arch: str, merge: str) -> dict[str, Layout]:
    """Where one of `merges()` puts the buffers of each kernel, by its name.

    Kernels with less than two buffers are left as they are, and not told of.
    """
    found = {}
    for var, func in mod.functions.items():
        name = str(var.name_hint)
        one = _layout(tvm.IRModule({name: func}), arch, MERGES[merge])
        if one is not None:
            found[name] = one
    return found


def _layout(mod: Any, arch: str, options: Mapping[str, bool]) -> Layout | None:
    logged = not hasattr(_TIR, "Bind")
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    context = tvm.transform.PassContext(opt_level=3, config={_LOG: True} if logged else {})
    with context, target, _standard_error() as text:
        merged = tilelang.transform.MergeSharedMemoryAllocations(**options)(mod)
    if logged:
        total = _TOTAL.search(text[0])
        offsets = {name: int(at) for name, at in _PLANNED.findall(text[0])}
        return None if total is None else (int(total[1]), offsets)
    (func,) = merged.functions.values()
    return _bound(func)


def _bound(func: Any) -> Layout | None:
    """The layout that a merged function binds its buffers to."""
    arenas: list[int] = []
    offsets: dict[str, int] = {}

    def visit(node: Any) -> None:
        if isinstance(node, _TIR.AllocBuffer) and node.buffer.scope() == SCOPE:
            arenas.append(int(node.buffer.shape[0]))
        if isinstance(node, _TIR.Bind) and isinstance(node.value, _TIR.Call):
            if str(node.value.op.name).endswith(".handle_add_byte_offset"):
                offsets[str(node.var.name)] = int(node.value.args[1])

    _TIR.stmt_functor.post_order_visit(func.body, visit)
    return (arenas[0], offsets) if offsets else None


def kernels_of(mod: Any) -> list[Kernel]:
    """The device kernels of a module, of the installed version."""
    return kernels_in(mod.script())


def kernels_in(text: str) -> list[Kernel]:
    """Those of a dump that the installed version wrote."""
    read = parse_dump(text).kernels
    return [Kernel(one.name, one.body, one.attrs, VERSION.key) for one in read]


def our_plan(kernel: Kernel, merge: str) -> Plan:
    """What one of `merges()` makes of a kernel, as we have it."""
    model = configured(
        VERSION, aggressive=merge == "aggressive", disable_reuse=merge == "side by side"
    )
    return model.plan(kernel, SCOPE)


def our_layout(kernel: Kernel, merge: str) -> Layout:
    """The same to be compared with `layouts`."""
    plan = our_plan(kernel, merge)
    names = unique_names(tuple(plan.buffers))
    return plan.arena_bytes, {names[one]: offset for one, offset in plan.offsets.items()}


@contextmanager
def _standard_error() -> Iterator[list[str]]:
    """What is written to the process's standard error meanwhile, by C++ too."""
    text: list[str] = [""]
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield text
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            text[0] = file.read().decode(errors="replace")
