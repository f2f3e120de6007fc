"""The parts of the installed TileLang that smemreuse calls, wherever its version has them.

What has moved is looked for where it has been; no version is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

import tilelang
from tilelang import tvm
from tilelang.autotuner import tuner

from smemreuse.compilers.tilelang.visitor import VERSION
from smemreuse.errors import BackendError


def missing(what: str) -> BackendError:
    """The error for a TileLang that has not what smemreuse needs of it."""
    return BackendError(
        f"TileLang {tilelang.__version__} has no {what}; the newest that smemreuse knows is "
        f"{VERSION.name}"
    )


def module(name: str) -> Any:
    """A module within TileLang, None where it has none of that name."""
    full = f"tilelang.{name}"
    try:
        found = importlib.util.find_spec(full)
    except ModuleNotFoundError:  # nor has it the package that this one is in
        return None
    return importlib.import_module(full) if found is not None else None


def part(name: str, *modules: str) -> Any:
    """What the first of these modules of TileLang has by that name. Raises `BackendError`."""
    for one in modules:
        found = getattr(module(one), name, None)
        if found is not None:
            return found
    raise missing(f"{name} in {' or '.join(modules)}")


engine: Any = sys.modules["tilelang.engine.lower"]  # a function of that name hides the module
determine_target = part("determine_target", "backend.target", "utils.target")
inject_fence_proxy = part("InjectFenceProxy", "cuda.transform", "transform")

PASS_CONFIGS_KEY: str = getattr(tuner, "_PASS_CONFIGS_KEY", "__pass_configs__")
"""Under which key a configuration has pass configurations of its own."""


def lower_to_device(func: Any, target: Any) -> None:
    """Lowers a function for a target up to where code generation begins, by TileLang's own passes,
    in the `PassContext` in force."""
    backend = module("backend.module")
    if hasattr(backend, "create_backend_context"):
        engine.lower_to_host_device_ir(func, backend.create_backend_context(target))
    elif hasattr(engine, "lower_to_host_device_ir"):
        engine.lower_to_host_device_ir(func, target)
    else:
        mod = tvm.IRModule({func.attrs["global_symbol"]: func})
        hosted = tvm.target.Target(target, engine.canon_target_host(target, None))
        engine.PreLowerSemanticCheck(mod)
        engine.OptimizeForTarget(engine.LowerAndLegalize(mod, hosted), hosted)
