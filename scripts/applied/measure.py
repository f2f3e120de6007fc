"""Lowers one collected function by TileLang alone and with smemreuse, and tells what came of it."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tilelang import tvm
from tilelang.backend.module import create_backend_context
from tilelang.engine.lower import lower_to_host_device_ir
from tilelang.transform.pass_config import normalize_pass_configs

import smemreuse.tilelang
from scripts.applied.stored import function_of
from smemreuse.pipeline.lowered import AppliedPlan, LoweredKernel
from smemreuse.results.verdict import UNSOUND, Verdict
from smemreuse.targets.architectures import Architecture, architecture
from smemreuse.targets.blocks import BlockMemory, block_memory
from smemreuse.versions import version_of
from smemreuse.versions.merges import Merge, configured

AGGRESSIVE = "tl.enable_aggressive_shared_memory_merge"


class Function:
    """A collected function, and the ways to lower it."""

    def __init__(self, path: Path):
        record = json.loads(path.read_text())
        self.name = str(record["name"])
        self.arch = path.parent.name
        self.func = function_of(record["tir"])
        own = dict(self.func.attrs.get("tilelang_pass_configs", {})) if self.func.attrs else {}
        self.configs = {**own, **record["pass_configs"]}
        self.target = tvm.target.Target({"kind": "cuda", "arch": self.arch})

    def lower(self, **configs: Any) -> Any:
        """The device module before code generation, under whatever merge is in force."""
        config = normalize_pass_configs({**self.configs, **configs})
        with self.target, tvm.transform.PassContext(opt_level=3, config=config):
            return lower_to_host_device_ir(self.func, create_backend_context(self.target))


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    """What `run` returns, and the CPU seconds that it took."""
    begin = time.process_time()
    made = run()
    return made, round(time.process_time() - begin, 4)


def warmed_up() -> None:
    """Imports all that a lowering imports, and sets smemreuse's hooks."""
    import tilelang.language as T

    @T.prim_func  # type: ignore[untyped-decorator]
    def copy(A: T.Tensor((128, 128), "float16"), B: T.Tensor((128, 128), "float16")):  # type: ignore
        with T.Kernel(1, threads=128) as _:
            first = T.alloc_shared((128, 128), "float16")
            second = T.alloc_shared((128, 128), "float16")
            T.copy(A, first)
            T.copy(first, second)
            T.copy(second, B)

    for arch in ("sm_80", "sm_90a"):
        smemreuse.tilelang.footprint(copy, arch=arch)


def measured(
    path: Path, objectives: Mapping[str, str], *, audit: bool, rough: bool = False
) -> dict[str, Any]:
    """What TileLang alone and smemreuse, for each objective, make of a function.

    It is lowered once before anything is timed, unless `rough` times will do. Of a lowering with
    smemreuse it is told what that has added: the difference of two lowerings is mostly noise.
    """
    function = Function(path)
    named = {"name": function.name, "arch": function.arch}
    try:
        alone = [seconds(function.lower)[1]]
    except Exception as error:
        return {**named, "not_lowered": _line(error)}
    if not rough:
        alone = [seconds(function.lower)[1]]
    sessions: dict[str, Any] = {}
    taken: dict[str, float] = {}
    said: dict[str, list[str]] = {}
    for label, objective in objectives.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with smemreuse.tilelang.merge(objective=objective) as session:
                function.lower()
                taken[label] = round(session.seconds, 4)
        sessions[label] = session
        told = [str(each.message)[:400] for each in caught if "smemreuse" in str(each.message)]
        said[label] = told + [each.reason[:400] for each in session.left]
    if not rough:
        alone.append(seconds(function.lower)[1])
    arch = architecture(function.arch)
    launches = [
        _launch({label: one.kernels[number] for label, one in sessions.items()}, arch, audit)
        for number in range(max(len(one.kernels) for one in sessions.values()))
        if all(number < len(one.kernels) for one in sessions.values())
    ]
    if audit:
        _audit_aggressive(function, launches)
    result: dict[str, Any] = {
        **named,
        "launches": launches,
        "seconds": {"stock": min(alone), "added": taken},
    }
    return {**result, **({"said": said} if any(said.values()) else {})}


def _audit_aggressive(function: Function, launches: list[dict[str, Any]]) -> None:
    with smemreuse.tilelang.merge() as session:
        function.lower(**{AGGRESSIVE: True})
    by_name = {lowered.kernel.name: lowered for lowered in session.kernels}
    for launch in launches:
        lowered = by_name.get(launch["kernel"])
        launch["aggressive"]["verdict"] = _stock_verdict(lowered) if lowered else []


def _line(error: Exception) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1].strip() if lines else ''}"[:400]


def _launch(
    lowered: Mapping[str, LoweredKernel], arch: Architecture, audit: bool
) -> dict[str, Any]:
    """One launched kernel: what its blocks take under TileLang's merges and under smemreuse's."""
    first = next(iter(lowered.values()))
    version = version_of(first.kernel)
    found = first.footprint(arch)
    default: dict[str, Any] = {"bytes": found.bytes_before, "blocks": found.blocks_before}
    launch: dict[str, Any] = {
        "kernel": found.name,
        "threads": found.threads,
        "limit": found.limit,
        "default": default,
        "aggressive": _under(configured(version, aggressive=True), first, arch),
        "side_by_side": _under(configured(version, disable_reuse=True), first, arch),
    }
    for label, each in lowered.items():
        after = each.footprint(arch)
        launch[label] = {
            "bytes": after.bytes_after,
            "blocks": after.blocks_after,
            "plans": [_applied(plan) for plan in each.plans],
        }
        worse = _more(after.bytes_after, found.bytes_before) or _more(
            found.blocks_before, after.blocks_after
        )
        if (audit or worse) and "verdict" not in default:
            default["verdict"] = _stock_verdict(each)
    return launch


def _more(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other


def _under(stock: Merge, lowered: LoweredKernel, arch: Architecture) -> dict[str, Any]:
    """What a block takes under a merge of TileLang's, which is not judged."""
    kernel = lowered.kernel
    plans = [stock.plan(kernel, applied.plan.scope) for applied in lowered.plans]
    memory: BlockMemory = block_memory(kernel, plans)
    return {"bytes": memory.total}


def _applied(applied: AppliedPlan) -> dict[str, Any]:
    plan = applied.plan
    told = {
        "scope": plan.scope,
        "arena": plan.arena_bytes,
        "verdict": str(applied.verdict.verdict),
        "origin": plan.provenance.origin.value,
    }
    rejected = [
        {
            "arena": other.arena_bytes,
            "origin": other.provenance.origin.value,
            "verdict": str(verdict.verdict),
            "why": verdict.first_finding[:300],
        }
        for other, verdict in applied.rejected
    ]
    return {**told, **({"rejected": rejected} if rejected else {})}


def _stock_verdict(lowered: LoweredKernel) -> list[dict[str, Any]]:
    """What the checker says of TileLang's own plan, for each scope that is merged."""
    scopes = [applied.plan.scope for applied in lowered.plans]
    judged: list[Verdict] = [lowered.stock_verdict(scope) for scope in scopes]
    return [_told(one) for one in judged]


def _told(judged: Verdict) -> dict[str, Any]:
    """A verdict; where it is not sound what comes first against it, and of a refuted plan the rule,
    the buffers and the witness."""
    told: dict[str, Any] = {"verdict": str(judged.verdict)}
    if not judged.sound:
        told["why"] = judged.first_finding[:400]
    if judged.verdict is UNSOUND and judged.violations:
        first = judged.violations[0]
        told |= {"rule": int(first.rule), "buffers": list(first.buffers), "witness": first.witness}
    return told
