"""Sentences at the width of a terminal."""

from __future__ import annotations

import pytest
from rich.text import Text

from smemreuse.report.folding import hanging
from tests.report.made import out

SENTENCE = "  As is live from `As[tx] = A[bx * 64 + tx]` (line 3) to `C[tx] = As[tx]` (line 9)"


def folded(line: str, width: int) -> list[str]:
    return hanging(out(width), Text(line), width).plain.splitlines()


@pytest.mark.parametrize("width", [20, 33, 50, 79])
def test_the_rest_hangs_below_the_beginning(width: int) -> None:
    first, *rest = folded(SENTENCE, width)
    assert first.startswith("  As")
    assert rest
    for line in rest:
        assert line.startswith("    ")
        assert line[4] != " "
    assert all(len(line) <= width and line == line.rstrip() for line in (first, *rest))
    assert " ".join([first, *rest]).split() == SENTENCE.split()


def test_what_fits_or_has_lines_of_its_own_is_left_alone() -> None:
    for line in (SENTENCE, "|AAAA|\n" + "|B" * 60):
        text = Text(line)
        assert hanging(out(200), text, 90 if line is SENTENCE else 40) is text


def test_a_word_longer_than_a_line_is_cut_and_nothing_is_lost() -> None:
    name = "deep/" * 30
    assert "".join(one.strip() for one in folded(f"clean: {name}", 40)) == f"clean:{name}"


def test_styles_stay() -> None:
    line = Text("word " * 30)
    line.append("last", style="bold red")
    assert hanging(out(40), line, 40).spans[-1].style == "bold red"
