"""Which kernel, and which buffer, of one state of a program is which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from smemreuse.results.difference import NamedLayout


@dataclass(frozen=True)
class Matched:
    """Pairs of old and new, and what has no partner."""

    pairs: tuple[tuple[NamedLayout, NamedLayout], ...]
    vanished: tuple[NamedLayout, ...]
    appeared: tuple[NamedLayout, ...]


def matched_kernels(old: Sequence[NamedLayout], new: Sequence[NamedLayout]) -> Matched:
    """By name and scope; where several have one name, by the name of their file, then in order.

    One that is left on either side is taken to be the same, renamed.
    """
    pairs: list[tuple[NamedLayout, NamedLayout]] = []
    left, right = [*old], [*new]
    for key in (_by_name, _by_file):
        left_keys, right_keys = _once(left, key), _once(right, key)
        for name in [one for one in left_keys if one in right_keys]:
            pairs.append((left_keys[name], right_keys[name]))
        left = [one for one in left if all(one is not pair[0] for pair in pairs)]
        right = [one for one in right if all(one is not pair[1] for pair in pairs)]
    for one in [*left]:
        same = next((other for other in right if _by_file(other) == _by_file(one)), None)
        if same is not None:
            pairs.append((one, same))
            left.remove(one)
            right.remove(same)
    if len(left) == len(right) == 1 and left[0].scope == right[0].scope:
        pairs.append((left.pop(), right.pop()))  # renamed; the output shows both names
    order = {id(one): place for place, one in enumerate(new)}
    pairs.sort(key=lambda pair: order[id(pair[1])])
    return Matched(tuple(pairs), tuple(left), tuple(right))


def _by_name(one: NamedLayout) -> Hashable:
    return one.kernel, one.scope


def _by_file(one: NamedLayout) -> Hashable:
    return Path(one.file).name, one.kernel, one.scope


def _once(
    found: Sequence[NamedLayout], key: Callable[[NamedLayout], Hashable]
) -> dict[Hashable, NamedLayout]:
    """The items whose key occurs only once, by that key."""
    counts = Counter(map(key, found))
    return {key(one): one for one in found if counts[key(one)] == 1}


def renamed_buffers(old: NamedLayout, new: NamedLayout) -> dict[str, str]:
    """Old names and new ones of buffers that are on one side only, and are taken to be the same:
    no other one there has the same bytes and is touched alike."""
    left = {name: _looks(old, name) for name in old.sizes if name not in new.sizes}
    right = {name: _looks(new, name) for name in new.sizes if name not in old.sizes}
    counts = Counter(left.values()), Counter(right.values())
    return {
        name: other
        for name, looks in left.items()
        for other, others in right.items()
        if looks is not None and looks == others and counts[0][looks] == counts[1][looks] == 1
    }


def _looks(layout: NamedLayout, name: str) -> Hashable:
    """What a buffer is recognized by; None where it is not known what touches it."""
    touches = layout.touches.get(name)
    return None if touches is None else (layout.sizes[name], touches)
