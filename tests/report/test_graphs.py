"""Graphs as networkx has them and as DOT text, of a kernel made by hand."""

from __future__ import annotations

from smemreuse.report.graphs import (
    Interference,
    Lifetimes,
    Picture,
    Scopes,
    draw,
    interference_graph,
    render,
    scope_tree,
)
from smemreuse.report.graphs.interference import CONFLICT, FREE, SHARED, UNPROVED
from smemreuse.results.explanation import Cause
from smemreuse.results.rules import Rule
from smemreuse.results.sequence import Linearization
from smemreuse.results.verdict import UNPROVED as NOT_PROVED
from smemreuse.results.verdict import Verdict
from tests.report import made
from tests.report.made import (
    APART,
    KB,
    NAMES,
    OUTER_ENTRIES,
    PAIRS,
    SEQUENCE,
    SUBJECT,
    TIMELINE,
    A,
    B,
    C,
    explanation,
)


def text(kind: str, picture: Picture) -> str:
    return render(draw(kind, [picture], "dataflow"), "dot", kind, "dataflow").decode()


def test_interference_names_the_rule_and_the_shared_bytes() -> None:
    graph = interference_graph(made.SHARED, PAIRS)
    assert graph.nodes["As"] == {"bytes": 16 * KB, "offset": 0, "end": 16 * KB, "group": 0}
    assert graph.edges["As", "Bs"] == {"kind": CONFLICT, "label": "live together"}
    shared = {"kind": SHARED, "label": "share 16,384 bytes", "bytes": 16 * KB}
    assert graph.edges["As", "Cs"] == graph.edges["Bs", "Cs"] == shared
    assert len({node["group"] for _, node in graph.nodes(data=True)}) == 1


def test_those_that_may_share_and_do_not_have_an_edge_too() -> None:
    graph = interference_graph(APART, PAIRS)
    assert graph.edges["As", "Cs"] == {"kind": FREE, "label": "may share"}
    assert len({node["group"] for _, node in graph.nodes(data=True)}) == 3


def test_what_is_not_proved_has_an_edge_of_its_own() -> None:
    carried = Cause(Rule.LOOP_CARRIED, "rule 2: carried")
    found = explanation(A, C, carried, verdict=Verdict(NOT_PROVED))
    graph = interference_graph(APART, (found,))
    assert graph.edges["As", "Cs"] == {"kind": UNPROVED, "label": "rule 2: loop-carried"}
    graph = interference_graph(made.SHARED, (found,))
    assert graph.edges["As", "Cs"]["label"] == "share 16,384 bytes; rule 2: loop-carried"


def test_circles_tell_bytes_and_places() -> None:
    drawn = text("interference", Interference(SUBJECT, made.SHARED, PAIRS))
    assert drawn.startswith("digraph smemreuse {")
    assert "gemm_kernel (shared.dyn), policy dataflow" in drawn
    assert "32,768 bytes\n0 to 32,768" in drawn
    assert drawn.count("shape=circle") == drawn.count("dir=none") == 3


def test_the_scope_tree_has_offsets_and_touches() -> None:
    tree = scope_tree(SEQUENCE, NAMES)
    assert [node for node, parents in tree.in_degree() if parents == 0] == [0]
    assert sorted(tree.successors(0)) == [1, 2, 3, 6, 7]
    assert tree.nodes[3] == {
        "text": "for k in serial(8)",
        "line": 14,
        "kind": "loop",
        "scope_pair_offset": 2,
        "touches": [],
    }
    assert tree.nodes[4]["touches"] == ["reads As", "reads Bs"]


def test_touches_of_a_scope_stand_on_its_end() -> None:
    tree = scope_tree(Linearization(OUTER_ENTRIES, {}), NAMES)
    assert tree.nodes[0]["touches"] == [
        *("writes As", "writes Bs", "reads As", "reads Bs", "writes Cs", "reads Cs")
    ]
    assert tree.nodes[0]["scope_pair_offset"] == 1


def test_scopes_are_boxes() -> None:
    drawn = text("scopes", Scopes(SUBJECT, SEQUENCE))
    assert drawn.count("shape=box") == 7
    assert "0 to 8, offset +8 (line 11)" in drawn
    assert drawn.count("->") == 6


def test_lifetimes_mark_gen_kill_loops_and_barriers() -> None:
    drawn = text("lifetime", Lifetimes(SUBJECT, made.SHARED, TIMELINE))
    assert drawn.count("gen") == drawn.count("kill") == 3
    assert drawn.count("ROWSPAN") == 2
    assert "barrier: tvm_storage_sync('shared.dyn') line 16" in drawn.replace("&#x27;", "'")


def test_a_column_for_each_buffer_that_is_live() -> None:
    drawn = text("lifetime", Lifetimes(SUBJECT, made.SHARED, TIMELINE))
    for one in (A, B, C):
        assert f"<TD><B>{one.name}</B></TD>" in drawn
