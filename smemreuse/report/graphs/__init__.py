"""Pictures of one kernel: lifetimes, interference and scopes, as networkx graphs and Graphviz."""

from smemreuse.report.graphs.interference import interference_graph
from smemreuse.report.graphs.render import KINDS, draw, render
from smemreuse.report.graphs.scopes import scope_tree

__all__ = ["KINDS", "draw", "interference_graph", "render", "scope_tree"]
