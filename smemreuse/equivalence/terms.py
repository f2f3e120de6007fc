"""Value numbers: one number for each value, the same for what is surely the same value.

A value is written as a sum: what is known of it as an integer, and the rest, of which a hash is
kept. Linear forms of integers so have one number however they are written. Two values whose hashes
of 64 bits are the same by accident would be taken for one; they are compared place by place, a few
times for each kernel, so that this does not happen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

Hashes: TypeAlias = "np.ndarray | np.uint64"

_STEP, _FIRST, _SECOND = map(
    np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_SHIFTS = tuple(map(np.uint64, (30, 27, 31)))
_NONE = np.uint64(0)
_ODD = np.uint64(1)


@dataclass(frozen=True, eq=False)
class Term:
    """One value, or one for each place of an array: a known number, and the hash of the rest (0 if
    there is none)."""

    rest: np.ndarray
    number: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.rest.shape, self.number.shape)

    @property
    def known(self) -> np.ndarray | None:
        """The numbers, where nothing else is in the value."""
        return None if self.rest.any() else self.number

    @property
    def hashes(self) -> np.ndarray:
        """One hash of both parts."""
        return np.asarray(mixed(self.rest * _STEP + self.number.astype(np.uint64)))

    def plus(self, other: Term, sign: int = 1) -> Term:
        rest = self.rest + other.rest if sign > 0 else self.rest - other.rest
        return Term(np.asarray(rest), np.asarray(self.number + sign * other.number))

    def times(self, factor: np.ndarray) -> Term:
        """Times a known number."""
        rest = self.rest * np.asarray(factor).astype(np.uint64)
        return Term(np.asarray(rest), np.asarray(self.number * factor))

    def over(self, shape: tuple[int, ...]) -> Term:
        """The same for each place of a larger array."""
        return Term(np.broadcast_to(self.rest, shape), np.broadcast_to(self.number, shape))

    def reshaped(self, shape: tuple[int, ...]) -> Term:
        whole = self.over(self.shape)
        return Term(whole.rest.reshape(shape), whole.number.reshape(shape))

    def at(self, place: Any) -> Term:
        """Part of an array, by NumPy's index."""
        whole = self.over(self.shape)
        return Term(np.asarray(whole.rest[place]), np.asarray(whole.number[place]))

    def put(self, place: Any, value: Term) -> Term:
        """The same array with other values at some places, by NumPy's index."""
        rest, number = self.rest.copy(), self.number.copy()
        rest[place], number[place] = value.rest, value.number
        return Term(rest, number)

    def same_as(self, other: Term) -> np.ndarray:
        return np.asarray((self.rest == other.rest) & (self.number == other.number))

    @property
    def digest(self) -> int:
        """One number of all places, in their order."""
        whole = self.over(self.shape)
        hashed = hashlib.blake2b(whole.rest.tobytes(), digest_size=8)
        if whole.number.any():
            hashed.update(whole.number.tobytes())
        return int.from_bytes(hashed.digest(), "little")


def mixed(hashes: Hashes) -> Hashes:
    """The finalizer of SplitMix64: each bit depends on all bits."""
    found = (hashes ^ (hashes >> _SHIFTS[0])) * _FIRST
    found = (found ^ (found >> _SHIFTS[1])) * _SECOND
    return found ^ (found >> _SHIFTS[2])


def known(number: int | np.ndarray) -> Term:
    """Integers."""
    value = np.asarray(number, dtype=np.int64)
    return Term(np.zeros((), np.uint64), value)


def made(kind: str, operands: Iterable[Term | int]) -> Term:
    """What a function that nothing is known of makes of its operands, at each place."""
    found: Hashes = _seed(kind)
    for one in operands:
        hashes = one.hashes if isinstance(one, Term) else np.uint64(one)
        found = mixed((found ^ hashes) + _STEP)
    return _of_hashes(found)


def places(kind: str, operands: Iterable[Term | int], shape: tuple[int, ...]) -> Term:
    """What such a function makes for each place of an array."""
    seed = np.uint64(combined(kind, operands))
    count = int(np.prod(shape, dtype=np.int64))
    found = mixed(seed + np.arange(count, dtype=np.uint64) * _STEP)
    return _of_hashes(np.asarray(found).reshape(shape))


def combined(kind: str, operands: Iterable[Term | int]) -> int:
    """One number of some values, of arrays as a whole."""
    hashed = hashlib.blake2b(kind.encode(), digest_size=8)
    for one in operands:
        digest = one.digest if isinstance(one, Term) else one
        hashed.update(digest.to_bytes(8, "little"))
    return int.from_bytes(hashed.digest(), "little")


def chosen(condition: Term, one: Term, other: Term) -> Term:
    """One of two values for each place, by a condition."""
    holds = condition.known
    if holds is not None:
        rest = np.where(holds != 0, one.rest, other.rest)
        return Term(rest, np.where(holds != 0, one.number, other.number))
    same = one.same_as(other)
    found = made("choice", (condition, one, other))
    return Term(np.where(same, one.rest, found.rest), np.where(same, one.number, found.number))


@cache
def _seed(kind: str) -> np.uint64:
    hashed = hashlib.blake2b(kind.encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(hashed, "little"))


def _of_hashes(hashes: Hashes) -> Term:
    return Term(np.asarray(hashes | _ODD), np.zeros((), np.int64))
