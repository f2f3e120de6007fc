"""How many barriers a block has: the one place that answers before ptxas does.

An SM has a number of them, of which a block takes as many as the highest number that it uses, and
one. ptxas counts them so (`used 5 barriers`), and since capability 9.0 blocks are resident only as
far as they go. What `ThreadSync` inserts later is not in a dump from before.
"""

from __future__ import annotations

from collections.abc import Iterator

from smemreuse.ir.expr import Call, constant
from smemreuse.ir.kernel import Kernel, walk_statements
from smemreuse.semantics.effects import Group, Meeting
from smemreuse.semantics.table import calls_of, effect_of

ALL = 16
"""The barriers that a block can have; ptxas takes them all where one's number is not a constant."""


def barriers_of(kernel: Kernel) -> int:
    """Barriers of a block as far as the kernel names them, the one of all its threads included."""
    return kernel.memo.once(barriers_of, lambda: max(_taken(kernel), default=1))


def _taken(kernel: Kernel) -> Iterator[int]:
    """For each named barrier how many a block has for it."""
    for stmt in walk_statements(kernel.body):
        for call in calls_of(stmt):
            effect = effect_of(call)
            for meeting in (effect.meeting, *effect.within):
                if meeting is not None and meeting.group is Group.NAMED:
                    yield _up_to(call, meeting)


def _up_to(call: Call, meeting: Meeting) -> int:
    number = meeting.number
    if number is None:
        at = meeting.identity
        if at is None or at >= len(call.args):
            return 1  # the operation names none: the block's
        number = constant(call.args[at])
    return ALL if number is None else min(number + 1, ALL)
