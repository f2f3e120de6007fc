"""Compiles one configuration, and tells what is known of its kernels before any launch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scripts.nvcc import resources, watched
from scripts.results import first_line

LOWERING_FAILED = "lowering failed"
NVCC_FAILED = "nvcc failed"
COMPILED = "compiled"
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass
class Compiled:
    """A compiled kernel, None where there is none, and what is to be written down of it."""

    kernel: Any = None
    found: dict[str, Any] = field(default_factory=dict)


def compiled(
    space: Any, arguments: dict[str, int], arch: str, options: Mapping[str, Any] = NO_OPTIONS
) -> Compiled:
    """A configuration under `smemreuse.tilelang.merge` with these options; what goes wrong is
    written down."""
    import tilelang

    import smemreuse.tilelang

    begin = time.monotonic()
    kernel, error = None, None
    with smemreuse.tilelang.merge(**options) as session, watched() as nvcc:
        try:
            func = space.make(**arguments)
            target = {"kind": "cuda", "arch": arch}
            kernel = tilelang.compile(func, target=target, pass_configs=dict(space.pass_configs))
        except Exception as problem:  # a compiler's failure is a finding
            error = first_line(problem)
    status = COMPILED
    if error is not None:
        # Whatever is wrong behind nvcc is the launcher's affair, and as good as a refusal by it.
        status = NVCC_FAILED if nvcc.failed or nvcc.binary else LOWERING_FAILED
    found: dict[str, Any] = {"status": status}
    if error is not None:
        found["error"] = error
    found |= {"kernels": [], "registers": None, "frame": None}
    for name, outcomes in (("fitting", session.fittings), ("speedup", session.speedups)):
        if outcomes:
            found[name] = levers_data(outcomes[-1])
    if status != LOWERING_FAILED:
        found["kernels"] = [described(lowered) for lowered in session.kernels]
        if session.left:
            found["left"] = [left.reason for left in session.left]
    if nvcc.binary:
        found["registers"], found["frame"] = resources(nvcc.binary) or (None, None)
    found["nvcc_seconds"] = round(nvcc.seconds, 2)
    found["other_seconds"] = round(time.monotonic() - begin - nvcc.seconds, 2)
    return Compiled(kernel, found)


def described(lowered: Any) -> dict[str, Any]:
    """What a kernel asks of the GPU; bytes before are those under TileLang's own merge."""
    from smemreuse.targets.blocks import block_memory

    footprint = lowered.footprint()
    memory = block_memory(lowered.kernel, [applied.plan for applied in lowered.plans])
    return {
        "name": footprint.name,
        "dynamic_bytes": memory.dynamic,
        "static_bytes": memory.static,
        "bytes": footprint.bytes_after,
        "bytes_before": footprint.bytes_before,
        "fits": footprint.fits,
        "threads": footprint.threads,
        "grid": grid_of(lowered.kernel),
        "registers": footprint.registers,
        "blocks": footprint.blocks_after,
        "verdicts": [applied.verdict.verdict for applied in lowered.plans],
    }


def levers_data(found: Any) -> dict[str, Any]:
    """What was done that a function fits, or for speed, and what the model said of that."""
    from smemreuse.results.fitting import Fitting

    about = {
        "before": found.before,
        "after": found.after,
        "steps": [str(one.lever.sentence) for one in found.steps],
        "why": found.why,
    }
    if isinstance(found, Fitting):
        slowdown = found.slowdown and round(found.slowdown, 3)
        return {**about, "fits": found.fits, "slowdown": slowdown}
    return {**about, "blocks": list(found.blocks), "said": found.gain and round(found.gain, 3)}


def outcome_of(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """What came of a tile's levers; nothing where none were asked for."""
    return run.get("fitting") or run.get("speedup") or {}


def grid_of(kernel: Any) -> list[int] | None:
    """The blocks along x, y and z; None where that is not constant."""
    from smemreuse.ir.expr import constant
    from smemreuse.ir.launch import launches, tag_of

    extents = {tag_of(launch): constant(launch.value) for launch in launches(kernel.body)}
    found = [extents.get(f"blockIdx.{axis}", 1) for axis in "xyz"]
    return [extent for extent in found if extent is not None] if None not in found else None
