"""Random kernels that are not all that they were: some of their barriers are taken out, as they are
before a compiler has put them in, or some of what they store, so that less that is read matters."""

from __future__ import annotations

import re

from tests.random_kernels.choices import Grower, Pick
from tests.random_kernels.text import SYNC

_TAKEN_OUT = re.compile(r"(?m)^ *T\.(tvm_storage_sync\(.*\)|sync_warp\(\)|fence_proxy_async\(\))\n")
_AFTER_INITIALIZATION = "T.ptx_fence_barrier_init()\n"
"""No pass puts a barrier after the initialization of mbarriers: their authors do."""


def without_some(text: str, pick: Pick) -> str:
    """The kernel without some of its barriers and proxy fences: none, few, or all of them."""
    grow = Grower(pick)
    left = grow.pick(0, 4)  # of four, as many are left

    def kept(found: re.Match[str]) -> str:
        initializes = text.endswith(_AFTER_INITIALIZATION, 0, found.start())
        is_left = grow.pick(0, 3) < left or (initializes and grow.pick(0, 9) > 0)
        return found.group() if is_left else ""

    return _filled(_TAKEN_OUT.sub(kept, text))


_THREADS = re.compile(r'(?m)^tx = T\.launch_thread\("threadIdx\.x", (\d+)\)\n')
_SHARED = re.compile(r'(?m)^(\w+) = T\.alloc_buffer\(\((\d+),\), "\w+", scope="shared\.dyn"\)$')
_OUTPUT = re.compile(r"(?m)^( *)(O\[.*)\n")


def discarding(text: str, pick: Pick) -> str:
    """The kernel without some of its barriers and most of its output, of which some threads store
    some. All shared memory is cleared first, so that a read in a race finds one value or another.
    """
    grow = Grower(pick)

    def stored(found: re.Match[str]) -> str:
        indentation, store = found.groups()
        if grow.pick(0, 3):
            return f"{indentation}T.evaluate(0)\n"
        first, count = 32 * grow.pick(0, 2), grow.one_of((1, 16, 32, 64))
        arm = f"if {first} <= tx and tx < {first + count}:"
        return f"{indentation}{arm}\n{indentation}    {store}\n"

    text = _OUTPUT.sub(stored, without_some(text, pick))
    launch = _THREADS.search(text)
    assert launch is not None
    cleared = "".join(
        f"for z in range({-(-int(size) // int(launch[1]))}):\n"
        f"    if z * {launch[1]} + tx < {size}:\n"
        f"        {name}[z * {launch[1]} + tx] = 0\n"
        for name, size in _SHARED.findall(text)
    )
    return text[: launch.end()] + cleared + SYNC + text[launch.end() :]


def _filled(text: str) -> str:
    """Blocks that have become empty do nothing."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        header = lines[-1] if lines else ""
        if header.endswith(":") and _depth(line) <= _depth(header):
            lines.append(" " * (_depth(header) + 4) + "T.evaluate(0)")
        lines.append(line)
    return "\n".join(lines)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
