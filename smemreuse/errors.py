"""Every error that smemreuse raises on purpose, in one place.

Each carries the exit code that the command line answers with, so no command needs to know them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

E = TypeVar("E", bound="SmemReuseError")


class SmemReuseError(Exception):
    """Base of all errors meant for the user; `str()` of it is one readable line."""

    exit_code = 2

    def __init__(self, message: str, *, file: Path | str | None = None, line: int | None = None):
        self.message = printable(" ".join(message.split()))
        self.file = str(file) if file is not None else None
        self.line = line
        super().__init__(self.message)

    def __str__(self) -> str:
        if self.file is None:
            return f"line {self.line}: {self.message}" if self.line else self.message
        where = f"{printable(self.file)}:{self.line}" if self.line else printable(self.file)
        return f"{where}: {self.message}"

    def located(self: E, *, file: Path | str | None = None, line: int | None = None) -> E:
        """The same error with the file and line filled in where they were not known yet."""
        return type(self)(self.message, file=self.file or file, line=self.line or line)


class InputError(SmemReuseError):
    """A dump, plan or table that cannot be read: names the file, the line and the fix."""


class PlanError(SmemReuseError):
    """A plan was asked for that cannot be made or applied to this kernel."""


class BackendError(SmemReuseError):
    """A compiler is missing, or differs from what the lowering hook was written for."""


class InternalError(SmemReuseError):
    """A fault of smemreuse itself, in one line; `SMEMREUSE_DEBUG=1` prints its traceback too."""


class LoweredOnlyError(SmemReuseError):
    """A kernel was to be run that was lowered and not compiled, as was asked."""


def printable(name: str) -> str:
    """A file name may hold line ends and bytes that are no text."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in name
    )
