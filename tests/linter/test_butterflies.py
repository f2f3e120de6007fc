"""Reductions through a workspace: its size, and who takes part."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import HazardKind
from tests.checker.small import kernel_of, under
from tests.linter.test_linter import found, report_on


def _reduced(
    threads: int, *, first: int = 0, barrier: int = 128, at: int = 0, batch: str = ""
) -> str:
    pointer = f'T.tvm_access_ptr(T.type_annotation("int32"), W.data, {at}, 128, 3)'
    name = f"tl::AllReduce<tl::SumOp, {threads}, 1, {first}, tl::NamedBarrier<{barrier}>"
    if batch:
        return f'T.call_extern("handle", "{name}, {batch}>::run_batch", r.data, {pointer})\n'
    return f'O[tx] = T.call_extern("int32", "{name}>::run", tx, {pointer})\n'


def _found(body: str, elements: int = 128, threads: int = 128) -> list[tuple[str, bool]]:
    declared = (
        f'W = T.alloc_buffer(({elements},), "int32", scope="shared")\n'
        'r = T.alloc_buffer((4,), "int32", scope="local")\n'
    )
    return found(body, threads=threads, declared=declared)


BEYOND = [("out-of-bounds", True)]
ALONE = [("barrier-divergence", True)]


@pytest.mark.parametrize(
    ("body", "elements", "hazards"),
    [
        (_reduced(128), 128, []),
        (_reduced(128), 127, BEYOND),
        (_reduced(128, at=1), 128, BEYOND),
        (_reduced(128, at=1), 129, []),
        # Two groups of 64, and an element for each of the 128 threads.
        (_reduced(64), 64, BEYOND),
        (_reduced(64), 128, []),
        (_reduced(32), 1, []),  # which shuffles
        (under("if tx >= 64", _reduced(64, first=64, barrier=64)), 64, []),
        (under("if tx >= 64", _reduced(64, first=96, barrier=64)), 64, [*BEYOND, *ALONE]),
        (_reduced(128, batch="2, 128"), 256, []),
        (_reduced(128, batch="2, 128"), 255, BEYOND),
    ],
)
def test_a_workspace_has_an_element_for_each_thread(
    body: str, elements: int, hazards: list[tuple[str, bool]]
) -> None:
    assert sorted(_found(body, elements)) == sorted(hazards)


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (under("if tx < 64", _reduced(128, barrier=64)), ALONE),
        (under("if tx < 64", _reduced(64, barrier=64)), []),
        (under("if tx >= 32", under("if tx < 96", _reduced(64, first=32, barrier=64))), []),
        (under("if tx >= 32", under("if tx < 96", _reduced(64, barrier=64))), ALONE),
    ],
)
def test_all_whose_values_are_read_take_part(body: str, hazards: list[tuple[str, bool]]) -> None:
    assert _found(body) == hazards


def test_the_witness_names_whose_values_are_missing() -> None:
    body = under("if tx < 64", _reduced(128, barrier=64))
    declared = 'W = T.alloc_buffer((128,), "int32", scope="shared")\n'
    (hazard,) = report_on(kernel_of(body, threads=128, declared=declared)).hazards
    assert hazard.kind is HazardKind.BARRIER_DIVERGENCE
    assert hazard.witness.startswith("threads 0-63 read at `O[tx] = call_extern(")
    assert hazard.agents == ("threads 64-127", "threads 0-63")
