"""Hazards of one kernel by their cause: the first of each in full, the others by their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from smemreuse.results.accepted import Identity
from smemreuse.results.evidence import by_severity, seen_words
from smemreuse.results.hazard_groups import by_cause
from smemreuse.results.hazards import Hazard, Mend, brief_sentence, doubt_of
from smemreuse.results.sites import Site, place_of
from smemreuse.results.symptoms import symptom_of
from smemreuse.results.undecided import Undecided

Told = tuple[Hazard, Identity]


def cause_lines(found: Iterable[Told], *, each: bool = False) -> Iterator[Text]:
    """The hazards of a kernel by their cause, the gravest first; with `each`, one by one."""
    ordered = sorted(found, key=lambda one: by_severity(one[0]))
    told = _Told()
    for group in [[one] for one in ordered] if each else by_cause(ordered):
        yield from _group_lines(group, told)


def has_more(found: Iterable[Told]) -> bool:
    """Whether some cause has several hazards, so that not each is told in full."""
    return any(len(group) > 1 for group in by_cause(found))


@dataclass
class _Told:
    """What has been told of a kernel, and is not told again: under which conditions possible
    hazards are none, and fixes, each with the id of its hazard."""

    doubts: set[str] = field(default_factory=set)
    fixes: list[tuple[Mend, str]] = field(default_factory=list)

    def fix(self, hazard: Hazard, finding: str) -> str:
        """How a hazard is fixed: in full, or by which fence of another one, if that comes late
        enough."""
        mend = hazard.mend
        for other, of in self.fixes if hazard.certain else ():
            if mend.is_one_with(other) and mend.after is not None:
                after = place_of(mend.after).rstrip(": ") or f"`{mend.after.statement}`"
                return f"by the fence of [{of}], if that is also after {after}."
        self.fixes.append((mend, finding))
        return mend.sentence


def _group_lines(group: Sequence[Told], told: _Told) -> Iterator[Text]:
    hazard, identity = group[0]
    head = f"{symptom_of(hazard)}: {brief_sentence(hazard)}"
    yield Text(f"  {place_of(hazard.site)}{head} [{identity.short}]")
    yield Text(f"    fix: {told.fix(hazard, identity.short)}")
    if hazard.undecided is not None:
        yield Text(f"    possible, not certain: {undecided_words(one for one, _ in group)}")
    if hazard.certain:
        yield Text(f"    {seen_words(hazard)}", style="dim")
    elif (doubt := doubt_of(hazard)) not in told.doubts:
        told.doubts.add(doubt)
        yield Text(f"    {doubt}", style="dim")
    if rest := group[1:]:
        yield from _likewise(rest, told)


def _likewise(rest: Sequence[Told], told: _Told) -> Iterator[Text]:
    """The other hazards of a cause: certain ones with their fixes, as each has to be fixed."""
    named = [f"{_where(hazard)} [{identity.short}]" for hazard, identity in rest]
    count = f"    {len(rest):,} more of this cause:"
    if not rest[0][0].certain:
        yield Text(f"{count} {'; '.join(named)}")
        return
    yield Text(count)
    for (hazard, identity), name in zip(rest, named, strict=True):
        yield Text(f"      {name}: fix: {told.fix(hazard, identity.short)}")


def undecided_words(hazards: Iterable[Hazard]) -> str:
    """What is not known of hazards of one cause: of the first in a sentence, of others where."""
    open_ = dict.fromkeys(one.undecided for one in hazards if one.undecided is not None)
    first, *others = open_
    return f"{first.sentence}{_likewise_at(others)}"


def _likewise_at(others: Sequence[Undecided]) -> str:
    places = _places([one.site for one in others])
    return f"; likewise {places}" if places else ""


def _where(hazard: Hazard) -> str:
    """`As at line 7 and line 9`: its buffers, and where its statements are."""
    sites = (site for site in (hazard.other, hazard.site) if site is not None)
    return " at ".join(filter(None, (", ".join(hazard.buffers), _places([*sites]))))


def _places(sites: Sequence[Site]) -> str:
    """`lines 7, 9`; with the lines of the user's Python, or the statement, where it takes them."""
    numbers = sorted({site.line for site in sites if site.line and site.source is None})
    if numbers and all(site.line in numbers for site in sites):
        return f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
    places = (site.place.strip(" ()") or f"`{site.statement}`" for site in sites)
    return " and ".join(dict.fromkeys(places))
