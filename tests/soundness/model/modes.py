"""Which of the executions that the hardware may choose from is tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random


class IllDefined(Exception):
    """The unmerged kernel has no defined result: it reads what nobody wrote, it races, it hangs."""


class NotModelled(Exception):
    """The kernel does something that the model does not know."""


NEVER = 1 << 30


@dataclass(frozen=True)
class Mode:
    """One of the ways in which the hardware may run the kernel.

    `arms`: who goes next, of those who can: the first ("then") until it is blocked, the last
    ("else"), each in "turns", anyone ("shuffled"), anyone for a while ("bursts"), or whoever has
    the highest of ranks that are drawn anew now and then ("ranked").
    `late`: after how many more steps something asynchronous happens, at the latest at the wait for
    it; a negative number: as many, but each time another number; None: any number.
    `seed`: of all that is left to chance.

    As a kernel stands when its barriers are still to come (`assumed`), all threads go together, as
    if a barrier stood between any two statements, and meet again behind a branch. Then
    `halves`: a statement runs for one half of its threads first (0: lower, 1: upper), or None;
    `free`: in a divergent arm only whole warps go together, other threads on their own.

    Otherwise nobody waits for anybody but where the kernel says so. The threads of a warp go
    together as long as they can, or in `parts`; where they have parted they stay apart unless
    `rejoins`; with `converges` they meet again behind each branch, as in a kernel whose barriers
    are to come. `hold`: some agents stop at this part of the program (0 to 1) as long as others can
    go on, or all that is under way happens when they come there. `starved`: one warp, counted round
    all of them, goes on only when nobody else can, and does not look before whether it could.
    `fences`: whether the proxies' accesses need fences between them (rule 11). `races`: whether
    accesses need an order, whatever their values; copies have to be late then. `literal`:
    whether barriers wait for all threads whom they are for by the letter: those that have ended
    too, and at a grid's those that come to the block's instead.
    """

    arms: str = "then"
    late: int | None = 0
    halves: int | None = None
    free: bool = False
    seed: int = 0
    assumed: bool = True
    parts: bool = False
    rejoins: bool = True
    hold: float = -1.0
    starved: int = -1
    fences: bool = False
    converges: bool = False
    races: bool = False
    literal: bool = False


BASE_MODES = (
    Mode("then"),
    Mode("else", late=NEVER, races=True),
    Mode("turns", late=-3, halves=0),
    Mode("shuffled", late=-7, halves=1),
    Mode("bursts", late=-2),
)
"""What must not matter to a plan if a barrier stands between any two statements of one arm."""

FREE_MODES = (
    Mode("shuffled", free=True, seed=1),
    Mode("shuffled", late=-5, free=True, seed=2),
)
"""No barrier is possible between the statements of an arm that part of a warp takes."""


def as_it_stands(count: int, seed: int = 0, *, fences: bool = True) -> Iterator[Mode]:
    """`count` modes for a kernel that has all the barriers that it will ever have.

    The extremes come first: one warp after the other from either end, copies late or at once.
    """
    random = Random(seed)
    fixed = (("then", NEVER), ("else", NEVER), ("then", 0), ("ranked", NEVER), ("bursts", None))
    for number in range(count):
        arms, late = (
            fixed[number]
            if number < len(fixed)
            else (
                random.choice(("then", "else", "ranked", "ranked", "bursts", "shuffled", "turns")),
                random.choice((NEVER, NEVER, None, None, 0)),
            )
        )
        mode = Mode(
            arms,
            late,
            seed=random.randrange(1 << 30),
            assumed=False,
            parts=number > 1 and random.random() < 0.4,
            rejoins=random.random() < 0.5,
            hold=random.random() if number > 2 and random.random() < 0.8 else -1.0,
            starved=random.randrange(1 << 10) if number > 2 and random.random() < 0.3 else -1,
            fences=fences,
        )
        yield replace(mode, races=late == NEVER and mode.hold < 0)


def starved(warps: int, seed: int = 0, *, fences: bool = True) -> Iterator[Mode]:
    """Modes in which one warp is late for everything, each of so many in turn: for what is in
    flight, too, or before it."""
    random = Random(seed)
    for warp in range(warps):
        for late in (NEVER, 0):
            arms = random.choice(("then", "else", "ranked", "shuffled"))
            mode = Mode(arms, late, seed=random.randrange(1 << 30), assumed=False, starved=warp)
            yield replace(mode, fences=fences, races=late == NEVER)


def held_at_each(places: int, seed: int = 0, *, fences: bool = True) -> Iterator[Mode]:
    """Modes in which some agents stop at a place of a program of so many, one after the other."""
    random = Random(seed)
    for place in range(places):
        for arms in ("then", "else"):
            late = random.choice((NEVER, NEVER, None, 0))
            part = (place + 0.5) / places
            number = random.randrange(1 << 30)
            yield Mode(arms, late, seed=number, assumed=False, hold=part, fences=fences)
