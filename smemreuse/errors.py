"""Every error that smemreuse raises on purpose, in one place.

Each carries the exit code that the command line answers with, so no command needs to know them.
"""

from __future__ import annotations

from pathlib import Path


class SmemReuseError(Exception):
    """Base of all errors meant for the user; `str()` of it is one readable line."""

    exit_code = 2


class InputError(SmemReuseError):
    """A dump, plan or table that cannot be read: names the file, the line and the mend."""

    def __init__(self, message: str, *, file: Path | str | None = None, line: int | None = None):
        self.message = " ".join(message.split())
        self.file = str(file) if file is not None else None
        self.line = line
        super().__init__(self.message)

    def __str__(self) -> str:
        where = [part for part in (self.file, str(self.line) if self.line else None) if part]
        return ": ".join([":".join(where), self.message] if where else [self.message])

    def located(self, *, file: Path | str | None = None, line: int | None = None) -> InputError:
        """The same error with the file and line filled in where they were not known yet."""
        return InputError(self.message, file=self.file or file, line=self.line or line)


class PlanError(SmemReuseError):
    """A plan was asked for that cannot be made or applied to this kernel."""


class BackendError(SmemReuseError):
    """A compiler is missing, or differs from what the lowering hook was written for."""
