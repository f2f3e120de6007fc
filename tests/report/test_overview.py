"""What a page shows of a kernel, from an overview made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from smemreuse.ir.expr import Const, Var
from smemreuse.ir.kernel import THREAD_EXTENT, Allocate, Attr, Kernel
from smemreuse.report.data import Subject
from smemreuse.report.overview import overview_entry
from smemreuse.results.explanation import Explanation
from smemreuse.results.provenance import Origin
from smemreuse.results.timeline import peak_of
from smemreuse.results.verdict import SOUND, Verdict
from smemreuse.targets.architectures import ARCHITECTURES
from tests.report.made import (
    KB,
    KERNEL,
    OVERVIEW,
    OVERWRITTEN,
    PLANS,
    SCOPE,
    SHARED,
    SUBJECT,
    A,
    B,
    C,
    buffer,
    entry,
    explanation,
    plan,
)


def launched(threads: int | Var, *allocations: Allocate) -> Subject:
    """The kernel with a number of threads, and more allocated beside it."""
    extent = Const(threads) if isinstance(threads, int) else threads
    launch = Attr(
        THREAD_EXTENT, Const("threadIdx.x"), extent, (*allocations, *KERNEL.body), Var("tx")
    )
    return Subject("made.tir", Kernel("k", (launch,), KERNEL.attrs), SCOPE)


def test_it_is_plain_data() -> None:
    found = entry()
    assert json.loads(json.dumps(found)) == found
    assert [step["position"] for step in map(dict, found["marks"])] == [6]
    assert found["marks"][0]["kind"] == "barrier"
    assert found["steps"][4] == {
        "text": "acc[0] = As[0] + Bs[0]",
        "depth": 2,
        "is_end": False,
        "line": 15,
        "place": " (line 15)",
        "touches": {"As": "read", "Bs": "read"},
    }
    assert [(band["begin"], band["end"], band["depth"]) for band in found["bands"]] == [
        (0, 9, 0),
        (3, 6, 1),
    ]


def test_plans_of_other_sequences_are_on_the_same_axis() -> None:
    policies = entry()["policies"]
    spans = {
        name: {one["name"]: (one["begin"], one["end"]) for one in policies[name]["rectangles"]}
        for name in policies
    }
    assert spans["outer"] == dict.fromkeys(("As", "Bs", "Cs"), (0, 9))
    assert spans["inner"] == spans["dataflow"] == {"As": (1, 5), "Bs": (2, 5), "Cs": (6, 8)}


def test_what_is_live_at_the_peak() -> None:
    assert entry()["policies"]["dataflow"]["peak"] == {
        "position": 2,
        "bytes": 32 * KB,
        "buffers": ["As", "Bs"],
    }
    assert peak_of({}).bytes == 0
    assert peak_of({A: (0, 2), C: (3, 4), B: (3, 4)}).buffers == (C, B)


def test_the_pairs_that_a_plan_shares() -> None:
    policies = entry()["policies"]
    shared = [({"buffers": [one, "Cs"], "bytes": 16 * KB}) for one in ("As", "Bs")]
    assert policies["dataflow"]["shared"] == shared
    assert policies["outer"]["shared"] == []


def test_blocks_are_those_of_the_architecture() -> None:
    subject = launched(256)
    found: Any = overview_entry(subject, OVERVIEW)
    assert found["arch"]["name"] == "sm_80"
    assert found["side_by_side"] == {
        "bytes": 64 * KB,
        "blocks": 2,
        "resident": 2,
        "registers": "25 a thread, allocated as 32, estimated from local arrays, not ptxas' count",
        "fits": True,
        "left": 101_376,
        "one_more": "10,624 bytes less",
        "one_more_bytes": 10_624,
    }
    given: Any = overview_entry(subject, OVERVIEW, compiled=240)
    given = given["policies"]["dataflow"]
    assert (given["blocks"], given["resident"]) == (4, 1)
    assert given["registers"] == "240 a thread, by ptxas"
    assert (given["one_more"], given["one_more_bytes"]) == ("fewer registers", None)
    assert found["policies"]["dataflow"]["blocks"] == 4
    old: Any = overview_entry(subject, OVERVIEW, ARCHITECTURES["sm_75"])
    assert (old["arch"]["name"], old["side_by_side"]["blocks"]) == ("sm_75", 1)
    assert not found["arch"]["assumed"]
    assert overview_entry(Subject("k", Kernel("k", ()), SCOPE), OVERVIEW)["arch"] == {
        "name": "sm_90",
        "assumed": True,
        "per_block": 232_448,
        "per_sm": 233_472,
    }


def test_what_one_more_block_needs_is_all_that_stops_it() -> None:
    def needs(threads: int, compiled: int) -> list[str]:
        found: Any = overview_entry(launched(threads), OVERVIEW, compiled=compiled)
        return [one["one_more"] for one in (found["side_by_side"], *found["policies"].values())]

    assert needs(1024, 64)[0] == "fewer registers"
    words = "10,624 bytes less and fewer threads and fewer registers"  # 1,536 threads at most
    assert needs(1024, 21)[0] == words
    assert needs(32, 32)[-1] == "256 bytes less"  # a fifth of 167,936, less 1,024


def test_blocks_that_nobody_can_know_are_not_told() -> None:
    found: Any = overview_entry(launched(Var("n")), OVERVIEW)
    assert (found["threads"], found["side_by_side"]["blocks"]) == (None, None)
    assert found["side_by_side"]["fits"] is True
    assert found["side_by_side"]["left"] is found["side_by_side"]["one_more"] is None
    unknown = plan(
        "outer", {A: 0}, {A: (0, 2)}, arena_expr=Var("n"), alignments=dict.fromkeys((A, B, C), 16)
    )
    overview = replace(OVERVIEW, plans={"outer": (unknown, Verdict(SOUND))})
    only: Any = overview_entry(launched(32), overview)["policies"]
    assert (only["outer"]["blocks"], only["outer"]["fits"]) == (None, None)


def test_what_lies_beside_the_arena_is_padded() -> None:
    """Four mbarriers of 8 bytes each, before an array aligned to 1,024."""
    barriers = Allocate(buffer("mbar", 32, "shared.barrier"))
    assert overview_entry(launched(32, barriers), OVERVIEW)["beside_the_arena"] == 1_024
    assert overview_entry(SUBJECT, OVERVIEW)["beside_the_arena"] == 0


def test_why_a_pair_does_not_share() -> None:
    def pair(found: Explanation) -> dict[str, Any]:
        (shown,) = view_of_pairs(found)
        return shown

    def view_of_pairs(*pairs: Explanation) -> list[dict[str, Any]]:
        shown: Any = overview_entry(SUBJECT, replace(OVERVIEW, pairs=pairs))["pairs"]
        return list(shown)

    refused = pair(explanation(A, C, verdict=OVERWRITTEN))
    assert (refused["may_share"], refused["words"]) == (False, "must not share")
    assert refused["forbidden_by"] == "the checker: unsound"
    assert refused["witnesses"] == ["rule 2: `Cs[0] = acc[0]` overwrote it"]
    assert refused["verdict"] == "unsound"


def test_symbolic_offsets_are_listed() -> None:
    symbolic = buffer("Ss", Var("n"))
    made = replace(
        SHARED, buffers=(*SHARED.buffers, symbolic), symbolic_offsets={symbolic: Const(32 * KB)},
        alignments={**SHARED.alignments, symbolic: 16},
    )  # fmt: skip
    overview = replace(
        OVERVIEW,
        plans={"dataflow": (made, Verdict(SOUND))},
        timeline=replace(OVERVIEW.timeline, names={**OVERVIEW.timeline.names, symbolic: "Ss"}),
    )
    found: Any = overview_entry(SUBJECT, overview)["policies"]
    assert found["dataflow"]["symbolic"] == [{"name": "Ss", "offset": "32768"}]


def test_a_remark_comes_before_where_a_plan_comes_from() -> None:
    """First of all, and of that plan alone."""
    applied = SHARED.with_provenance(origin=Origin.INNER_PROVED)
    plans = {**PLANS, "went in": (applied, Verdict(SOUND))}
    overview = replace(OVERVIEW, plans=plans, remarks={"went in": "applied for `occupancy`"})
    found: Any = overview_entry(SUBJECT, overview)["policies"]
    assert found["went in"]["notes"] == [
        "applied for `occupancy`",
        "inner's sharing, as far as the checker proves it",
    ]
    assert found["dataflow"]["notes"] == []
