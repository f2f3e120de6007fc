"""Pictures of one kernel: lifetimes, interference and scopes, as networkx graphs and Graphviz."""

from smemreuse.extras import needing

with needing("graph", "graphviz"):
    import graphviz  # noqa: F401

from smemreuse.report.graphs.interference import Interference, interference_graph
from smemreuse.report.graphs.lifetime import Lifetimes
from smemreuse.report.graphs.render import Picture, draw, render
from smemreuse.report.graphs.scopes import Scopes, scope_tree

__all__ = [
    "Interference",
    "Lifetimes",
    "Picture",
    "Scopes",
    "draw",
    "interference_graph",
    "render",
    "scope_tree",
]
