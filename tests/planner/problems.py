"""Random packing problems."""

from __future__ import annotations

from hypothesis import strategies as st

from smemreuse.planner import Problem

HOLES = Problem.from_intervals(
    [48, 16, 32, 16], [16, 16, 64, 16], [(0, 3), (1, 4), (2, 5), (4, 6)], ["a", "b", "c", "d"]
)
"""One whose smallest arena needs the holes that alignment leaves."""


@st.composite
def problems(draw: st.DrawFn, *, most: int = 10, largest: int = 2**40) -> Problem:
    """An interval problem with anything that a kernel may ask for, and names that may repeat."""
    count = draw(st.integers(0, most))
    sizes = draw(
        st.lists(
            st.one_of(st.integers(0, 64), st.integers(0, largest), st.sampled_from((0, 16, 4096))),
            min_size=count,
            max_size=count,
        )
    )
    alignments = [2 ** draw(st.integers(0, 10)) for _ in range(count)]
    intervals = []
    for _ in range(count):
        begin = draw(st.integers(0, 12))
        intervals.append((begin, begin + draw(st.integers(1, 8))))
    names = [draw(st.sampled_from(("As", "Bs", "workspace"))) for _ in range(count)]
    return Problem.from_intervals(sizes, alignments, intervals, names)
