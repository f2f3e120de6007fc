"""The pass that pulls levers, among the first of a lowering."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import tilelang
from tilelang import tvm

from smemreuse.compilers.active import current_session
from smemreuse.compilers.outcomes import error_line
from smemreuse.compilers.tilelang.estimate import LoweringPlace
from smemreuse.compilers.tilelang.installed import missing
from smemreuse.compilers.tilelang.levers.fitting import Fitted, FunctionFitting
from smemreuse.compilers.tilelang.session import FitRequest, TileLangSession
from smemreuse.compilers.tilelang.visitor import VERSION, tirx
from smemreuse.errors import PlanError
from smemreuse.results.fitting import Fitting
from smemreuse.targets.architectures import Architecture, architecture


@dataclass(frozen=True)
class _Subject:
    """A function before anything of it is lowered, and what it is lowered for."""

    name: str
    func: Any
    target: Any
    arch: Architecture


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
        wanted = session.fit if isinstance(session, TileLangSession) else None
        if wanted is None:
            return original

        def run(mod: Any) -> Any:
            changed = {
                var: _fitted(subject, wanted, session)
                for var, func in mod.functions.items()
                for subject in _subjects(var, func)
            }
            return original(tvm.IRModule({**dict(mod.functions.items()), **changed}))

        return run

    return factory


def _subjects(var: Any, func: Any) -> list[_Subject]:
    """The function, if it is one of TIR for a GPU that is known."""
    target = func.attrs.get("target") if isinstance(func, tirx.PrimFunc) and func.attrs else None
    if target is None or target.kind.name != "cuda":
        return []
    try:
        arch = architecture(str(target.attrs.get("arch", "")))
    except PlanError:
        return []
    return [_Subject(var.name_hint, func, target, arch)]


def _fitted(subject: _Subject, wanted: FitRequest, session: Any) -> Any:
    """What is lowered in the place of a function. Where nothing can be found out of it that is
    TileLang's to say: its own lowering goes on, and fails as it would."""
    limit = wanted.limit or subject.arch.per_block
    config = dict(tvm.transform.PassContext.current().config)
    place = LoweringPlace(subject.target, subject.arch)
    try:
        found = FunctionFitting(subject.name, subject.func, place, limit, config).result()
    except Exception as error:  # TileLang raises of all kinds; each is kept with its words
        why = f"it is not known what it takes: {error_line(error)}"
        found = Fitted(subject.func, "bytes", Fitting(subject.name, limit, 0, why=why))
    session.note_fitting(found.fitting, found.objective)
    return found.func
