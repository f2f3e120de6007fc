"""What plans begin with: ranges and conflicts, before any proof."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.facts import facts_of
from smemreuse.pipeline.starts import Start, attributed_ranges, carried_pairs, ranges_of
from tests.compilers.text.texts import dump
from tests.pipeline.kernels import DYN

LOOPED = """\
bx = T.launch_thread("blockIdx.x", 1)
tx = T.launch_thread("threadIdx.x", 64)
X = T.alloc_buffer((64,), "float32", scope="shared.dyn")
Y = T.alloc_buffer((64,), "float32", scope="shared.dyn")
G = T.decl_buffer((64,), "float32", data=A)
{before}
for k in range(4):
    {inside}
    Y[tx] = G[tx]
    G[tx] = Y[63 - tx]
"""


@pytest.mark.parametrize(
    ("before", "inside", "carried"),
    [
        ("X[tx] = G[tx]", "G[tx] = X[63 - tx]", True),
        ("X[tx] = G[tx]", "G[tx] = X[63 - tx]\n    X[tx] = G[tx]", True),
        ("X[tx] = G[tx]", "G[tx] = X[k % 2 * 32 + tx % 32]", True),
        ("X[tx] = G[tx]", "G[tx] = X[(k + tx) % 64]", False),
        ("X[tx] = G[tx]", "G[tx] = X[k * 16 + tx % 16]", False),  # not again what was read
        ("X[tx] = G[tx]", "j: T.int32 = k * 16\n    G[tx] = X[j + tx % 16]", False),
        ("X[tx] = G[tx]", "G[tx] = X[T.cast(G[k], 'int32')]", False),
        ("X[tx] = G[tx]", "X[tx] = G[tx]\n    G[tx] = X[63 - tx]", False),  # written in each round
        ("G[tx] = 0.0", "G[tx] = X[63 - tx]", False),  # never written
    ],
)
def test_what_each_round_reads_before_it_writes_it_is_carried_past_what_else_it_writes(
    before: str, inside: str, carried: bool
) -> None:
    (kernel,) = parse_dump(dump(LOOPED.format(before=before, inside=inside))).kernels
    facts = facts_of(kernel)
    pairs = {frozenset(one.name for one in pair) for pair in facts.ask(carried_pairs)}
    assert pairs == ({frozenset("XY")} if carried else set())
    alone = facts.ask(attributed_ranges, DYN, "inner", "best")
    assert not alone.concurrent
    assert len(ranges_of(facts, DYN, Start.INNER, "best").concurrent) == carried
