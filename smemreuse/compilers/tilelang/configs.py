"""Which tile configurations fit into shared memory, before any of them is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from smemreuse.compilers.tilelang.estimate import FunctionFootprint, LoweringRequest, resolve_place
from smemreuse.compilers.tilelang.installed import PASS_CONFIGS_KEY
from smemreuse.errors import BackendError
from smemreuse.pipeline.options import checked_options
from smemreuse.progress import track
from smemreuse.results.ranking import Config


def checked_configs(configs: Iterable[Config]) -> list[Config]:
    """All of them. Raises `BackendError` for what is none."""
    if isinstance(configs, Mapping):
        raise BackendError(
            "the configurations are a dictionary, and a list is wanted: put it in []"
        )
    if not isinstance(configs, Iterable):
        raise BackendError(f"a list of configurations is wanted, and this is {configs!r}")
    every = list(configs)
    for config in every:
        if not isinstance(config, (Mapping, tuple)):
            raise BackendError(f"a configuration is a dictionary or a tuple, not {config!r}")
    return every


@dataclass(frozen=True)
class SizedConfig:
    """A configuration and what its kernels take."""

    config: Config
    footprint: FunctionFootprint


@dataclass(frozen=True)
class FailedConfig:
    """A configuration that could not be lowered, and the error that says why."""

    config: Config
    error: Exception


@dataclass(frozen=True, repr=False)
class FittingConfigs(Sequence[Config]):
    """The configurations that fit, as a sequence in their order, and what became of the others.

    `fitting` has them with their bytes; `too_large` those that do not fit, with theirs; `failed`
    those of which it is not known, since they could not be lowered.
    """

    fitting: tuple[SizedConfig, ...]
    too_large: tuple[SizedConfig, ...]
    failed: tuple[FailedConfig, ...]

    def __repr__(self) -> str:
        """One line: how many there are of each kind."""
        kinds = f"{len(self.too_large)} too large, {len(self.failed)} failed"
        return f"FittingConfigs({len(self.fitting)} fit, {kinds})"

    @overload
    def __getitem__(self, index: int) -> Config: ...

    @overload
    def __getitem__(self, index: slice) -> list[Config]: ...

    def __getitem__(self, index: int | slice) -> Config | list[Config]:
        return [sized.config for sized in self.fitting][index]

    def __len__(self) -> int:
        return len(self.fitting)


def fits(
    factory: Any,
    configs: Iterable[Config],
    *args: Any,
    target: Any = None,
    arch: str | None = None,
    policy: str = "dataflow",
    packer: str = "best",
    objective: str = "speed",
    pass_configs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> FittingConfigs:
    """The configurations whose kernels fit into shared memory under `merge`; compiles none.

    `factory` is called with `args` and `kwargs` and, on top, each configuration: a dictionary of
    keyword arguments, as `tilelang.autotune` takes them, or a tuple of positional ones. What it may
    be, where the GPU comes from and the other arguments are as for `footprint`. A bar on standard
    error shows how far it is, where that is a terminal.

    A configuration that cannot be lowered, or of which `factory` makes no PrimFunc, is in `failed`
    with its error, and a warning says so. Raises `BackendError` where nothing says which GPU or a
    configuration is neither a dictionary nor a tuple, and `PlanError` for an unknown option.
    """
    every = checked_configs(configs)
    options = checked_options(policy, packer, objective)
    place = resolve_place(factory, target, arch)
    request = LoweringRequest(factory, place, options, args, kwargs, pass_configs or {})
    sized: list[SizedConfig] = []
    failed: list[FailedConfig] = []
    for config in track(every, "lowering"):
        try:
            sized.append(SizedConfig(config, _configured(request, config).footprint()))
        except Exception as error:  # TileLang raises of all kinds; each is kept and warned of
            failed.append(FailedConfig(config, error))
    if failed:
        first = failed[0]
        warnings.warn(
            f"{len(failed)} of {len(every)} configurations could not be lowered and are left out; "
            f"the first, {first.config}: {type(first.error).__name__}: {first.error}",
            stacklevel=2,
        )
    return FittingConfigs(
        tuple(one for one in sized if one.footprint.fits),
        tuple(one for one in sized if not one.footprint.fits),
        tuple(failed),
    )


def _configured(request: LoweringRequest, config: Config) -> LoweringRequest:
    """With a configuration, which may have pass configurations of its own."""
    given = request.with_config(config)
    kwargs = dict(given.kwargs)
    own = kwargs.pop(PASS_CONFIGS_KEY, None) or {}
    return replace(given, kwargs=kwargs, pass_configs={**request.pass_configs, **own})
