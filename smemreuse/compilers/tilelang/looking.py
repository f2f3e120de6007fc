"""A session that merges nothing: it keeps the functions that have their barriers."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smemreuse.compilers.functions import DeviceFunction
from smemreuse.compilers.tilelang.elaborated import Begun, functions_of
from smemreuse.compilers.tilelang.mending import Synchronized
from smemreuse.compilers.tilelang.run_session import RunSession
from smemreuse.compilers.tilelang.session import Pass
from smemreuse.results.elaboration import Elaboration


class _Looked(threading.local):
    """What one thread's lowering has received, and what it has seen with its barriers."""

    def __init__(self) -> None:
        self.received: dict[str, DeviceFunction] = {}
        self.functions: list[tuple[Synchronized, Elaboration]] = []


@dataclass(repr=False, eq=False)
class LookingSession(RunSession):
    """Merges nothing: TileLang's own pass does. It keeps each function that has its barriers, and
    puts another one in its place where `replaced` has one of its name."""

    replaced: Mapping[str, Any] = field(default_factory=dict)
    looked: _Looked = field(default_factory=_Looked, repr=False)

    @property
    def settings_token(self) -> str:
        """Nothing that it compiles may come out of a cache: it would not have been seen."""
        return "reproduce"

    def lowering_pass(
        self, stock_pass: Pass, *, disable_reuse: bool, aggressive: bool = False
    ) -> Any:
        def watched(mod: Any) -> Any:
            begun = Begun.taken()
            self.looked.received = {
                name: begun.device_function(name, func) for name, func in functions_of(mod).items()
            }
            for function in self.looked.received.values():
                assert function.kernels is not None  # read now, before the merge
            return stock_pass(mod)

        return watched

    def confirm(self, mod: Any) -> Any:
        def rewrite(name: str, var: Any, func: Any) -> Any:
            function = self.looked.received.pop(name, None)
            if function is not None:
                found = Synchronized(name, func, function.visitor.allocated, function.sources)
                self.looked.functions.append((found, function.elaboration))
            return self.replaced.get(name, func)

        return self.rewrite_functions(mod, rewrite)
