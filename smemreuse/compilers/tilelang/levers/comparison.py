"""Which combinations of a function's levers change no result, and about what they take, without
lowering any."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from smemreuse.compilers.tilelang.levers.programs import ProgramReader
from smemreuse.compilers.tilelang.levers.rewrites import LeverSetting
from smemreuse.equivalence import (
    Reference,
    TileProgram,
    Unfollowed,
    estimated_bytes,
    least_bytes,
)

Settings = tuple[LeverSetting, ...]


def pulled(func: Any, settings: Settings) -> Any:
    """A function with some levers pulled."""
    for one in settings:
        func = one.rewrite(func)
    return func


class FormComparison:
    """A function, and what is known of it with levers pulled while tile operations are whole."""

    def __init__(self, name: str, func: Any) -> None:
        self.name, self.func = name, func
        self._reader = ProgramReader()
        self._programs: dict[Settings, TileProgram | Unfollowed] = {}
        self._whys: dict[Settings, str] = {}

    @property
    def compared(self) -> int:
        """How many combinations were compared with the function itself."""
        return len(self._whys)

    def why_not(self, settings: Settings) -> str:
        """Why a combination is not equivalent; empty where it is."""
        if settings not in self._whys:
            self._whys[settings] = self._compared(settings)
        return self._whys[settings]

    def least(self, settings: Settings) -> int:
        """The bytes that each block takes at the least; 0 for what is not followed."""
        found = self._program(settings)
        return 0 if isinstance(found, Unfollowed) else least_bytes(found)

    def estimated(self, settings: Settings) -> int:
        """About the bytes that each block takes; 0 for what is not followed."""
        found = self._program(settings)
        return 0 if isinstance(found, Unfollowed) else estimated_bytes(found)

    def _compared(self, settings: Settings) -> str:
        reference, changed = self._reference, self._program(settings)
        if isinstance(reference, Unfollowed):
            return str(reference)
        if isinstance(changed, Unfollowed):
            return str(changed)
        return reference.equivalence(changed).why

    @cached_property
    def _reference(self) -> Reference | Unfollowed:
        original = self._program(())
        return original if isinstance(original, Unfollowed) else Reference(original)

    def _program(self, settings: Settings) -> TileProgram | Unfollowed:
        if settings not in self._programs:
            try:
                found = self._reader.program(self.name, pulled(self.func, settings))
            except Unfollowed as error:
                self._programs[settings] = error
            else:
                self._programs[settings] = found
        return self._programs[settings]
