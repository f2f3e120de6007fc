"""The elements that `ThreadSync` takes threads to access, and whether two sets of them collide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, count

import numpy as np

from smemreuse.semantics.evaluate import evaluate
from smemreuse.versions.thread_sync.access_entries import AccessEntry
from smemreuse.versions.thread_sync.active_threads import ActiveThreads, Symbols

LANE = 16
"""Units of work for each element that is compared."""

Spend = Callable[[int], None]
"""Counts units of work before they are done; it raises where there are too many."""

_THREADS = 1 << 11
"""More than a block has."""


@dataclass(frozen=True, eq=False)
class EntryElements:
    """The element indices that `active` threads access by one entry, in units of its width.

    `guessed` are the unknown values that were replaced by a guess to compute them.
    """

    entry: AccessEntry
    active: ActiveThreads
    index: np.ndarray
    guessed: Symbols = frozenset()

    @cached_property
    def places(self) -> np.ndarray:
        """The bytes at which an element begins, each once, in order."""
        return _distinct(self.pairs // _THREADS)

    @cached_property
    def pairs(self) -> np.ndarray:
        """The same with the thread that accesses it, as one number."""
        lanes = self.entry.stride * np.arange(self.entry.lanes)
        places = ((self.index[:, None] + lanes) * self.entry.width).ravel()
        return _distinct(places * _THREADS + np.repeat(self.active.threads.ids, self.entry.lanes))


class TriedElements:
    """The elements that two accesses have in the blocks and rounds that are tried, computed when
    they are first asked for.

    `source` gives a pair for each of these, and None, as the last, where one is not known.
    """

    def __init__(self, source: Iterator[tuple[EntryElements, EntryElements] | None]):
        self._source = source
        self._found: list[tuple[EntryElements, EntryElements]] = []
        self._is_exhausted = False
        self.is_understood = True
        """Whether all are known, of those that have been asked for."""

    def __iter__(self) -> Iterator[tuple[EntryElements, EntryElements]]:
        for at in count():
            if at == len(self._found) and not self._has_more():
                return
            yield self._found[at]

    def _has_more(self) -> bool:
        for pair in self._source:
            if pair is not None:
                self._found.append(pair)
                return True
            self.is_understood = False
        self._is_exhausted = True
        return False

    @cached_property
    def _ends(self) -> np.ndarray:
        """The first and the last byte of each pair's elements, once all are known: four rows."""
        ends = [(*one.places[[0, -1]], *two.places[[0, -1]]) for one, two in self._found]
        return np.array(ends, dtype=np.int64).reshape(-1, 4).T

    def _near(self, shift: int) -> Iterator[tuple[EntryElements, EntryElements]]:
        """The pairs whose elements may meet."""
        if not self._is_exhausted:
            return iter(self)
        low, high, begin, end = self._ends
        near = np.flatnonzero((low + shift <= end) & (begin <= high + shift))
        return (self._found[at] for at in near.tolist())

    def meet(self, shift: int, spend: Spend) -> bool:
        """Whether some pair's elements `meet`, the first buffer `shift` bytes after the second."""
        for first, second in self._near(shift):
            spend(LANE * (first.index.size + second.index.size))
            if meet(first, second, shift):
                return True
        return False

    def reach_each_other(self, places: tuple[int, ...], spend: Spend) -> bool:
        """Whether from pointers at these places each one reaches the other in some pair."""
        reaches = [False, False]
        for first, second in self:
            spend(LANE * (first.index.size + second.index.size))
            found = reaching(first, second, places)
            reaches = [was or now for was, now in zip(reaches, found, strict=True)]
            if all(reaches):
                return True
        return False


def reaching(
    first: EntryElements, second: EntryElements, places: tuple[int, ...]
) -> tuple[bool, bool]:
    """Whether the elements from each pointer on reach the other pointer's first element.

    Computed for all threads at once, as the pass counts elements, each in its own width. The pass
    takes two pointers to be disjoint only if one ends before the other begins for all threads and
    rounds. Stages that alternate are therefore not disjoint.
    """
    mine, theirs = _reach(first, places[0]), _reach(second, places[1])
    if mine is None or theirs is None or not len(mine[0]) or not len(theirs[0]):
        return False, False
    (low, high), (begin, end) = mine, theirs
    return bool(high.max() >= begin.min()), bool(end.max() >= low.min())


def _reach(found: EntryElements, offset: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The first and the last element from a pointer on, for some threads."""
    extent = evaluate(found.entry.extent, found.active.threads)
    if extent is None:
        return None
    begin = found.index + offset
    return begin, begin + np.broadcast_to(extent, begin.shape) - 1


def meet(first: EntryElements, second: EntryElements, shift: int) -> bool:
    """Whether elements begin at the same byte, of different threads unless both are written.

    `shift` is by how many bytes the first buffer begins after the second one.
    """
    if _may_be_alike(first, second, shift):
        return False
    if first.entry.is_write and second.entry.is_write:
        return bool(_common(first.pairs + shift * _THREADS, second.pairs).size)
    common = _common(first.places + shift, second.places)
    if not common.size:
        return False
    pairs = np.concatenate((first.pairs + shift * _THREADS, second.pairs))
    return _distinct(pairs[np.isin(pairs // _THREADS, common)]).size > common.size


def _common(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The values that are in both, of which each is in order."""
    if one[-1] < two[0] or two[-1] < one[0]:
        return one[:0]
    found: np.ndarray = one[two[np.minimum(np.searchsorted(two, one), len(two) - 1)] == one]
    return found


def _distinct(values: np.ndarray) -> np.ndarray:
    """As `np.unique`, which hashes integers since NumPy 2.3: several times slower here."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def _may_be_alike(first: EntryElements, second: EntryElements, shift: int) -> bool:
    """Whether both may have the same index, and the same threads: the pass takes each of these for
    one that meets only itself."""
    one, two = first.entry, second.entry
    if one.width != two.width or (one.lanes, one.stride) != (two.lanes, two.stride):
        return False
    mine, theirs = first.active, second.active
    if mine.free or theirs.free:
        return False  # the pass knows of a loop around one of them alone
    if np.array_equal(mine.threads.ids, theirs.threads.ids):
        return bool(np.array_equal(first.index * one.width + shift, second.index * two.width))
    return False


def are_compatible(first: EntryElements, second: EntryElements) -> bool:
    """Whether conditions on unknown values can hold for both: no two of them depend on the same
    value, but loops may all be long. None may depend on a value that is guessed."""
    conditions = [*{*first.active.conditions, *second.active.conditions}]
    guessed = first.guessed | second.guessed
    return not any(each.symbols & guessed for each in conditions) and not any(
        one.symbols & two.symbols
        for one, two in combinations(conditions, 2)
        if not (one.is_range and two.is_range)
    )
