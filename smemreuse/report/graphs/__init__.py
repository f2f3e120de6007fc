"""Pictures of one kernel: lifetimes, interference and scopes, as networkx graphs and Graphviz."""

from smemreuse.report.graphs.interference import Interference, interference_graph
from smemreuse.report.graphs.lifetime import Lifetimes
from smemreuse.report.graphs.render import FORMATS, KINDS, Picture, draw, render
from smemreuse.report.graphs.scopes import Scopes, scope_tree

__all__ = [
    "FORMATS",
    "KINDS",
    "Interference",
    "Lifetimes",
    "Picture",
    "Scopes",
    "draw",
    "interference_graph",
    "render",
    "scope_tree",
]
