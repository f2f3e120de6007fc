"""Why a plan takes more bytes than the plan of another state of the kernel, by cause.

An arena is the heaviest set of buffers of which no two may share, and alignment padding, and what
packing leaves beyond these. From the old kernel to the new one there is one change at a time, in
the order of `CauseKind`: after each one the heaviest set is computed again, and the growth of its
weight is the bytes of that change. Padding and packing are what remains on either side. So the
bytes of all causes add up to the whole difference; in another order they may be distributed
otherwise. What a change does alone, or a few together, is what the new kernel's heaviest set loses
without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from smemreuse.explainer.matching import renamed_buffers
from smemreuse.planner import PACKERS, Problem
from smemreuse.planner.problem import bounded
from smemreuse.results.comparison import NOT_WORTH
from smemreuse.results.difference import (
    CauseKind,
    Difference,
    DifferenceCause,
    NamedLayout,
    Names,
    by_kernel,
)
from smemreuse.targets.residents import blocks_with_fewer

Blame = tuple[tuple[str, ...], str]
"""The buffers that changed, and how."""


def difference_of(old: NamedLayout, new: NamedLayout) -> Difference:
    """The causes for which `new` takes more bytes than `old`, or fewer."""
    renamed = renamed_buffers(old, new)
    steps = _Steps(old, new, renamed)
    causes = tuple(steps.causes())
    return Difference(old, new, causes, tuple(renamed.items()), _restoring(old, new, steps))


def _restoring(old: NamedLayout, new: NamedLayout, steps: _Steps) -> tuple[DifferenceCause, ...]:
    """The fewest changes without which no resident block is lost; none where `FEW` do not do."""
    before = old.residents.blocks if old.residents is not None else 0
    if new.residents is None or new.symbolic or new.residents.blocks >= before:
        return ()
    # What took bytes away would be of no use in any set.
    taking = [one for one, undo in steps.undoing.items() if steps.takes_bytes(undo)]

    def is_enough(chosen: Iterable[DifferenceCause]) -> bool:
        saved = steps.saved_without(steps.undoing[one] for one in chosen)
        now = blocks_with_fewer(new.residents, saved)
        return now is not None and now >= before

    if not is_enough(taking):
        return ()
    sets = (chosen for many in range(1, FEW + 1) for chosen in combinations(taking, many))
    return next(filter(is_enough, sets), ())


FEW = 3
"""Changes that are looked at together."""


@dataclass(frozen=True)
class _Undo:
    """The new kernel without a change: the sizes (bytes) of buffers then, 0 of those that are not
    there, and the pairs that conflict in one of the two alone."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    edges: frozenset[Names] = frozenset()


def with_moves(found: Sequence[Difference]) -> list[Difference]:
    """The differences, in which a buffer that a kernel has in another scope now is told to have
    moved there; it is counted in each scope as one that vanished, or is new."""
    scopes: dict[tuple[int, CauseKind, str], NamedLayout] = {}
    kernel_of = {id(one): at for at, each in enumerate(by_kernel(found)) for one in each.scopes}
    for one in found:
        for cause in one.causes:
            if cause.kind in _OPPOSITES:
                side = one.old if cause.kind is CauseKind.VANISHED else one.new
                scopes[kernel_of[id(one)], cause.kind, cause.buffers[0]] = side

    def told(cause: DifferenceCause, kernel: int) -> DifferenceCause:
        opposite = _OPPOSITES.get(cause.kind)
        name = cause.buffers[0] if opposite else ""
        other = scopes.get((kernel, opposite, name)) if opposite else None
        if other is None:
            return cause
        here = scopes[kernel, cause.kind, name]
        way = "to" if cause.kind is CauseKind.VANISHED else "here from"
        sizes = here.sizes[name], other.sizes[name]
        there = f", {sizes[1]:,} there" if sizes[0] != sizes[1] else ""
        return replace(cause, text=f"{name} moved {way} {other.scope}: {sizes[0]:,} bytes{there}")

    return [
        replace(one, causes=tuple(told(cause, kernel_of[id(one)]) for cause in one.causes))
        for one in found
    ]


_OPPOSITES = {CauseKind.VANISHED: CauseKind.APPEARED, CauseKind.APPEARED: CauseKind.VANISHED}
"""What a buffer that moves is in the scope that it leaves, and in the one that it comes to."""


class _Steps:
    """The way from the old problem to the new one. Buffers of both go by their new names, others
    by the one that they have, or `name (old)` where a new one has taken it."""

    def __init__(self, old: NamedLayout, new: NamedLayout, renamed: dict[str, str]):
        self._old, self._new = old, new
        same = {name: name for name in old.sizes if name in new.sizes} | renamed
        self._before = {new_name: old_name for old_name, new_name in same.items()}
        self._gone = [name for name in old.sizes if name not in same]
        self._kept = [name for name in new.sizes if name in self._before]
        self._fresh = [name for name in new.sizes if name not in self._before]
        now = {old_name: new_name for new_name, old_name in self._before.items()}
        self._sizes = {now.get(name, f"{name} (old)"): size for name, size in old.sizes.items()}
        self._edges = {
            frozenset(now.get(name, f"{name} (old)") for name in pair) for pair in _edges(old)
        }
        self._weight = self._weighed()
        self._now = _edges(new)
        self._heaviest_now = _weight(dict(new.sizes), self._now)
        self.undoing: dict[DifferenceCause, _Undo] = {}

    def takes_bytes(self, undo: _Undo) -> bool:
        """Whether a change made a buffer larger, or pairs conflict."""
        grown = any(size < self._new.sizes.get(name, 0) for name, size in undo.sizes.items())
        return grown or not undo.edges.isdisjoint(self._now)

    def saved_without(self, changes: Iterable[_Undo]) -> int:
        """The bytes that the new kernel's heaviest set loses without some of its changes."""
        sizes, edges = dict(self._new.sizes), set(self._now)
        for undo in changes:
            sizes |= undo.sizes
            edges ^= undo.edges
        return self._heaviest_now - _weight(sizes, edges)

    def causes(self) -> Iterator[DifferenceCause]:
        yield from self._vanished()
        yield from self._resized()
        kinds = ((CauseKind.RANGE, self._ranges), (CauseKind.CONFLICT, self._conflicts))
        for kind, changed in kinds:
            for (buffers, text), edges in changed().items():
                self._edges ^= edges
                yield self._cause(kind, buffers, text, _Undo(edges=frozenset(edges)))
        yield from self._appeared()
        yield from self._remains()

    def _cause(
        self, kind: CauseKind, buffers: tuple[str, ...], text: str, undo: _Undo | None
    ) -> DifferenceCause:
        """The cause of the last step, with the bytes by which the heaviest set grew."""
        before, self._weight = self._weight, self._weighed()
        alone = None if undo is None else self.saved_without([undo])
        made = DifferenceCause(kind, buffers, self._weight - before, text, alone)
        if undo is not None:
            self.undoing[made] = undo
        return made

    def _weighed(self) -> int:
        return _weight(self._sizes, self._edges)

    def _vanished(self) -> Iterator[DifferenceCause]:
        for name in self._gone:
            size = self._sizes.pop(f"{name} (old)")
            gone = {pair for pair in self._edges if f"{name} (old)" in pair}
            self._edges -= gone
            text = f"{name} vanished: {size:,} bytes"
            # Nobody knows whether it would have shared with what is new.
            undo = None if self._fresh else _Undo({f"{name} (old)": size}, self._among_kept(gone))
            yield self._cause(CauseKind.VANISHED, (name,), text, undo)

    def _among_kept(self, pairs: set[Names]) -> frozenset[Names]:
        """Those pairs that are not of two buffers that vanished."""
        kept = {*self._kept}
        return frozenset(pair for pair in pairs if pair & kept)

    def _resized(self) -> Iterator[DifferenceCause]:
        for name in self._kept:
            before, after = self._sizes[name], self._new.sizes[name]
            if before != after:
                self._sizes[name] = after
                how = "grew" if after > before else "shrank"
                text = f"{name} {how}: {before:,} to {after:,} bytes"
                text += self._restaged(name, shrank=after < before)
                yield self._cause(CauseKind.SIZE, (name,), text, _Undo({name: before}))

    def _restaged(self, name: str, *, shrank: bool) -> str:
        """That a pipeline has another number of stages, where both are known."""
        before, after = self._old.stages.get(self._before[name]), self._new.stages.get(name)
        if before is None or after is None or before == after:
            return ""
        if shrank == (after < before):
            return f" (a pipeline's stages: {before} to {after})"
        return f", although its stages went from {before} to {after}"

    def _changed(self) -> Iterator[tuple[str, str, bool]]:
        """Pairs of buffers of both sides that conflict on one only, and whether that is the new
        one."""
        for one, two in combinations(self._kept, 2):
            now = frozenset((one, two)) in self._now
            if now != (frozenset((one, two)) in self._edges):
                yield one, two, now

    def _ranges(self) -> dict[Blame, set[Names]]:
        """Pairs that are live together on one side only, by the range that is to blame."""
        found: dict[Blame, set[Names]] = {}
        for one, two, now in self._changed():
            side = self._new if now else self._old
            if side.together(*(name if now else self._before[name] for name in (one, two))):
                found.setdefault(self._blamed(one, two, now), set()).add(frozenset((one, two)))
        return {
            (names, self._with_partners(text, names, edges)): edges
            for (names, text), edges in found.items()
        }

    def _blamed(self, one: str, two: str, now: bool) -> Blame:
        """The buffer whose live range explains why two are `now` (or no longer) live together.

        That is the first of the two if its range ends elsewhere, or the second if its range begins
        elsewhere, by the statements there; both if neither or both changed. Returns the names and
        a sentence.
        """
        side = self._old if now else self._new
        verb = "now" if now else "no longer"
        if self._old.ends and self._new.ends:
            begins = {
                name: side.live[self._before[name] if now else name][0] for name in (one, two)
            }
            first, second = sorted((one, two), key=lambda name: begins[name])
            ends = [self._moved(first, 1), self._moved(second, 0)]
            if ends[0] and not ends[1]:
                way = "longer" if now else "shorter"
                return (first,), f"the live range of {first} is {way}: it ended at {ends[0]}"
            if ends[1] and not ends[0]:
                way = "longer" if now else "shorter"
                return (second,), f"the live range of {second} is {way}: it began at {ends[1]}"
        reason = self._why(one, two, now)
        if not now:
            reason = reason and f"; before: {reason.removeprefix(': ')}"
        reason = reason.replace(": live together ", ", ", 1)
        return (one, two), f"{one} and {two} are {verb} live together{reason}"

    def _with_partners(self, text: str, names: tuple[str, ...], edges: set[Names]) -> str:
        """Names whom a range meets now, or no longer, and the rule for it; a pair's text does."""
        if len(names) > 1:
            return text
        others = sorted({other for pair in edges for other in pair} - {*names})
        longer = " is longer: " in text
        why = self._why(names[0], others[0], longer).removeprefix(": ") if longer else ""
        because = f" ({why})" if why.startswith("rule") else ""
        meets = "so it meets" if longer else "so it no longer meets"
        return f"{text}, {meets} {', '.join(others)}{because}"

    def _moved(self, name: str, end: int) -> str:
        """The statements at an end of a range, before and after; empty if they are alike."""
        before = self._old.ends[self._before[name]][end]
        after = self._new.ends[name][end]
        alike = _unnumbered(before) == _unnumbered(after)
        return "" if alike else f"{before}, and now does at {after}"

    def _why(self, one: str, two: str, now: bool) -> str:
        why = (
            self._new.why(one, two) if now else self._old.why(self._before[one], self._before[two])
        )
        return f": {why}" if why else ""

    def _conflicts(self) -> dict[Blame, set[Names]]:
        """Pairs that must not share on one side only, though they are not live together there."""
        found: dict[Blame, set[Names]] = {}
        for one, two, now in self._changed():
            verb = "must not share now" if now else "may share now"
            reason = self._why(one, two, now)
            was = "" if now or not reason else ", which they might not"
            text = f"{one} and {two} {verb}{was}{reason}"
            found.setdefault(((one, two), text), set()).add(frozenset((one, two)))
        return found

    def _appeared(self) -> Iterator[DifferenceCause]:
        for name in self._fresh:
            self._sizes[name] = self._new.sizes[name]
            self._edges |= {
                pair for pair in self._now if name in pair and pair <= self._sizes.keys()
            }
            text = f"{name} is new: {self._sizes[name]:,} bytes"
            yield self._cause(CauseKind.APPEARED, (name,), text, _Undo({name: 0}))

    def _remains(self) -> Iterator[DifferenceCause]:
        padding, loose = _remainder(self._old)
        padding_now, loose_now = _remainder(self._new)
        if padding != padding_now:
            who = self._realigned()
            text = f"alignment padding: {padding:,} to {padding_now:,} bytes"
            alignments = f" ({', '.join(map(self._alignment, who))})" if who else ""
            grown = padding_now - padding
            yield DifferenceCause(CauseKind.ALIGNMENT, who, grown, text + alignments, grown)
        if loose != loose_now:
            before, now = (f"{one:,} bytes" if one else "none" for one in (loose, loose_now))
            text = f"the old layout left {before} unused or unshared, the new one {now}"
            grown = loose_now - loose
            is_meant = grown > 0 and self._new.objective == "speed"
            alone = grown if grown > 0 and not is_meant else None  # nobody packs worse again
            text += f": {NOT_WORTH}" * is_meant
            yield DifferenceCause(CauseKind.PACKING, (), grown, text, alone)

    def _realigned(self) -> tuple[str, ...]:
        return tuple(
            name
            for name in self._kept
            if self._old.alignments[self._before[name]] != self._new.alignments[name]
        )

    def _alignment(self, name: str) -> str:
        before = self._old.alignments[self._before[name]]
        return f"{name} is aligned to {self._new.alignments[name]:,}, was to {before:,}"


def _edges(layout: NamedLayout) -> set[Names]:
    """The pairs that must not share."""
    return {
        frozenset((one, two))
        for one, two in combinations(layout.sizes, 2)
        if layout.together(one, two) or frozenset((one, two)) in layout.conflicts
    }


def _weight(sizes: dict[str, int], edges: set[Names]) -> int:
    """The bytes of the heaviest set of which no two may share."""
    return _problem(sizes, dict.fromkeys(sizes, 1), edges).lower_bound


def _problem(sizes: dict[str, int], alignments: dict[str, int], edges: set[Names]) -> Problem:
    number = {name: place for place, name in enumerate(sizes)}
    pairs = sorted((min(found), max(found)) for found in ([number[n] for n in e] for e in edges))
    return bounded([*sizes.values()], [alignments[name] for name in sizes], pairs, [*sizes])


def _remainder(layout: NamedLayout) -> tuple[int, int]:
    """Bytes that alignment costs the best packer, and those that the arena has beyond that."""
    sizes, edges = dict(layout.sizes), _edges(layout)
    aligned = _problem(sizes, dict(layout.alignments), edges)
    loose = _problem(sizes, dict.fromkeys(sizes, 1), edges)
    padding = PACKERS["best"](aligned).arena - PACKERS["best"](loose).arena
    return padding, layout.arena - aligned.lower_bound - padding


def _unnumbered(place: str) -> str:
    """A statement without its line, which moves with whatever stands before it."""
    return place.rpartition(" (line ")[0] or place
