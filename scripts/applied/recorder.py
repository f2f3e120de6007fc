"""TileLang with a compiler that writes down what it is given and compiles nothing."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tilelang
import tilelang.autotuner.tuner as tuner
import tilelang.cache
import tilelang.profiler
import tilelang.testing
import tilelang.utils.tensor
from tilelang import tvm
from tilelang.engine.param import KernelParam
from tilelang.jit.kernel import JITKernel
from tilelang.transform.pass_config import normalize_pass_configs

from scripts.applied import fake_cuda
from scripts.applied.lenient import Anything, failures
from scripts.applied.stored import function_of, text_of

MOST_CONFIGURATIONS = 3


class Recorder:
    """Writes each function that is compiled to a folder, once."""

    def __init__(self, folder: Path, name: str, target: Any):
        self.folder = folder
        self.name = name
        self.target = target
        self.seen: set[str] = set()

    def compiled(self, func: Any, out_idx: Any, pass_configs: Mapping[str, Any] | None) -> Any:
        symbol = str(func.attrs["global_symbol"]) if func.attrs else "main"
        configs = normalize_pass_configs(dict(pass_configs or {}))
        configs = {str(key): _plain(value) for key, value in configs.items()}
        tir = text_of(func)
        function_of(tir)
        structural = tvm.ir.structural_hash(func)
        key = hashlib.sha256(
            f"{structural}/{symbol}/{sorted(configs.items())}".encode()
        ).hexdigest()
        if key not in self.seen:
            self.seen.add(key)
            name = f"{self.name}__{symbol}__{len(self.seen)}"
            record = {"name": name, "key": key, "pass_configs": configs, "tir": tir}
            (self.folder / f"{name}.json").write_text(json.dumps(record))
        return FakeKernel(func, out_idx)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, list, dict)) else str(value)


class FakeKernel:
    """A kernel that computes nothing and returns tensors of the right shapes."""

    latency = 1.0
    ref_latency = 1.0

    def __init__(self, func: Any, out_idx: Any):
        self.prim_func = func
        self.config: Any = None
        self.params = [
            KernelParam.from_buffer(func.buffer_map[each])
            if each in func.buffer_map
            else KernelParam.from_var(each)
            for each in func.params
        ]
        wanted = [] if out_idx is None else [out_idx] if isinstance(out_idx, int) else list(out_idx)
        self.results = [int(each) % len(self.params) for each in wanted]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.results:
            return None
        given = [i for i in range(len(self.params)) if i not in self.results]
        sizes: dict[Any, int] = {}
        for i, value in zip(given, args, strict=False):
            for size, real in zip(self.params[i].shape, getattr(value, "shape", ()), strict=False):
                if not isinstance(size, int):
                    sizes[size] = int(real)
        made = [self._result(self.params[i], sizes) for i in self.results]
        return made[0] if len(made) == 1 else made

    def _result(self, param: Any, sizes: dict[Any, int]) -> Any:
        shape = tuple(_size(each, sizes) for each in param.shape)
        return fake_cuda.empty(shape, param.torch_dtype())

    def get_profiler(self, *args: Any, **kwargs: Any) -> Any:
        return _Profiler()

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def _size(size: Any, sizes: dict[Any, int]) -> int:
    if isinstance(size, int):
        return size
    known = {var: value for var, value in sizes.items() if isinstance(var, tvm.tirx.Var)}
    if size in known:
        return known[size]
    made = tvm.arith.Analyzer().simplify(tvm.tirx.stmt_functor.substitute(size, known))
    return int(made)


class _Profiler(Anything):
    """Times nothing: every latency is 1 ms."""

    def do_bench(self, func: Any = None, *args: Any, **kwargs: Any) -> float:
        return bench(func)

    def assert_allclose(self, *args: Any, **kwargs: Any) -> None:
        pass


def bench(func: Any = None, *args: Any, **kwargs: Any) -> float:
    """As `do_bench`: calls the function once, for the kernels that it may compile."""
    try:
        if callable(func) and not isinstance(func, (FakeKernel, Anything)):
            func()
    except Exception as error:
        failures.append(f"do_bench: {type(error).__name__}: {str(error)[:300]}")
    return 1.0


def install(recorder: Recorder) -> None:
    """Puts a recorder in the place of TileLang's compiler, caches, tuner and profiler."""

    def cached(func: Any = None, out_idx: Any = None, *args: Any, **kwargs: Any) -> Any:
        return recorder.compiled(func, out_idx, kwargs.get("pass_configs"))

    def lower(func: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.compiled(func, None, dict(tvm.transform.PassContext.current().config))
        return Anything()

    def made(cls: Any, func: Any = None, out_idx: Any = None, *args: Any, **kwargs: Any) -> Any:
        return recorder.compiled(func, out_idx, kwargs.get("pass_configs"))

    # Their packages have functions of the same names.
    vars(sys.modules["tilelang.jit"])["cached"] = tilelang.cache.cached = cached
    tilelang.lower = tilelang.engine.lower = lower
    JITKernel.__new__ = made
    tuner.AutoTuner.run = _tuned
    tuner.AutoTuner.generate_cache_key = lambda *args, **kwargs: None
    tilelang.profiler.do_bench = vars(sys.modules["tilelang.profiler.bench"])["do_bench"] = bench
    tilelang.testing.process_func = lambda func, *args, **kwargs: func(**kwargs)
    tilelang.testing.regression = tilelang.testing.main = lambda *args, **kwargs: None
    tilelang.utils.tensor.torch_assert_close = lambda *args, **kwargs: None
    tilelang.testing.torch_assert_close = lambda *args, **kwargs: None


def _tuned(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The first configurations of a tuner, compiled; none is timed."""
    configs = self.configs
    if callable(configs):
        positional, named = self._kernel_parameters
        configs = configs(*positional, **dict(named))
    compile_func, _ = self._ensure_jit_functions()
    made = []
    for config in list(configs)[:MOST_CONFIGURATIONS]:
        given = {key: value for key, value in config.items() if key != "pass_configs"}
        try:
            kernel = compile_func(**given, __pass_configs__=config.get("pass_configs"))
            made.append((kernel, config))
        except Exception as error:
            failures.append(f"tuning: {type(error).__name__}: {str(error)[:300]}")
    # Where the program chose a configuration itself, that one is compiled.
    kernel, chosen = made[0] if made else (compile_func(), None)
    return tuner.AutotuneResult(
        latency=1.0,
        ref_latency=1.0,
        config=chosen,
        libcode="",
        func=kernel.prim_func,
        kernel=kernel,
    )
