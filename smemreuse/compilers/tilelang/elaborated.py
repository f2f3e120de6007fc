"""Which call of Python a function in TileLang's lowering comes from.

TileLang elaborates a PrimFunc and lowers it later, maybe in another thread of a pool, so the call
is kept by the function's body, which no step in between changes. A lowering begins with a check of
the module; what that is given is what the passes behind it make device functions of.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import reprlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from tilelang import tvm

from smemreuse.compilers.active import current_session
from smemreuse.compilers.functions import DeviceFunction
from smemreuse.compilers.tilelang.sources import SourceFinder
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.ir.source import SourceLine
from smemreuse.results.elaboration import Elaboration

CURRENT_TEST = "PYTEST_CURRENT_TEST"
_MOST_CALLS = 1024
_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 80


class _Calls:
    """The last calls that made a function, by its body."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Elaboration] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, func: Any, call: Elaboration) -> None:
        with self._lock:
            self._found[func.body] = call
            self._found.move_to_end(func.body)
            if len(self._found) > _MOST_CALLS:
                self._found.popitem(last=False)

    def of(self, func: Any) -> Elaboration:
        with self._lock:
            return self._found.get(func.body, Elaboration())


class _Begun(threading.local):
    """The functions that this thread has begun to lower, by name."""

    def __init__(self) -> None:
        self.functions: Mapping[str, Any] = {}


_calls, _begun = _Calls(), _Begun()


def noting_calls(stock: Callable[..., Any]) -> Callable[..., Any]:
    """`JITImpl.get_tir`, which makes the function of a call."""

    @functools.wraps(stock)
    def get_tir(self: Any, *args: Any, **kwargs: Any) -> Any:
        func = stock(self, *args, **kwargs)
        if current_session() is not None:
            _calls.keep(func, _call(self.func, args, kwargs))
        return func

    return get_tir


def noting_functions(stock: Callable[..., Any]) -> Callable[..., Any]:
    """The check of a module with which its lowering begins."""

    @functools.wraps(stock)
    def check(mod: Any) -> Any:
        if current_session() is not None:
            _begun.functions = functions_of(mod)
        return stock(mod)

    return check


def functions_of(mod: Any) -> Mapping[str, Any]:
    """The functions of a live module by name; none of what is no module."""
    found = mod.functions.items() if isinstance(mod, tvm.IRModule) else ()
    return {str(var.name_hint): func for var, func in found if type(func).__name__ == "PrimFunc"}


@dataclass(frozen=True)
class Begun:
    """What one lowering began with: functions as they were elaborated, by name."""

    functions: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def taken(cls) -> Begun:
        """What this thread has begun to lower; asked again, nothing, until it begins anew."""
        functions, _begun.functions = _begun.functions, {}
        return cls(functions)

    def function_of(self, device: str) -> Any:
        """The function that a device function was split off from, None where that is not sure."""
        names = [one for one in self.functions if device == one or device.startswith(f"{one}_")]
        return self.functions[max(names, key=len)] if names else None

    def device_function(self, name: str, func: Any) -> DeviceFunction:
        """A function that the merge receives, with what it was elaborated from."""
        sources = SourceFinder(self.function_of(name))
        return DeviceFunction(name, func, TirVisitor(), self.elaboration_of(name), sources)

    def elaboration_of(self, device: str) -> Elaboration:
        """What made a device function, and during which test."""
        func = self.function_of(device)
        found = Elaboration() if func is None else _calls.of(func)
        if found.source is None and func is not None:
            found = replace(found, source=_first_line(func))
        return replace(found, test=current_test())


def current_test() -> str:
    """pytest's id of the test that is running in this process, or that started it."""
    test, _, _phase = os.environ.get(CURRENT_TEST, "").rpartition(" (")
    return test


def _first_line(func: Any) -> SourceLine | None:
    span: Any = getattr(func, "span", None)
    source = getattr(span, "source_name", None)
    return None if source is None else SourceLine.of(str(source.name), int(span.line))


def _call(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Elaboration:
    """A call of a jitted function, with what it takes by default."""
    code = getattr(func, "__code__", None)
    if code is None:  # a PrimFunc, which has been made already
        return Elaboration()
    source = SourceLine.of(code.co_filename, code.co_firstlineno)
    return Elaboration(func.__name__, source, _config(_signature(func), args, kwargs))


def _signature(func: Any) -> inspect.Signature:
    return inspect.signature(getattr(func, "orig_func", func))


def _config(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by name; TileLang takes some that are not in the signature."""
    named = {name: value for name, value in kwargs.items() if name in signature.parameters}
    bound = signature.bind_partial(*args, **named)
    bound.apply_defaults()
    given = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            given.pop(parameter.name, None)
    return {name: _plain(value) for name, value in {**given, **kwargs}.items()}


def _plain(value: Any) -> Any:
    """A value as JSON has it, or a few words for it."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or type(value) in (bool, int, float):
        return value
    return value if type(value) is str and len(value) <= _SHORT.maxstring else _SHORT.repr(value)
