"""What an access does to the bytes."""

from __future__ import annotations

from enum import Enum


class Access(Enum):
    """Read, written, or both; an operand that is not understood does both (rule 1)."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read-write"
