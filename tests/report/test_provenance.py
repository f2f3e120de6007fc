"""The words for where a plan comes from."""

from __future__ import annotations

from typing import Any

import pytest

from smemreuse.report.provenance import notes, notes_for_people
from smemreuse.results.provenance import (
    Occupancy,
    Origin,
    PackerFallback,
    Provenance,
    StockFailure,
    StockFault,
)
from smemreuse.results.residents import ESTIMATED, Registers, RegisterSource

KEPT = "unproved, as the compiler left it: the checker can neither prove nor refute it"
WHY = "packer 'tilelang' needs live ranges, not only conflicts"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, ()),
        (
            {"origin": Origin.INNER_PROVED},
            ("inner's sharing, as far as the checker proves it",),
        ),
        ({"origin": Origin.COMPILER_PROVED}, ("the compiler's own layout, proved",)),
        ({"origin": Origin.KEPT_FROM_COMPILER}, (KEPT,)),
        (
            {"fallback": PackerFallback("tilelang", "best", WHY)},
            (f"packed by `best`, since packer 'tilelang' fails here: {WHY}",),
        ),
        (
            {"overlap": "b and c conflict and share bytes"},
            ("Apache TVM's pass lays buffers over each other: b and c conflict and share bytes",),
        ),
        (
            {
                "failures": (
                    StockFailure(StockFault.SMALL, "s"),
                    StockFailure(StockFault.ADDRESS_ONLY, "y"),
                    StockFailure(StockFault.READ_OUTSIDE, "x"),
                )
            },
            (
                "Apache TVM's pass does not compile this: s has no more than 32 bits and gets no "
                "place",
                "Apache TVM's pass does not compile this: y is reached by address_of alone and "
                "gets no place",
                "Apache TVM's pass does not compile this: x is read outside of any statement or "
                "scope below its allocation",
            ),
        ),
        (
            {
                "occupancy": Occupancy(
                    *(2, "sm_90", True, True, 28672, Registers(129, RegisterSource.ESTIMATE))
                )
            },
            (
                "2 blocks per SM on sm_90 (assumed) by shared memory, threads and registers (129 a "
                f"thread, allocated as 136, {ESTIMATED}); 28 KB of the SM's memory are left for L1",
            ),
        ),
        (
            {"occupancy": Occupancy(2, "sm_90", assumed=False, threads_known=False, l1_left=0)},
            ("at most 2 blocks per SM on sm_90; the number of threads is not known",),
        ),
        (
            {"occupancy": Occupancy(0, "sm_80", assumed=False, threads_known=True, l1_left=1024)},
            ("does not fit on sm_80",),
        ),
        (
            {
                "occupancy": Occupancy(1, "sm_80", assumed=False, threads_known=True, l1_left=1024),
                "origin": Origin.KEPT_FROM_COMPILER,
                "fallback": PackerFallback("tvm", "best", "no"),
            },
            (
                "packed by `best`, since packer 'tvm' fails here: no",
                KEPT,
                "1 block per SM on sm_80 by shared memory, threads and registers; "
                "1 KB of the SM's memory are left for L1",
            ),
        ),
    ],
)
def test_each_thing_is_a_sentence(fields: dict[str, Any], told: tuple[str, ...]) -> None:
    assert notes(Provenance("outer", "best", "bytes", **fields)) == told


def test_every_fault_has_words() -> None:
    for fault in StockFault:
        assert notes(Provenance("outer", "tvm", "bytes", failures=(StockFailure(fault, "b"),)))


def test_people_are_told_whose_layout_it_is() -> None:
    def told(origin: Origin) -> tuple[str, ...]:
        made = Provenance("dataflow", "best", "bytes", origin)
        return notes_for_people(made, "TileLang")

    assert told(Origin.COMPILER_PROVED) == ("TileLang's own layout, proved",)
    (kept,) = told(Origin.KEPT_FROM_COMPILER)
    assert kept.startswith("unproved, as TileLang left it: ")
    (inner,) = told(Origin.INNER_PROVED)
    assert inner.startswith("planned with the live ranges of policy inner; the checker")
    assert told(Origin.POLICY) == ()
