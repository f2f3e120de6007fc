"""Separation: pairs of buffers that never conflict, by the order of statements alone."""

from smemreuse.checker.separation.pairs import Separation, waits_of

__all__ = ["Separation", "waits_of"]
