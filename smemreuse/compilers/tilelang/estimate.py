"""How much shared memory a kernel needs, and whether it fits, without compiling it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilelang import env, tvm
from tilelang.autotuner.tuner import AutoTuneImpl
from tilelang.jit import JITImpl, JITKernel
from tilelang.transform.pass_config import normalize_pass_configs

from smemreuse.compilers.active import confined
from smemreuse.compilers.observers import SessionLog
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.installed import determine_target, lower_to_device
from smemreuse.compilers.tilelang.session import CachedFunction, TileLangSession
from smemreuse.compilers.tilelang.visitor import tirx
from smemreuse.errors import BackendError, PlanError
from smemreuse.pipeline.lowered import LoweredKernel
from smemreuse.pipeline.options import PlanOptions, checked_options
from smemreuse.progress import track
from smemreuse.results.footprint import KernelFootprint
from smemreuse.results.ranking import Config
from smemreuse.targets.architectures import Architecture, architecture

NAME_ONE = 'Say which GPU it is for: arch="sm_90a", or target={"kind": "cuda", "arch": "sm_90a"}'


@dataclass(frozen=True, repr=False)
class FunctionFootprint:
    """The shared memory of a TileLang function: one entry for each kernel it launches, in bytes."""

    kernels: tuple[KernelFootprint, ...]

    def __repr__(self) -> str:
        """One line: each kernel, and its bytes before and after."""
        return f"Footprint({'; '.join(each.summary for each in self.kernels)})"

    @property
    def bytes(self) -> int:
        """Bytes that each block of its largest kernel takes, merged by smemreuse."""
        return max(kernel.bytes_after or 0 for kernel in self.kernels)

    @property
    def bytes_before(self) -> int:
        """Bytes that each block of its largest kernel takes, merged by TileLang."""
        return max(kernel.bytes_before or 0 for kernel in self.kernels)

    @property
    def limit(self) -> int:
        """Bytes that a block may have on the GPU that it was lowered for, opting in."""
        return min(kernel.limit or 0 for kernel in self.kernels)

    @property
    def fits(self) -> bool:
        """Whether every kernel of it, merged by smemreuse, has room on that GPU."""
        return all(kernel.fits for kernel in self.kernels)


def footprint(
    kernel: Any,
    *args: Any,
    target: Any = None,
    arch: str | None = None,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "speed",
    pass_configs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> FunctionFootprint:
    """The bytes of shared memory that a kernel needs under `merge`, and whether it fits.

    `kernel` is a PrimFunc, a compiled kernel, or what makes one of `args` and `kwargs`: a
    `@tilelang.jit` or `@autotune` function, or any function that returns a PrimFunc. It is lowered
    as TileLang would, up to where code generation begins: no nvcc and no GPU are needed, and
    nothing is put into TileLang's caches.

    The GPU is that of `target`, as for `tilelang.compile`, or of `arch`, such as "sm_90a"; else
    what the `@tilelang.jit` function was given, the target in force, `TILELANG_DEFAULT_TARGET`, or
    the GPU of this machine. `pass_configs` go on top of the function's own.

    Raises `BackendError` where nothing says which GPU or what is given makes no PrimFunc,
    `PlanError` for an unknown option, or for a size that only the launch knows, and whatever
    TileLang raises for a kernel that it cannot lower.
    """
    options = checked_options(policy, packer, objective)
    place = resolve_place(kernel, target, arch)
    return LoweringRequest(kernel, place, options, args, kwargs, pass_configs or {}).footprint()


@dataclass(frozen=True)
class LoweringPlace:
    """What a kernel is lowered for: TileLang's target, and the limits of that GPU."""

    target: Any
    arch: Architecture


def resolve_place(kernel: Any, target: Any, arch: str | None) -> LoweringPlace:
    """The target that a kernel is lowered for. Raises `BackendError` where nothing says it."""
    if arch is not None:
        if target is not None:
            raise BackendError("both a target and an arch are given; the target names one itself")
        known = architecture(arch)  # before TVM, which says less of a name that it does not know
        return LoweringPlace(tvm.target.Target({"kind": "cuda", "arch": arch}), known)
    wanted = target or getattr(_jit_of(kernel), "target", None) or env.get_default_target()
    try:
        found = determine_target(wanted, return_object=True)  # "auto" is the one in force, first
    except (ValueError, AssertionError) as error:
        raise BackendError(f"no target: {error} {NAME_ONE}") from error
    try:
        if found.kind.name == "cuda":
            return LoweringPlace(found, architecture(str(found.attrs.get("arch", ""))))
    except PlanError as error:
        raise BackendError(f"target {found}: {error}. {NAME_ONE}") from error
    raise BackendError(f"target {found} is not for CUDA. {NAME_ONE}")


@dataclass(frozen=True)
class LoweringRequest:
    """What makes a kernel of which arguments, and what it is lowered for and with.

    `pass_configs` go on top of those of the kernel.
    """

    kernel: Any
    place: LoweringPlace
    options: PlanOptions
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    pass_configs: Mapping[str, Any] = field(default_factory=dict)

    def with_config(self, config: Config) -> LoweringRequest:
        """With the arguments of a configuration added."""
        if isinstance(config, tuple):
            return replace(self, args=(*self.args, *config))
        return replace(self, kwargs={**self.kwargs, **config})

    @property
    def all_pass_configs(self) -> dict[str, Any]:
        """With those that a `@tilelang.jit` function was given."""
        own = getattr(_jit_of(self.kernel), "pass_configs", None) or {}
        return {**own, **self.pass_configs}

    def prim_func(self) -> Any:
        """The function that is lowered. Raises `BackendError` where none is made."""
        with self.place.target:
            return prim_func_of(self.kernel, self.args, self.kwargs)

    def lowered(self) -> list[LoweredKernel]:
        """Its kernels, at least one, with their plans; raises as `footprint` does."""
        install()
        log = SessionLog()
        session = TileLangSession.of(self.options, log)
        with confined(session):
            func = self.prim_func()
            lowered_in(session, func, self.place.target, self.all_pass_configs)
        return kernels_in(log, func)

    def footprint(self) -> FunctionFootprint:
        """What its kernels take; raises as the function of this name does."""
        return FunctionFootprint(tuple(_known(one, self.place.arch) for one in self.lowered()))


def kernels_in(log: SessionLog, func: Any) -> list[LoweredKernel]:
    """The kernels of a function that was lowered. Raises `PlanError` for one that was left to
    TileLang, `BackendError` where there is none."""
    for left in log.left:
        raise PlanError(f"{left.function} is not planned: {left.reason}")
    if not log.kernels:
        raise BackendError(f"{func.attrs['global_symbol']} launches no kernel on a GPU")
    return log.kernels


def lower_again(
    cached: Sequence[CachedFunction], options: PlanOptions, *, unchecked: bool
) -> list[LoweredKernel]:
    """The kernels of functions that came out of TileLang's cache."""
    log = SessionLog()
    session = TileLangSession.of(options, log, unchecked=unchecked)
    for one in track(cached, "lowering"):
        target = determine_target(one.target, return_object=True)
        if target.kind.name == "cuda":
            lowered_in(session, one.func, target, one.pass_configs)
    return log.kernels


def lowered_in(
    session: TileLangSession, func: Any, target: Any, pass_configs: Mapping[str, Any]
) -> None:
    """Lowers a function up to where code generation begins; `pass_configs` go on top of its own."""
    own = dict(func.attrs.get("tilelang_pass_configs", {})) if func.attrs else {}
    config = normalize_pass_configs({**own, **pass_configs})
    with confined(session), target, tvm.transform.PassContext(opt_level=3, config=config):
        lower_to_device(func, target)


def _known(lowered: LoweredKernel, arch: Architecture) -> KernelFootprint:
    found = lowered.footprint(arch)
    if found.bytes_before is None or found.bytes_after is None:
        raise PlanError(
            f"{found.name} has a shared buffer whose size is known only at launch; "
            "give a constant one to know what it needs"
        )
    return found


def _jit_of(kernel: Any) -> Any:
    """What holds the options of a `@tilelang.jit` function, tuned or not, or of a kernel."""
    return kernel.jit_impl if isinstance(kernel, AutoTuneImpl) else kernel


def prim_func_of(kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The function that `kernel` is or makes. Raises `BackendError` where it makes none."""
    source = _jit_of(kernel)
    if isinstance(source, JITKernel):
        source = source.prim_func
    if isinstance(source, tirx.PrimFunc):
        if args or kwargs:
            raise BackendError("a PrimFunc takes no arguments; give what makes it instead")
        return source
    if isinstance(source, JITImpl):
        return _bound(_forgetful(source), args, kwargs)
    if not callable(source):
        raise BackendError(f"{source!r} is no PrimFunc, and makes none")
    made = _made(source, args, kwargs)
    if not isinstance(made, tirx.PrimFunc):
        raise BackendError(f"{getattr(source, '__name__', source)} made {made!r}, not a PrimFunc")
    return made


def _bound(jit: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """As `_made`, of a `@tilelang.jit` function, whose arguments are bound before it is called.

    Tensors that are parameters may be left out, and the sizes in their annotations be given by
    name, as `compile` takes them.
    """
    try:
        _bind(jit.signature, getattr(jit.func, "tensor_args", None) or (), args, kwargs)
    except TypeError as error:
        name = jit.func.__name__
        raise BackendError(f"{name} makes no PrimFunc of these arguments: {error}") from error
    return jit.get_tir(*args, **kwargs)


def _bind(
    signature: inspect.Signature,
    tensors: Collection[str],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """Raises `TypeError` where arguments are missing that are no tensors, or are too many. What has
    tensors takes any name, which may be a size in their annotations."""
    if not tensors:
        signature.bind(*args, **kwargs)
        return
    known = {name: value for name, value in kwargs.items() if name in signature.parameters}
    given = signature.bind_partial(*args, **known).arguments
    for name, parameter in signature.parameters.items():
        if parameter.default is parameter.empty and name not in (*given, *tensors):
            raise TypeError(f"missing a required argument: {name!r}")


def _made(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a factory makes. Raises `BackendError` where it cannot be called with that at all; what
    fails inside it is its own affair."""
    try:
        return factory(*args, **kwargs)
    except (TypeError, ValueError) as error:
        frames = error.__traceback__
        if frames is not None and frames.tb_next is not None:
            raise
        name = getattr(factory, "__name__", repr(factory))
        raise BackendError(f"{name} makes no PrimFunc of these arguments: {error}") from error


def _forgetful(jit: Any) -> Any:
    """A `@tilelang.jit` function without a memory of its own.

    TileLang keeps the function that it made of each set of arguments, whatever target it was made
    under; what is asked about here must not come out there.
    """
    func = copy.copy(jit.func)
    func.p1_cache = {}
    return replace(jit, func=func, target=None)
