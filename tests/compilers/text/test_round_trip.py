"""Random access trees, printed as TVMScript and read back: the strongest test of the reader."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.analysis.alignment import alignments
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.ir.kernel import Attr, Block, Kernel, unique_names
from smemreuse.ir.labels import label, node_name
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.results.plan import Plan
from tests.random_kernels.printing import Printer
from tests.random_kernels.trees import trees


def outer(kernel: Kernel, scope: str) -> Plan:
    """A plan by TVM's rule: what is tested is the text that comes of it."""
    return plan_kernel(kernel, scope, policy="outer")


def listing(kernel: Kernel, scope: str, policy: str) -> list[object]:
    """Everything that the linear sequence says, by name."""
    names = unique_names(kernel.allocations(scope))
    sequence = sequence_of(kernel, scope, policy)[0]
    rows: list[object] = [
        (
            node_name(entry.stmt),
            label(entry.stmt),
            entry.scope_pair_offset,
            [(names[touch.buffer], touch.access) for touch in entry.touched],
        )
        for entry in sequence.entries
    ]
    return [*rows, {names[buffer]: level for buffer, level in sequence.alloc_level.items()}]


@given(kernel=trees(launched=True), choices=st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_reading_a_printed_tree_gives_the_same_sequence(
    kernel: Kernel, choices: random.Random
) -> None:
    text = Printer(choices, prefix=choices.choice(("T", "X"))).module(kernel)
    (read,) = parse_dump(text).kernels
    assert read.name == kernel.name
    for scope in ("shared.dyn", "shared", "shared.barrier"):
        for policy in ("outer", "inner"):
            assert listing(read, scope, policy) == listing(kernel, scope, policy), text
        assert [(b.dtype, b.size, align) for b, align in alignments(read, scope).items()] == [
            (b.dtype, b.size, align) for b, align in alignments(kernel, scope).items()
        ]


def shared_touches(kernel: Kernel, scope: str) -> list[list[tuple[str, str]]]:
    """For each leaf and scope of inner's sequence: every shared access, whatever the buffer."""
    return [
        [(node_name(entry.stmt), touch.access.value) for touch in entry.touched]
        for entry in sequence_of(kernel, scope, "inner")[0].entries
    ]


@given(kernel=trees(launched=True), choices=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_merged_text_reads_back_as_one_arena_with_every_access(
    kernel: Kernel, choices: random.Random
) -> None:
    allocations_inside = Kernel(kernel.name, _allocations_inside(kernel))
    text = Printer(choices).module(allocations_inside)
    before = parse_dump(text)
    merged = merge_text(before, outer)
    (was,), (now,) = before.kernels, parse_dump(merged.source).kernels
    for scope in ("shared.dyn", "shared"):
        count = len(was.allocations(scope))
        assert len(now.allocations(scope)) == min(count, 1)
        if count > 1:
            size = now.allocations(scope)[0].size or 0  # an arena of none has no size (rule 9)
            assert size == outer(was, scope).arena_bytes
        assert shared_touches(now, scope) == shared_touches(was, scope)


def _allocations_inside(kernel: Kernel) -> Block:
    """The allocations behind the launch, where TileLang prints them."""
    *allocations, launch = kernel.body
    assert isinstance(launch, Attr)
    body = (*allocations, *launch.body)
    return (Attr(launch.key, launch.node, launch.value, body, launch.var),)


_ALLOCATION = re.compile(r'\s*\w+ = T\.alloc_buffer\(.*scope="shared(\.dyn)?"\)$')
_VIEW = re.compile(r"\s*(\w+_ptr\w*: T\.handle\(.* = T\.handle_add_byte_offset|.*data=\w+_ptr)")


@given(kernel=trees(launched=True))
@settings(max_examples=40, deadline=None)
def test_merging_changes_only_the_lines_that_allocate(kernel: Kernel) -> None:
    text = Printer().module(Kernel(kernel.name, _allocations_inside(kernel)))
    merged = merge_text(parse_dump(text), outer).source
    others = [line for line in text.splitlines() if not _ALLOCATION.match(line)]
    made = [line for line in merged.splitlines() if not _ALLOCATION.match(line)]
    assert [line for line in made if not _VIEW.match(line)] == others
