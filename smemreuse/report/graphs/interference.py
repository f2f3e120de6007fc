"""Which buffers must not share bytes, or are not proved to, and by which rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import graphviz
import networkx as nx

from smemreuse.ir.kernel import unique_names
from smemreuse.report.data import Subject
from smemreuse.report.palette import tint
from smemreuse.results.explanation import Explanation, Sharing
from smemreuse.results.plan import Plan

CONFLICT, UNPROVED, SHARED, FREE = "conflict", "unproved", "shared", "free"
"""An edge's `kind`: the two must not share; it is not proved that they may; they do in the plan;
they may, and do not."""

_LARGEST, _SMALLEST = 2.2, 0.9  # diameters in inches
_STYLES = {
    CONFLICT: {"style": "solid", "color": "#444444"},
    UNPROVED: {"style": "dashed", "color": "#444444"},
    SHARED: {"style": "bold", "color": "#009E73", "fontcolor": "#00694D"},
    FREE: {"style": "dotted", "color": "#777777", "fontcolor": "#555555"},
}


def interference_graph(plan: Plan, pairs: Sequence[Explanation]) -> nx.Graph:
    """A node for each used buffer, by name; an edge for each pair.

    Nodes carry `bytes` (None where symbolic), `offset` and `end` in the plan, and `group`, the
    number of the set of buffers that share bytes with one another. Edges carry `kind`, `label`,
    and for shared ones `bytes`.
    """
    names = unique_names(tuple(plan.buffers))
    graph: nx.Graph = nx.Graph()
    for buffer in plan.buffers:
        if buffer in plan.live:
            offset = plan.offsets.get(buffer)
            end = None if offset is None else offset + (buffer.size or 0)
            graph.add_node(names[buffer], bytes=buffer.size, offset=offset, end=end)
    for found in pairs:
        shared = plan.shared_bytes(*found.buffers)
        if shared:
            edge = {"kind": SHARED, "label": f"share {shared:,} bytes", "bytes": shared}
            if not found.may_share:
                edge["label"] = f"{edge['label']}; {found.forbidden_by}"
        elif found.may_share:
            edge = {"kind": FREE, "label": found.sharing.words}
        else:
            kind = CONFLICT if found.sharing is Sharing.MUST_NOT else UNPROVED
            edge = {"kind": kind, "label": found.forbidden_by}
        graph.add_edge(*found.names, **edge)
    sharing = nx.Graph((one, two) for one, two, kind in graph.edges(data="kind") if kind == SHARED)
    sharing.add_nodes_from(graph)
    for number, group in enumerate(nx.connected_components(sharing)):
        for name in group:
            graph.nodes[name]["group"] = number
    return graph


@dataclass(frozen=True)
class Interference:
    """Buffers as circles whose area goes by their bytes; one colour for those that share."""

    subject: Subject
    plan: Plan
    pairs: Sequence[Explanation]

    def draw(self, prefix: str, into: graphviz.Digraph) -> None:
        graph = interference_graph(self.plan, self.pairs)
        largest = max((size or 0 for _, size in graph.nodes(data="bytes")), default=0) or 1
        ids = {name: f"{prefix}{number}" for number, name in enumerate(graph)}
        for name, node in graph.nodes(data=True):
            size = node["bytes"]
            diameter = max(_SMALLEST, _LARGEST * math.sqrt((size or 0) / largest))
            where = f"{node['offset']:,} to {node['end']:,}" if node["offset"] is not None else ""
            lines = (name, "symbolic size" if size is None else f"{size:,} bytes", where)
            into.node(
                ids[name],
                "\n".join(graphviz.escape(line) for line in lines if line),
                shape="circle",
                style="filled",
                fillcolor=tint(node["group"]),
                width=f"{diameter:.2f}",
                penwidth="1.5",
            )
        for one, two, edge in graph.edges(data=True):
            style = _STYLES[edge["kind"]]
            into.edge(ids[one], ids[two], label=f" {edge['label']} ", dir="none", **style)
