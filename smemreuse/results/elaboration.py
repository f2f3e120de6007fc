"""What a kernel was elaborated from: the function of Python, its arguments, and the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from smemreuse.ir.source import SourceLine


@dataclass(frozen=True)
class Elaboration:
    """One call that made a kernel; what is not known is empty.

    `function` is the one that was called and `source` where it stands in the script. `config` are
    its arguments by name, a tuner's choice among them, as data of JSON; what JSON has not, as text.
    `test` is pytest's id of the test that was running.
    """

    function: str = ""
    source: SourceLine | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    test: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.function or self.source or self.config or self.test)


_ABSENT = object()


def differing(found: Sequence[Elaboration]) -> tuple[str, ...]:
    """The arguments in which calls differ, in their order."""
    names = dict.fromkeys(name for one in found for name in one.config)
    return tuple(name for name in names if not _is_same(found, name))


def _is_same(found: Sequence[Elaboration], name: str) -> bool:
    first = found[0].config.get(name, _ABSENT)
    return all(one.config.get(name, _ABSENT) == first for one in found)
