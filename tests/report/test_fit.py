"""What is told of kernels that fit or do not, of records made by hand."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.report.fit import (
    FITS_ITSELF,
    TILES_ESTIMATED,
    Fit,
    FitStep,
    FitTiles,
    by_line,
    fit_lines,
)
from smemreuse.results.headroom import SmallerTile

STEP = FitStep("stages", ("Cs",), "if the loop `for k in serial(4)` (line 9) had 1 stage", 700)
HOPELESS = Fit("k.tir", "k", "shared.dyn", 500, 900, (), (), "", "no", (STEP,), (("Cs", 600),))


def told(one: Fit) -> list[str]:
    return [line.plain for line in fit_lines([one])]


def test_a_buffer_that_is_too_large_alone_is_told_with_the_rest() -> None:
    assert told(HOPELESS)[1:] == [
        "k.tir: k (shared.dyn) takes 900 bytes, 400 too many; no known changes are enough, this "
        "comes closest",
        "  if the loop at line 9 had 1 stage: 700 bytes, 200 too many",
        "  after that Cs alone takes 600 bytes; 100 bytes are of others, or padding",
    ]


def test_smaller_tiles_come_after_the_changes_and_are_an_estimate() -> None:
    smaller = FitTiles((STEP,), (SmallerTile("Cs", 600, 300),), 400)
    assert told(replace(HOPELESS, smaller=smaller)) == [
        "1 kernel, at most 500 bytes a block: 1 would fit with smaller tiles and fewer stages",
        "k.tir: k (shared.dyn) takes 900 bytes even in smemreuse's smallest layout, 400 too many; "
        "it would fit with both of these",
        "  1. if the loop at line 9 had 1 stage: 700 bytes, 200 too many",
        "  2. and if tiles were smaller, Cs half as large, 300 bytes instead of 600: 400 bytes, "
        "which fits (estimate)",
        TILES_ESTIMATED,
    ]


def test_smaller_tiles_may_be_enough_by_themselves() -> None:
    tiles = tuple(SmallerTile(name, 600, 300) for name in ("As", "Bs"))
    alone = FitTiles((), (*tiles, SmallerTile("Cs", 400, 100)), 400)
    assert told(replace(HOPELESS, smaller=alone, steps=()))[1:3] == [
        "k.tir: k (shared.dyn) takes 900 bytes even in smemreuse's smallest layout, 400 too many; "
        "it would fit",
        "  if tiles were smaller, As, Bs half as large, 300 bytes instead of 600 each; Cs a "
        "quarter as large, 100 bytes instead of 400: 400 bytes, which fits (estimate; tiles get "
        "900 bytes smaller and the block 500, as buffers that share bytes count once)",
    ]


def test_kernels_with_smaller_tiles_are_counted_by_what_else_changes() -> None:
    tile = SmallerTile("Cs", 600, 300)
    steps = [(), (STEP,), (STEP, replace(STEP, kind="pair"))]
    found = [replace(HOPELESS, smaller=FitTiles(each, (tile,), 400)) for each in steps]
    assert next(fit_lines(found)).plain == (
        "3 kernels, at most 500 bytes a block: 1 would fit with smaller tiles, 1 would fit with "
        "smaller tiles and fewer stages, 1 would fit with smaller tiles and other changes"
    )


def test_what_changes_a_function_by_itself_is_offered_of_tilelang_alone() -> None:
    assert FITS_ITSELF.format(limit=500) in told(replace(HOPELESS, compiler="TileLang"))
    assert not any("merge(objective" in line for line in told(HOPELESS))


def test_of_many_kernels_that_fit_those_with_the_least_room_are_listed() -> None:
    fitting = [
        replace(HOPELESS, name=f"k{size}", bytes=size, default_bytes=size, least=(), apart=())
        for size in (100, 500, 300, 400, 200)
    ]
    lines = [line.plain for line in fit_lines(fitting)]
    assert [line.split()[1] for line in lines[1:4]] == ["k500", "k400", "k300"]
    assert lines[4:] == ["and 2 more with more bytes left"]
    told = [line.plain for line in fit_lines([*fitting, HOPELESS])]
    assert not any("k500" in line for line in told)


def test_changes_are_told_one_after_the_other() -> None:
    both = (STEP, replace(STEP, condition="if `x` (line 3) came first", bytes=400))
    assert told(replace(HOPELESS, steps=both))[2:4] == [
        "  1. if the loop at line 9 had 1 stage: 700 bytes, 200 too many",
        "  2. and if line 3 came first: 400 bytes, which fits",
    ]


def test_a_size_that_only_the_launch_knows() -> None:
    unknown = replace(HOPELESS, bytes=None, least=(), why="a size is known only at launch")
    assert told(unknown)[1].endswith("takes is not known: a size is known only at launch")


def test_lines_stand_for_statements_that_have_one() -> None:
    assert by_line("now `x[0] = 1` (line 3, a.py:7) is last") == "now line 3, a.py:7 is last"
    assert by_line("at `x[0] = 1` it is") == "at `x[0] = 1` it is"
