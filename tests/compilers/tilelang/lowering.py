"""Lowering with a look inside: the module that the merge is given and the one that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import tilelang
from tilelang import tvm

from tests.compilers.tilelang.conftest import Case


@dataclass(frozen=True)
class Lowered:
    """The module before and after the merge, and what the whole lowering made of it."""

    before: Any
    after: Any
    artifact: Any


def lower(
    func: Any, arch: str, pass_configs: Mapping[str, object] | None = None, **stock_options: bool
) -> Lowered:
    """Lowers under whatever merge is active; `stock_options` are imposed on the merge pass."""
    seen: list[Any] = []
    installed = tilelang.transform.MergeSharedMemoryAllocations

    def watched(**options: bool) -> Callable[[Any], Any]:
        merge = installed(**{**options, **stock_options})

        def run(mod: Any) -> Any:
            seen.append(tvm.IRModule(dict(mod.functions.items())))
            seen.append(merge(mod))
            return seen[-1]

        return run

    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    config = dict(pass_configs or {})
    tilelang.transform.MergeSharedMemoryAllocations = watched
    try:
        with tvm.transform.PassContext(opt_level=3, config=config), target:
            artifact = tilelang.lower(func, target=target)
    finally:
        tilelang.transform.MergeSharedMemoryAllocations = installed
    before, after = seen
    return Lowered(before, after, artifact)


@cache
def before_merge(case: Case) -> Any:
    """The module of a fixture that the merge is given, lowered once in a process."""
    return lower(case.func, case.arch, case.pass_configs).before


def stock_merge(case: Case, *, aggressive: bool = False) -> Any:
    """What TileLang's own merge makes of it, by default or with its aggressive option."""
    merge = tilelang.transform.MergeSharedMemoryAllocations(enable_aggressive_merge=aggressive)
    with tvm.transform.PassContext(opt_level=3, config=dict(case.pass_configs)):
        return merge(before_merge(case))


def arena_of(mod: Any, scope: str = "shared.dyn") -> dict[str, tuple[int, dict[str, int]]]:
    """For each kernel of a merged module: the arena's bytes and every buffer's offset in it."""
    found = {}
    for var, func in mod.functions.items():
        arenas: list[int] = []
        offsets: dict[str, int] = {}

        def visit(node: Any, arenas: list[int] = arenas, offsets: dict[str, int] = offsets) -> None:
            if isinstance(node, tvm.tirx.AllocBuffer) and node.buffer.scope() == scope:
                arenas.append(int(node.buffer.shape[0]))
            if isinstance(node, tvm.tirx.Bind) and isinstance(node.value, tvm.tirx.Call):
                if node.value.op.name == "tirx.handle_add_byte_offset":
                    offsets[str(node.var.name)] = int(node.value.args[1])

        tvm.tirx.stmt_functor.post_order_visit(func.body, visit)
        if arenas:
            (arena,) = arenas
            found[str(var.name_hint)] = (arena, offsets)
    return found
