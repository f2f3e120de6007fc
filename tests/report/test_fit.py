"""What is told of kernels that fit or do not, of records made by hand."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.report.fit import Fit, FitStep, by_line, fit_lines

STEP = FitStep("stages", ("Cs",), "if the loop `for k in serial(4)` (line 9) had 1 stage", 700)
HOPELESS = Fit("k.tir", "k", "shared.dyn", 500, 900, (), (), "", "no", (STEP,), (("Cs", 600),))


def told(one: Fit) -> list[str]:
    return [line.plain for line in fit_lines([one])]


def test_a_buffer_that_is_too_large_alone_is_told_with_the_rest() -> None:
    assert told(HOPELESS)[1:] == [
        "k.tir: k (shared.dyn) does not fit: 900 bytes, 700 at best, 200 too many",
        "  Cs alone takes 600 bytes; 100 bytes are of others, or padding",
    ]


def test_changes_are_told_one_after_the_other() -> None:
    both = (STEP, replace(STEP, condition="if `x` (line 3) came first", bytes=400))
    assert told(replace(HOPELESS, steps=both))[2:4] == [
        "  1. if the loop at line 9 had 1 stage: 700 bytes",
        "  2. and if line 3 came first: 400 bytes",
    ]


def test_a_size_that_only_the_launch_knows() -> None:
    unknown = replace(HOPELESS, bytes=None, least=(), why="a size is known only at launch")
    assert told(unknown)[1].endswith("takes is not known: a size is known only at launch")


def test_lines_stand_for_statements_that_have_one() -> None:
    assert by_line("now `x[0] = 1` (line 3, a.py:7) is last") == "now line 3, a.py:7 is last"
    assert by_line("at `x[0] = 1` it is") == "at `x[0] = 1` it is"
