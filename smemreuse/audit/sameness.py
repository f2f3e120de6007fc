"""Which views of an arena are of one buffer.

To take each for a buffer of its own hides what goes through two of them: written through one, read
through the other, and lost in between to a third. A view through which more is read than has been
written shows what another one wrote. Which one, the name tells, which the views of a buffer share;
and it is not told by the name alone (rule 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from smemreuse.audit.contents import Contents, contents_of
from smemreuse.audit.layout import AppliedLayout
from smemreuse.audit.reach import Reach
from smemreuse.ir.kernel import Buffer

Group = tuple[Buffer, ...]
"""Views of one buffer, which is named for the first."""

Groups = tuple[Group, ...]


@dataclass(frozen=True)
class Sorted:
    """The layout of buffers, each with all its views; what is assumed for it, and what unknown."""

    layout: AppliedLayout
    assumed: tuple[str, ...]
    doubts: tuple[str, ...]


def one_buffer_each(
    reached: Mapping[Buffer, Reach],
    scope: str,
    separated: Callable[[Groups], AppliedLayout | None],
) -> Sorted | None:
    """Joins views until none is read that shows another's contents.

    `separated` gives the layout that has a buffer for each group. None where it gives none.
    """
    groups: Groups = tuple((view,) for view in reached)
    assumed: list[str] = []
    while True:
        layout = separated(groups)
        if layout is None:
            return None
        mixed = list(_mixed(groups, reached, scope, layout))
        pairs = [(one, source) for one, source in mixed if source is not None]
        if not pairs:
            doubts = tuple(
                f"{one[0].name} is read before it is written: it may be of one buffer with another "
                "view in its bytes"
                for one, _ in mixed
            )
            return Sorted(layout, tuple(assumed), doubts)
        one, source = pairs[0]
        assumed.append(f"{one[0].name} and {source[0].name} are views of one buffer")
        joined = (*source, *one)
        groups = tuple(joined if group is source else group for group in groups if group is not one)


def _mixed(
    groups: Groups, reached: Mapping[Buffer, Reach], scope: str, layout: AppliedLayout
) -> Iterator[tuple[Group, Group | None]]:
    """Groups that show another's contents: that one, or None if nobody knows which."""
    whole = {group: _whole(group, reached) for group in groups}
    for group, buffer in zip(groups, layout.offsets, strict=True):
        here = whole[group]
        others = [one for one in groups if one is not group and whole[one].meets(here)]
        sources = [one for one in others if whole[one].written]
        if not here.read or not sources:
            continue
        contents = contents_of(layout.kernel, scope, buffer) if here.written else Contents.OTHERS
        if contents is Contents.OWN:
            continue
        named = [one for one in sources if _base(one) == _base(group)]
        if contents is not Contents.OTHERS:  # it may be: but who writes what is never read?
            named = [one for one in named if contents is Contents.PERHAPS and not whole[one].read]
        yield group, named[0] if len(named) == 1 else None


def _whole(group: Group, reached: Mapping[Buffer, Reach]) -> Reach:
    found = reached[group[0]]
    for view in group[1:]:
        found = found.and_(reached[view])
    return found


def _base(group: Group) -> str:
    """The name without the number that the printer gives to one that occurs again."""
    return re.sub(r"(_\d+)+$", "", group[0].name)
