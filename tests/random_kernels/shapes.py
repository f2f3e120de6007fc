"""Random kernels in the shapes that real ones have: static shared memory beside the dynamic, and a
grid that is as large as a number of rows asks for, of which the last block has a part."""

from __future__ import annotations

import re

from tests.random_kernels.choices import Grower, Pick

ROWS = "rows"
"""The kernel's argument, which nothing else in a random kernel is called."""

MOST_ROWS = 200

_DYNAMIC = re.compile(r'(?m)(?<=scope=")shared\.dyn(?="\)$)')
_ONE_BLOCK = 'bx = T.launch_thread("blockIdx.x", 1)\n'
_OF_ALL = re.compile(r"(?<=if )D\[\d+\] (?:> 0|% 2 == 0)(?=:)")
_OF_THREADS = re.compile(r"(?<=if )D\[tx[^\]]*\] > -?\d+(?=:)")
_LENGTH = re.compile(r"(?<=range\()D\[\d+\] & (?:1|3|7|15)(?=\))")


def partly_static(text: str, pick: Pick) -> str:
    """The kernel with some of its tiles in static shared memory, in one of four cases."""
    grow = Grower(pick)
    if not grow.chance(4):
        return text
    return _DYNAMIC.sub(lambda found: grow.one_of(("shared", "shared.dyn")), text)


def on_rows(text: str, pick: Pick) -> str:
    """The kernel on a grid that rows decide, in one of three cases: some of what data decided is
    then whether a row is there."""
    grow = Grower(pick)
    if _ONE_BLOCK not in text or not grow.chance(3):
        return text
    each = grow.one_of((16, 64, 128))
    first = grow.one_of((f"bx * {each}", f"{each} * bx"))

    def of_all(found: re.Match[str]) -> str:
        at = grow.one_of((0, 0, grow.pick(0, each - 1)))
        row = f"{first} + {at}" if at else first
        return found.group() if grow.chance(3) else f"{row} < {ROWS}"

    def of_threads(found: re.Match[str]) -> str:
        return found.group() if grow.chance(3) else f"{first} + tx < {ROWS}"

    def length(found: re.Match[str]) -> str:
        options = (f"T.min({ROWS} - {first}, 3)", f"({ROWS} + {each - 1}) // {each}", found.group())
        return grow.one_of(options)

    text = _LENGTH.sub(length, _OF_THREADS.sub(of_threads, _OF_ALL.sub(of_all, text)))
    grid = f'bx = T.launch_thread("blockIdx.x", ({ROWS} + {each - 1}) // {each})\n'
    return text.replace(_ONE_BLOCK, f"{ROWS} = T.int32()\n{grid}")
