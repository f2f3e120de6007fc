"""Has TileLang run a pass once on a module that it is given again.

A function whose levers are found is lowered with them as a trial, and then once more, for good: by
the same passes, of which a few take nearly all of the time. A pass is a function of the module, its
own arguments and the configuration in force. What is remembered is of one function and one
configuration: names, which two modules may differ in and still be structurally equal, are the same
then.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tilelang import tvm

from smemreuse.compilers.tilelang.parsing import parsed_once

LONG = ("LayoutInference", "LowerTileOp")
"""The passes that take long. None behind the merge: what that planned is found again in what its
barriers are put into by the variables of its buffers, which another module has of its own."""

Pass = Callable[[Any], Any]


@dataclass(frozen=True)
class _PassRun:
    """A pass with its arguments, the module that it was given, and what it made of that."""

    settings: tuple[Any, ...]
    hash: int
    given: Any
    made: Any


@dataclass
class _PassRuns:
    """What passes have made so far."""

    known: list[_PassRun] = field(default_factory=list)

    def made(self, settings: tuple[Any, ...], original: Pass, mod: Any) -> Any:
        digest = int(tvm.ir.structural_hash(mod))
        for one in self.known:
            same = one.settings == settings and one.hash == digest
            if same and tvm.ir.structural_equal(one.given, mod):
                return one.made
        made = original(mod)
        self.known.append(_PassRun(settings, digest, mod, made))
        return made


_runs: ContextVar[_PassRuns | None] = ContextVar("_runs", default=None)


def remember_passes() -> None:
    """From now on this thread runs the long passes once on each module: those of one function, that
    is lowered with one configuration. Forgets what was remembered of another one."""
    _runs.set(_PassRuns())


@contextmanager
def lowered_once() -> Iterator[None]:
    """Inside, what is the same in two lowerings is done once, if `remember_passes` is called."""
    with parsed_once():
        try:
            yield
        finally:
            _runs.set(None)


def run_once(name: str, stock: Callable[..., Pass]) -> Callable[..., Pass]:
    """The factory of a pass, which runs only where it is not known what it makes."""

    @functools.wraps(stock)
    def factory(*args: Any, **kwargs: Any) -> Any:
        original, runs = stock(*args, **kwargs), _runs.get()
        if runs is None:
            return original
        settings = (name, args, tuple(sorted(kwargs.items())))
        return functools.partial(runs.made, settings, original)

    return factory
