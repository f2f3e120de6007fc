"""Which kernel of one state of a program is which of another: of a baseline, of an older dump."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import PurePath
from typing import Protocol

Key = Callable[["Named"], Hashable]
Fits = Callable[[Sequence["Named"], Sequence["Named"]], bool]


class Named(Protocol):
    """A kernel and storage scope of a file, by their names."""

    @property
    def file(self) -> str: ...

    @property
    def kernel(self) -> str: ...

    @property
    def scope(self) -> str: ...


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel of a file, where scopes do not matter."""

    file: str
    kernel: str
    scope: str = ""


@cache
def _parts(file: str) -> tuple[str, ...]:
    return PurePath(file).parts


def _base(one: Named) -> str:
    return PurePath(one.file).name


def _by_tail(length: int) -> Key:
    """What has its name and scope in a file whose path ends alike."""
    return lambda one: (_parts(one.file)[-length:], one.kernel, one.scope)


def _tails(now: Sequence[Named], before: Sequence[Named]) -> Iterator[Key]:
    """The ends of paths, the longest first: `./x/a.tir` is rather `x/a.tir` than `y/a.tir`."""
    longest = max((len(_parts(one.file)) for one in chain(now, before)), default=0)
    yield from map(_by_tail, range(longest, 0, -1))


def _exactly(one: Named) -> Hashable:
    return one.file, one.kernel, one.scope


_IF_SINGLE: tuple[Key, ...] = (
    lambda one: (one.kernel, one.scope),
    lambda one: (one.file, one.kernel),
    lambda one: (_base(one), one.kernel),
    lambda one: one.kernel,
)
_IF_AS_MANY: tuple[Key, ...] = (
    lambda one: (one.file, one.scope),
    lambda one: (_base(one), one.scope),
)


def _files(named: Sequence[Named]) -> int:
    return len({one.file for one in named})


def _always(new: Sequence[Named], old: Sequence[Named]) -> bool:
    return True


def _told_apart(new: Sequence[Named], old: Sequence[Named]) -> bool:
    """Whether there is a file for each old one: of one of two it is not told which it is."""
    return _files(new) >= _files(old)


def _single(new: Sequence[Named], old: Sequence[Named]) -> bool:
    return len(new) == len(old) == 1


def _as_many(new: Sequence[Named], old: Sequence[Named]) -> bool:
    return len(new) == len(old)


def _as_many_of_a_file(new: Sequence[Named], old: Sequence[Named]) -> bool:
    return _as_many(new, old) and _files(new) == _files(old) == 1


def matched(
    now: Sequence[Named],
    before: Sequence[Named],
    asked: Callable[[Named], bool] = lambda one: True,
) -> list[int | None]:
    """For each of `now` the place in `before` of what it was, None where it is new.

    That is what has its name and scope in its file; else in the file whose path has the longest end
    in common with its own, for several of one name in their order; of fewer files than there were
    of one path's end it is not told which they are. Else, where there is one left on both sides:
    what has its name and scope in whatever file, or its name in another scope. Then those of one
    name in one file, where as many are left in one other. What is left then was renamed: the
    kernels of a file in their order, where there are as many on both sides, and the only one of all
    files, if `asked` says that the old one should have been found.
    """
    found: list[int | None] = [None] * len(now)
    state = _Matching(now, before, found, dict(enumerate(before)))
    state.pair(_exactly, _always)
    for key in _tails(now, before):
        state.pair(key, _told_apart)
    for key in _IF_SINGLE:
        state.pair(key, _single)
    state.pair(_IF_SINGLE[0], _as_many_of_a_file)
    for key in _IF_AS_MANY:
        state.pair(key, _as_many, whole=True)
    state.free = {place: one for place, one in state.free.items() if asked(one)}
    state.pair(lambda one: one.scope, _single, whole=True)
    return found


@dataclass
class _Matching:
    """What has a partner by now, and what in `before` is `free`."""

    now: Sequence[Named]
    before: Sequence[Named]
    found: list[int | None]
    free: dict[int, Named]

    def pair(self, key: Key, fits: Fits, whole: bool = False) -> None:
        """Pairs what has one key in order, where `fits` takes those of both sides.

        `whole` leaves out kernels of which another scope has a partner.
        """
        new, old = defaultdict(list), defaultdict(list)
        for place, one in self._left(whole):
            new[key(one)].append(place)
        gone = {*unmatched(self.found, self.before)} if whole else {*self.free}
        for place, one in self.free.items():
            if place in gone:
                old[key(one)].append(place)
        for common, places in new.items():
            others = old.get(common, [])
            if others and fits(self._of(self.now, places), self._of(self.before, others)):
                for place, other in zip(places, others, strict=False):
                    self.found[place] = other
                    del self.free[other]

    @staticmethod
    def _of(side: Sequence[Named], places: Sequence[int]) -> list[Named]:
        return [side[place] for place in places]

    def _left(self, whole: bool) -> list[tuple[int, Named]]:
        known = {
            (one.file, one.kernel)
            for one, place in zip(self.now, self.found, strict=True)
            if place is not None and whole
        }
        return [
            (place, one)
            for place, one in enumerate(self.now)
            if self.found[place] is None and (one.file, one.kernel) not in known
        ]


def unmatched(found: Sequence[int | None], before: Sequence[Named]) -> list[int]:
    """The places in `before` of kernels that are gone: of which no scope was matched, or of several
    of one name fewer than there were."""
    taken = {place for place in found if place is not None}
    kernels = {(before[place].file, before[place].kernel) for place in taken}
    scopes = {(*_name(before[place]), before[place].scope) for place in taken}
    return [
        place
        for place, one in enumerate(before)
        if place not in taken and (_name(one) not in kernels or (*_name(one), one.scope) in scopes)
    ]


def _name(one: Named) -> tuple[str, str]:
    return one.file, one.kernel
