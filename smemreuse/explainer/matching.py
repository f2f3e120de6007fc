"""Which kernel, and which buffer, of one state of a program is which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from smemreuse.results.difference import NamedLayout
from smemreuse.results.matching import matched, unmatched


@dataclass(frozen=True)
class Matched:
    """Pairs of old and new, and what has no partner."""

    pairs: tuple[tuple[NamedLayout, NamedLayout], ...]
    vanished: tuple[NamedLayout, ...]
    appeared: tuple[NamedLayout, ...]

    @property
    def may_hide_growth(self) -> bool:
        """Whether a kernel that appeared may be one that vanished, renamed, or none has a partner
        at all."""
        return bool(self.vanished and self.appeared) or not self.pairs


def matched_kernels(old: Sequence[NamedLayout], new: Sequence[NamedLayout]) -> Matched:
    """Which is which, as in a baseline; a scope that its kernel has on one side only took or takes
    no bytes on the other."""
    places = matched(new, old)
    pairs = [(old[at], one) for one, at in zip(new, places, strict=True) if at is not None]
    gone = {*unmatched(places, old)}
    vanished = tuple(one for at, one in enumerate(old) if at in gone)
    known = {(one.file, one.kernel) for _, one in pairs}
    pairs += [(one, _empty(one)) for at, one in enumerate(old) if at not in gone | {*places}]
    appeared = []
    for one, at in zip(new, places, strict=True):
        if at is None and (one.file, one.kernel) in known:
            pairs.append((_empty(one), one))
        elif at is None:
            appeared.append(one)
    order = {id(one): place for place, one in enumerate(new)}
    pairs.sort(key=lambda pair: order.get(id(pair[1]), len(order)))
    return Matched(tuple(pairs), vanished, tuple(appeared))


def _empty(one: NamedLayout) -> NamedLayout:
    """A scope in which a kernel has no buffers."""
    return NamedLayout(one.file, one.kernel, one.scope, {}, {}, {}, 0, {}, is_absent=True)


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
