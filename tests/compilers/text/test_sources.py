"""Lines of Python that stand in a dump as comments."""

from __future__ import annotations

import time

import pytest

from smemreuse.compilers.text.comments import commented_sources
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.compilers.text.sources import with_sources
from smemreuse.ir.kernel import Stmt, Store, walk_statements
from smemreuse.ir.source import SourceLine, name_source, place_words, source_of
from smemreuse.results.words import without_lines

DUMP = """\
# from tvm.script import tirx as T

@T.prim_func
def k():
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((32,), scope="shared")
    S[tx] = T.float32(0.0)
    for i in range(4):
        S[tx] = S[tx] + T.float32(1.0)
"""


def stores(text: str) -> list[Stmt]:
    (kernel,) = parse_dump(text).kernels
    return [one for one in walk_statements(kernel.body) if isinstance(one, Store)]


def test_what_is_written_reads_back() -> None:
    kernels = parse_dump(DUMP).kernels
    first, second = (one for one in walk_statements(kernels[0].body) if isinstance(one, Store))
    name_source(second, SourceLine("a b/c (1).py", 88))
    text = with_sources(DUMP, kernels)
    assert "T.float32(1.0)  # from a b/c (1).py:88\n" in text
    assert [*map(source_of, stores(text))] == [None, SourceLine("a b/c (1).py", 88)]
    name_source(first, SourceLine("d.py", 1))
    assert len([*filter(None, map(source_of, stores(with_sources(DUMP, kernels))))]) == 2


def test_without_sources_or_of_another_kernel_a_dump_stays_as_it_is() -> None:
    kernels = parse_dump(DUMP).kernels
    assert with_sources(DUMP, kernels) == DUMP
    for one in walk_statements(kernels[0].body):
        name_source(one, SourceLine("d.py", 1))
    other = DUMP.replace("    S[tx] = T.float32(0.0)\n", "")
    assert with_sources(other, kernels) == other
    assert with_sources("no kernel", kernels) == "no kernel"


@pytest.mark.parametrize(
    "comment",
    [
        " # from x.py:3",
        "  # from x.py",
        "  # from :3",
        "  # from x\x1b[31m.py:3",
        "  # from x.py:3.",
    ],
)
def test_other_comments_say_nothing(comment: str) -> None:
    assert commented_sources([f"S[tx] = 1{comment}"]) == {}


def test_a_hostile_comment_costs_no_more_than_its_length() -> None:
    begin = time.process_time()
    commented_sources(["  # from " * 100_000 + "x"])
    assert time.process_time() - begin < 5


def test_a_sentence_is_compared_without_its_lines() -> None:
    source = SourceLine("dir/k (1).py", 88)
    for line, known in ((62, None), (62, source), (None, source)):
        words = place_words(line, known)
        assert (
            without_lines(f"`S[0]`{words} at i = 1 and `S[1]`{words}")
            == "`S[0]` at i = 1 and `S[1]`"
        )
    assert place_words(None, None) == ""
    assert place_words(62, source) == " (line 62, from k (1).py:88)"
