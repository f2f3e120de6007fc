"""The scope tree: the linear sequence as the scopes nest, with offsets and touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import shorten

import graphviz
import networkx as nx

from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer, For, If, While, unique_names
from smemreuse.ir.labels import label
from smemreuse.report.data import Subject
from smemreuse.report.palette import tint
from smemreuse.results.sequence import Linearization, StmtEntry

_WIDTH = 60
_ACCESS = {Access.READ: "reads", Access.WRITE: "writes", Access.READ_WRITE: "reads and writes"}


def scope_tree(sequence: Linearization, names: Mapping[Buffer, str]) -> nx.DiGraph:
    """A node for each scope and each leaf that touches something, by position; a tree.

    Nodes carry `text`, `line`, `kind` (loop, branch, scope or leaf), `scope_pair_offset`, and
    `touches`, sentences such as `reads As`: a scope's are those recorded on its end.
    """
    tree: nx.DiGraph = nx.DiGraph()
    parents: list[int] = []
    for position, entry in enumerate(sequence.entries):
        if entry.scope_pair_offset < 0:
            parents.pop()
            continue
        touched = sequence.entries[position + entry.scope_pair_offset].touched
        accesses = dict.fromkeys((_ACCESS[one.access], names[one.buffer]) for one in touched)
        tree.add_node(
            position,
            text=label(entry.stmt),
            line=entry.stmt.line,
            kind=_kind(entry),
            scope_pair_offset=entry.scope_pair_offset,
            touches=[" ".join(access) for access in accesses],
        )
        if parents:
            tree.add_edge(parents[-1], position)
        if entry.scope_pair_offset > 0:
            parents.append(position)
    return tree


def _kind(entry: StmtEntry) -> str:
    if isinstance(entry.stmt, (For, While)):
        return "loop"
    if isinstance(entry.stmt, If):
        return "branch"
    return "scope" if entry.scope_pair_offset else "leaf"


_FILLS = {"loop": tint(4), "branch": tint(1), "scope": tint(7), "leaf": "white"}


@dataclass(frozen=True)
class Scopes:
    """Scopes as boxes from left to right, leaves as ellipses."""

    subject: Subject
    sequence: Linearization

    def draw(self, prefix: str, into: graphviz.Digraph) -> None:
        names = unique_names(self.subject.kernel.allocations(self.subject.scope))
        tree = scope_tree(self.sequence, names)
        # Graphviz lays siblings out from below when it draws from left to right.
        for position, node in reversed(list(tree.nodes(data=True))):
            line = f" (line {node['line']})" if node["line"] else ""
            offset = node["scope_pair_offset"]
            lines = (
                f"{position}"
                + (f" to {position + offset}, offset {offset:+}" if offset else "")
                + line,
                shorten(node["text"], _WIDTH, placeholder=" ..."),
                *node["touches"],
            )
            into.node(
                f"{prefix}{position}",
                "".join(graphviz.escape(one) + "\\l" for one in lines),
                shape="box",
                style="filled" if offset else "filled,rounded",
                fillcolor=_FILLS[node["kind"]],
            )
        for parent, child in reversed(list(tree.edges)):
            into.edge(f"{prefix}{parent}", f"{prefix}{child}")
