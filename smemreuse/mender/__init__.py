"""Mends the hazards of a kernel itself: the least that is put in and makes it clean. And trims it:
what can be taken out of it."""

from smemreuse.mender.mender import mend
from smemreuse.mender.trimmer import trim

__all__ = ["mend", "trim"]
