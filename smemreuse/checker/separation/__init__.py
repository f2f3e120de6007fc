"""Separation: pairs of buffers that never conflict, by the order of statements alone."""

from smemreuse.checker.separation.pairs import Separation

__all__ = ["Separation"]
