"""Separation: pairs of buffers that are proved apart by the order of statements alone."""

from smemreuse.checker.separation.pairs import Separation

__all__ = ["Separation"]
