"""Advice in the place of TileLang's autotuner, while a script runs that calls it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from unittest.mock import patch

from tilelang.autotuner.tuner import AutoTuneImpl, AutoTuner

from smemreuse.compilers.tilelang.advice import AdviceOptions, advise_on
from smemreuse.compilers.tilelang.installed import PASS_CONFIGS_KEY
from smemreuse.errors import BackendError
from smemreuse.results.ranking import Ranking

Call: TypeAlias = tuple[Any, tuple[Any, ...], Mapping[str, Any]]
"""What makes a kernel, and the arguments that it is given."""


class Advised(SystemExit):
    """Ends a script where it would go on with a kernel that was not compiled."""


@contextmanager
def advising(report: Callable[[str, Ranking], None], **options: Any) -> Iterator[None]:
    """Reports, for the first tuned function that is called inside, which configurations to try.

    `report` gets its name and the ranking; then the script ends with `Advised`. `options` are those
    of `advise`.
    """

    def ranked(call: Call, name: str, configs: Any, more: Mapping[str, Any]) -> None:
        report(name, advise_on(call, configs, AdviceOptions(**{**more, **options})))
        raise Advised(0)

    @functools.wraps(AutoTuneImpl.__call__)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("__return_kernel", None)
        configs = plain_configs(self.configs, args, kwargs)
        ranked((self.jit_impl, args, kwargs), self.jit_impl.func.__name__, configs, {})

    @functools.wraps(AutoTuner.run)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        own = {"pass_configs": self.compile_args.pass_configs or {}}
        if not options.get("arch"):
            own["target"] = self.compile_args.target
        ranked((self.fn, (), {}), self.fn.__name__, plain_configs(self.configs, (), {}), own)

    with patch.object(AutoTuneImpl, "__call__", call), patch.object(AutoTuner, "run", run):
        yield


def plain_configs(configs: Any, args: Any, kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The configurations of a tuned function, which may be made of its arguments.

    Raises `BackendError` where there are none, or where they change how the kernel is lowered.
    """
    made = list((configs(*args, **kwargs) if callable(configs) else configs) or ())
    if not made:
        raise BackendError("the tuned function has no configurations")
    for config in made:
        if PASS_CONFIGS_KEY in config:
            raise BackendError(
                f"configurations with {PASS_CONFIGS_KEY!r} of their own: rank the "
                "kernels of each choice by themselves, with advise(pass_configs=)"
            )
    return [dict(config) for config in made]
