"""The pass that pulls levers, among the first of a lowering."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.compilers.active import current_session
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.tilelang.estimate import LoweringPlace
from smemreuse.compilers.tilelang.installed import missing
from smemreuse.compilers.tilelang.levers.fitting import FunctionFitting
from smemreuse.compilers.tilelang.levers.function import LeveredFunction
from smemreuse.compilers.tilelang.levers.speeding import FunctionSpeedup
from smemreuse.compilers.tilelang.passes_once import remember_passes
from smemreuse.compilers.tilelang.session import LeverRequest, TileLangSession
from smemreuse.compilers.tilelang.visitor import VERSION
from smemreuse.errors import PlanError
from smemreuse.targets.architectures import architecture

FIRST_PASS = "AddWrapperForSingleBufStore"
"""A pass in which tile operations are whole still; levers are pulled before it."""

_installed = False
_lock = threading.Lock()


def install_levers() -> None:
    """Sets the hook, once for all sessions; without one that asks for levers it does nothing.
    Raises `BackendError` on a TileLang that has no such pass."""
    global _installed
    with _lock:
        if _installed:
            return
        passes = attrgetter(VERSION.names.passes)(tilelang)
        if not hasattr(passes, FIRST_PASS):
            raise missing(FIRST_PASS)
        setattr(passes, FIRST_PASS, pulling_levers(getattr(passes, FIRST_PASS)))
        _installed = True


def pulling_levers(stock: Callable[..., Any]) -> Callable[..., Any]:
    """A pass of TileLang's that sees tile operations whole, and before it the levers of a session
    that asks for them."""

    @functools.wraps(stock)
    def factory(*args: Any, **kwargs: Any) -> Any:
        original, session = stock(*args, **kwargs), current_session()
        if not isinstance(session, TileLangSession) or session.levers is None:
            return original
        wanted = session.levers

        def rewrite(name: str, _var: Any, func: Any) -> Any:
            return _pulled(name, func, wanted, session)

        return lambda mod: original(session.rewrite_functions(mod, rewrite))

    return factory


def _place_of(func: Any) -> LoweringPlace | None:
    """What a function of TIR is lowered for, if that is a GPU that is known."""
    target = func.attrs.get("target") if func.attrs else None
    if target is None or target.kind.name != "cuda":
        return None
    try:
        return LoweringPlace(target, architecture(str(target.attrs.get("arch", ""))))
    except PlanError:
        return None


def _pulled(name: str, func: Any, wanted: LeverRequest, session: TileLangSession) -> Any:
    """What is lowered in the place of a function. Where nothing can be found out of it that is
    TileLang's to say: its own lowering goes on, and fails as it would."""
    place = _place_of(func)
    if place is None:
        return func
    remember_passes()
    config = dict(tvm.transform.PassContext.current().config)
    function = LeveredFunction(name, func, place, config)
    limit = wanted.limit or place.arch.per_block
    goal = FunctionSpeedup(function) if wanted.for_speed else FunctionFitting(function, limit)
    try:
        found = goal.result()
    except Exception as error:  # TileLang raises of all kinds; each is kept with its words
        found = goal.unchanged(f"it is not known what it takes: {error_line(error)}")
    session.note_levers(found.outcome, found.objective)
    return found.func
