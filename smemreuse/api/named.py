"""Mappings of buffers that answer to their names too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from smemreuse.ir.kernel import Buffer, unique_names

V = TypeVar("V")


class ByBuffer(dict[Buffer, V]):
    """`offsets["As"]` as well as `offsets[buffer]`; shown with names.

    Keys are buffers. Names are those of the dump, the second buffer of a name is `name#1`.
    """

    def __init__(self, found: Mapping[Buffer, V], buffers: tuple[Buffer, ...]):
        super().__init__(found)
        self.names = unique_names(buffers)
        self._called = {name: buffer for buffer, name in self.names.items()}

    def __getitem__(self, key: Buffer | str) -> V:
        if isinstance(key, str):
            if key not in self._called:
                raise KeyError(key)
            key = self._called[key]
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._called.get(key, key) if isinstance(key, str) else key)

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def by_name(self) -> dict[str, V]:
        """The same by names, in program order."""
        return {name: self[buffer] for buffer, name in self.names.items() if buffer in self}

    def __repr__(self) -> str:
        return repr(self.by_name())
