"""Small dumps for the reader's tests."""

from __future__ import annotations

from textwrap import dedent, indent

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel, unique_names
from smemreuse.ir.labels import label, node_name
from smemreuse.pipeline.planning import sequence_of

HEADER = """\
# from tvm.script import tirx as T

@T.prim_func
def main(A: T.handle("float32", "global"), n: T.int32):
"""
LAUNCH = 'bx = T.launch_thread("blockIdx.x", 4)\n'
BUFFERS = (
    'As = T.alloc_buffer((64,), scope="shared.dyn")\n'
    'Bs = T.alloc_buffer((64,), scope="shared.dyn")\n'
)


def dump(body: str) -> str:
    """A kernel function around `body`."""
    return HEADER + indent(dedent(body), "    ")


def launched(body: str) -> str:
    """A kernel function that launches, allocates `As` and `Bs`, and goes on with `body`."""
    return dump(LAUNCH + BUFFERS + dedent(body))


def kernel_of(source: str) -> Kernel:
    """The only kernel of a dump."""
    (kernel,) = parse_dump(source).kernels
    return kernel


def inner(source: str, scope: str = "shared.dyn") -> list[str]:
    """Inner's sequence as `For +2 | for i in serial(4) | As:read`, without the launch's entries."""
    kernel = kernel_of(source)
    names = unique_names(kernel.allocations(scope))
    return [
        f"{node_name(entry.stmt)} {entry.scope_pair_offset:+d} | {label(entry.stmt)} | "
        + " ".join(f"{names[touch.buffer]}:{touch.access.value}" for touch in entry.touched)
        for entry in sequence_of(kernel, scope, "inner")[0].entries
        if not label(entry.stmt).startswith("launch_thread")
    ]


def leaves(source: str, scope: str = "shared.dyn") -> list[str]:
    """The touches of the leaves of inner's sequence: `Bs:read As:write`."""
    rows = (row.split(" | ") for row in inner(source, scope))
    return [touched for node, _, touched in rows if node.endswith(" +0")]
