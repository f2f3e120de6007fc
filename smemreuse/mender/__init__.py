"""Mends the hazards of a kernel itself: the least that is put in and makes it clean."""

from smemreuse.mender.mender import mend

__all__ = ["mend"]
