"""Comments and blank lines, wherever they stand: the same kernel, and no longer to read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.compilers.text import reader
from smemreuse.compilers.text.reader import may_be_dump, parse_dump
from smemreuse.errors import InputError
from smemreuse.ir.kernel import Buffer, Kernel, walk_statements
from smemreuse.ir.labels import label
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump

DUMPS = sorted(Path("fixtures/dumps").glob("*.tir"))
COMMENTS = [
    "#",
    "# " + "(" * 500,
    "#" + " " * 5_000 + "x",
    "# from tvm.script" + " " * 5_000,
    "# tvm_storage_sync(" * 300,
    "# " + "[({" * 300 + '"',
    "#" * 2_000,
    " " * 5_000,
    "",
]


def described(kernels: tuple[Kernel, ...]) -> list[object]:
    """What was read, without the lines that it stands in."""
    return [
        (kernel.name, kernel.version, kernel.attrs, [*map(label, walk_statements(kernel.body))])
        for kernel in kernels
    ] + [
        (buffer.name, buffer.dtype, buffer.scope, buffer.size)
        for kernel in kernels
        for stmt in walk_statements(kernel.body)
        if isinstance(buffer := getattr(stmt, "buffer", None), Buffer)
    ]


@pytest.mark.parametrize("comment", COMMENTS, ids=range(len(COMMENTS)))
def test_a_comment_on_every_line(comment: str) -> None:
    for path in DUMPS[:: len(COMMENTS)]:
        source = path.read_text()
        lines = source.splitlines()
        between = "\n".join(part for line in lines for part in (comment, line)) + "\n" + comment
        assert described(parse_dump(between).kernels) == described(parse_dump(source).kernels)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_comments_between_and_behind_the_lines_of_a_dump(path: Path) -> None:
    source = path.read_text()
    lines = source.splitlines()
    between = "\n".join(
        f"{line}  # nothing ({index}\n{' ' * (index % 9)}# [{{" for index, line in enumerate(lines)
    )
    assert described(parse_dump(between).kernels) == described(parse_dump(source).kernels)


@given(st.integers(0, 10_000), st.text("# ([{\"'\t", max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_comment_before_any_line(place: int, text: str) -> None:
    source = dump(
        LAUNCH + BUFFERS + "for k in T.serial(4):\n    As[k] = Bs[k]\n    Bs[k] = As[0]\n"
    )
    lines = source.splitlines()
    at = place % (len(lines) + 1)
    again = "\n".join([*lines[:at], f"#{text}", *lines[at:]])
    assert described(parse_dump(again).kernels) == described(parse_dump(source).kernels)


@pytest.mark.parametrize("text", ["# nothing\n" * 50, "#", "\n" * 20_000, " " * 100_000, "#\n\n\n"])
def test_nothing_but_comments_is_no_kernel(text: str) -> None:
    with pytest.raises(InputError):
        parse_dump(text)


PATTERNS = [value for value in vars(reader).values() if isinstance(value, re.Pattern)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:20])
def test_a_search_for_imports_is_no_longer_than_the_file(pattern: re.Pattern[str]) -> None:
    """Blanks, of which there may be any number, are matched within a line and by one part of the
    pattern: two side by side, or one over many lines, would try all ways to share them."""
    repetitions = re.findall(r"\[\^?[^\]]*\][*+]|\\[sSwW][*+]", pattern.pattern)
    assert not [each for each in repetitions if each.startswith("\\s")]
    assert not re.search(r"(\[\^\\S\\n\][*+]){2}", pattern.pattern)
    for hard in (" " * 30_000, "\n" * 30_000, "#" + " " * 30_000, "from " + " " * 30_000):
        assert pattern.search(hard + "x") is None
    assert not may_be_dump("\n" * 30_000 + " " * 30_000)
