"""Graphs of a file's kernels as DOT text, or through Graphviz as SVG, PNG or a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, Protocol

import graphviz

from smemreuse.errors import BackendError
from smemreuse.report.data import Subject

_FONT = "Helvetica,Arial,sans-serif"
_CAPTIONS: Final = {
    "lifetime": "Program order downwards. A buffer's column is filled while it is live; gen and "
    "kill mark both ends, r and w what a statement reads and writes. Bands at the left are loops "
    "(blue) and branches (orange); dark lines are barriers and waits.",
    "interference": "The area of a circle goes by the buffer's bytes. Solid edges join buffers "
    "that must not share bytes, with the rule that forbids it; dashed ones are not proved to "
    "share. Bold green ones share bytes in this plan; circles joined by those have one colour. "
    "Dotted ones may share, and do not.",
    "scopes": "Scopes and the statements in them that touch shared memory, as policy {policy} "
    "records it. Numbers are positions in the linear sequence; an offset leads from a scope to its "
    "end.",
}


class Picture(Protocol):
    """What there is to draw of one kernel and scope."""

    @property
    def subject(self) -> Subject: ...

    def draw(self, prefix: str, into: graphviz.Digraph) -> None:
        """Adds nodes and edges, their names beginning with `prefix`."""


def draw(kind: str, pictures: Sequence[Picture], policy: str) -> graphviz.Digraph:
    """One graph of pictures of a kind, with a cluster for each kernel and scope."""
    graph = graphviz.Digraph("smemreuse", node_attr=_fonts(11), edge_attr=_fonts(10))
    graph.attr(bgcolor="white", **_fonts(12))
    if kind == "scopes":
        graph.attr(rankdir="LR", ranksep="0.3", nodesep="0.1")
    elif kind == "interference":
        graph.attr(nodesep="0.8", ranksep="1")
    for number, picture in enumerate(pictures):
        with graph.subgraph(name=f"cluster_{number}") as cluster:
            cluster.attr(label=_title(picture.subject, policy), labeljust="l", color="#BBBBBB")
            picture.draw(f"k{number}_", cluster)
    return graph


def _fonts(size: int) -> dict[str, str]:
    return {"fontname": _FONT, "fontsize": str(size)}


def _title(subject: Subject, policy: str) -> str:
    return str(graphviz.escape(f"{subject.kernel.name} ({subject.scope}), policy {policy}"))


def render(graph: graphviz.Digraph, output_format: str, kind: str, policy: str) -> bytes:
    """The graph as text or picture. Raises `BackendError` without Graphviz's `dot` program."""
    if output_format == "dot":
        return str(graph.source).encode()
    wanted = "svg" if output_format == "html" else output_format
    try:
        picture: bytes = graph.pipe(format=wanted)
    except graphviz.ExecutableNotFound:
        raise BackendError(
            f"{output_format} needs Graphviz's `dot` program: `apt-get install graphviz` or "
            "`brew install graphviz`; `--format dot` does without"
        ) from None
    except graphviz.CalledProcessError as error:
        raise BackendError(f"Graphviz failed: {str(error.stderr or error)[:300]}") from None
    return picture if output_format != "html" else _page(picture.decode(), kind, policy).encode()


def _page(svg: str, kind: str, policy: str) -> str:
    """A page around an SVG, which scrolls where it is wider than the window."""
    title = f"{kind} under policy {policy}"
    return _PAGE.format(
        title=escape(title),
        caption=escape(_CAPTIONS[kind].format(policy=policy)),
        picture=svg[svg.index("<svg") :],
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: system-ui, sans-serif; margin: 1.5rem; }}
figure {{ margin: 0; overflow: auto; background: white; border-radius: 6px; padding: 0.5rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{caption}</p>
<figure tabindex="0" role="img" aria-label="{title}">
{picture}
</figure>
</body>
</html>
"""
