"""Which views of an arena are of one buffer.

To take each for a buffer of its own hides what goes through two of them: written through one, read
through the other, and lost in between to a third. A view through which more is read than has been
written shows what another one wrote. Which one, the name tells, which the views of a buffer share;
and the name alone does not decide (rule 1).

Whether a buffer is read before it is written the checker is asked about the kernel with a prologue:
the buffer gets contents, and then another one overwrites all of them. A thread that reads before it
has written reads what is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from smemreuse.audit.layout import AppliedLayout
from smemreuse.audit.reach import ReachedBytes
from smemreuse.checker import check_plan
from smemreuse.ir.expr import Call, Const, Expr
from smemreuse.ir.kernel import (
    THREAD_EXTENT,
    Allocate,
    Attr,
    Block,
    Buffer,
    Evaluate,
    If,
    Kernel,
    Store,
)
from smemreuse.ir.launch import AXES, launches, tag_of
from smemreuse.results.rules import Rule
from smemreuse.results.verdict import SOUND, UNSOUND
from smemreuse.semantics.table import BLOCK_BARRIER

Group = tuple[Buffer, ...]
"""Views of one buffer, which is named for the first."""

Groups = tuple[Group, ...]


@dataclass(frozen=True)
class JoinedViews:
    """The layout in which all views of a buffer are joined, with what it assumes and what is
    unknown.
    """

    layout: AppliedLayout
    assumed: tuple[str, ...]
    doubts: tuple[str, ...]


def one_buffer_each(
    reached: Mapping[Buffer, ReachedBytes],
    scope: str,
    separated: Callable[[Groups], AppliedLayout | None],
) -> JoinedViews | None:
    """Joins views into buffers until no read through a buffer shows another buffer's contents.

    `separated` gives the layout with one buffer for each group of views; None where there is none,
    and then the result is None too. Each join is an assumption of the result.
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
            return JoinedViews(layout, tuple(assumed), doubts)
        one, source = pairs[0]
        assumed.append(f"{one[0].name} and {source[0].name} are views of one buffer")
        joined = (*source, *one)
        groups = tuple(joined if group is source else group for group in groups if group is not one)


def _mixed(
    groups: Groups, reached: Mapping[Buffer, ReachedBytes], scope: str, layout: AppliedLayout
) -> Iterator[tuple[Group, Group | None]]:
    """The groups whose reads may show contents that were written through another group.

    Each comes with the group that wrote them, or None if that is not known.
    """
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


def _whole(group: Group, reached: Mapping[Buffer, ReachedBytes]) -> ReachedBytes:
    found = reached[group[0]]
    for view in group[1:]:
        found = found.and_(reached[view])
    return found


def _base(group: Group) -> str:
    """The name without the number that the printer gives to one that occurs again."""
    name = group[0].name
    while True:
        rest, underscore, number = name.rpartition("_")
        if not underscore or not number.isdecimal():
            return name
        name = rest


# Contents --------------------------------------------------------------------------------------


class Contents(Enum):
    """Whose contents are read through a buffer."""

    OWN = "only what has been written through it"
    OTHERS = "some thread reads what was not written through it"
    PERHAPS = "some thread may read what was not written through it"
    UNKNOWN = "the kernel is not followed"


def contents_of(kernel: Kernel, scope: str, buffer: Buffer) -> Contents:
    """Whose contents are read through a buffer: its own, if each read follows a write to the same
    bytes.

    In `kernel` each buffer is a separate allocation with a known size in bytes.
    """
    size = buffer.size or 0
    others = [one for one in kernel.allocations(scope) if one is not buffer]
    lost = Buffer(f"{buffer.name}_lost", "uint8", (Const(size),), scope)
    offsets = {buffer: 0, lost: 0}
    arena = size
    for one in others:
        offsets[one] = arena
        arena += one.size or 0
    barrier = Evaluate(Call(BLOCK_BARRIER.op, (Const(scope),)))

    def prologue(first: Expr) -> Block:
        written = (If(first, (_all_of(one),)) for one in (buffer, lost))
        return tuple(stmt for write in written for stmt in (write, barrier))

    body = (
        *map(Allocate, offsets),
        *_begun(_unallocated(kernel.body, offsets), prologue, Const(1)),
    )
    begun = replace(kernel, body=body)
    verdict = check_plan(
        begun, scope, offsets, arena, dict.fromkeys(offsets, 1), assume_barriers=False
    )
    if verdict.verdict is SOUND:
        return Contents.OWN
    lost_contents = any(one.rule is Rule.LOOP_CARRIED for one in verdict.violations)
    if verdict.verdict is UNSOUND and lost_contents:
        return Contents.OTHERS
    return Contents.PERHAPS if lost_contents else Contents.UNKNOWN


def _all_of(buffer: Buffer) -> Store:
    (count,) = buffer.shape
    return Store(buffer, (Call("ramp", (Const(0), Const(1), count)),), Const(0))


def _unallocated(block: Block, buffers: Collection[Buffer]) -> Block:
    """The block without the allocations of `buffers`."""
    return tuple(
        replace(stmt, body=_unallocated(stmt.body, buffers)) if isinstance(stmt, Attr) else stmt
        for stmt in block
        if not (isinstance(stmt, Allocate) and stmt.buffer in buffers)
    )


def _begun(block: Block, prologue: Callable[[Expr], Block], first: Expr) -> Block:
    """With a beginning in the innermost launch, made for the first thread of a block."""
    for place, stmt in enumerate(block):
        if isinstance(stmt, Attr) and any(True for _ in launches((stmt,))):
            if stmt.key == THREAD_EXTENT and tag_of(stmt) in AXES and stmt.var is not None:
                first = Call("and", (first, Call("eq", (stmt.var, Const(0)))))
            inside = replace(stmt, body=_begun(stmt.body, prologue, first))
            return (*block[:place], inside, *block[place + 1 :])
    return (*prologue(first), *block)
