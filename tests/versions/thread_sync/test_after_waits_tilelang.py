"""After which statements a barrier comes whatever collides, as for the installed TileLang."""

from __future__ import annotations

import pytest
import tilelang

from scripts.own_merge import kernels_of
from smemreuse.ir.kernel import Block, Kernel, nested_blocks
from smemreuse.versions import version_of
from smemreuse.versions.thread_sync.after_waits import followed_by_barriers
from tests.checker.small import under
from tests.versions.thread_sync.test_tilelang import module_of

pytestmark = pytest.mark.tilelang

WAIT = "T.ptx_wait_group(0)\n"
WAIT_BY_FUNCTION = 'T.call_extern("handle", "tl::cp_async_wait<0>")\n'
BODIES = {
    "in a sequence": f"{WAIT}O[tx] = D[tx]\n",
    "a function that waits": WAIT_BY_FUNCTION + "O[tx] = D[tx]\n",
    "last": f"O[tx] = D[tx]\n{WAIT}",
    "all there is in an arm": under("if n < 3", WAIT) + "O[tx] = D[tx]\n",
    "all there is in two arms": under("if n < 3", under("if bx < 1", WAIT)) + "O[tx] = D[tx]\n",
    "beside others in an arm": under("if n < 3", f"{WAIT}O[tx] = D[tx]\n") + "O[tx] = D[tx]\n",
    "before a barrier": f'{WAIT}T.tvm_storage_sync("shared")\nO[tx] = D[tx]\n',
    "before one in an arm": WAIT
    + under("if n < 3", 'T.tvm_storage_sync("shared")\n')
    + "O[tx] = D[tx]\n",
    "before one of the other scope": f'{WAIT}T.tvm_storage_sync("shared.dyn")\nO[tx] = D[tx]\n',
    "in an arm that has another": under("if n < 3", WAIT)
    + under("else", "O[tx] = D[tx]\n")
    + "O[tx] = D[tx]\n",
    "all there is in an else": under("if n < 3", "O[tx] = D[tx]\n")
    + under("else", WAIT)
    + "O[tx] = D[tx]\n",
    "all there is in a loop": under("for k in range(4)", WAIT) + "O[tx] = D[tx]\n",
    "an arm in a loop": under("for k in range(4)", under("if k < n", WAIT)) + "O[tx] = D[tx]\n",
    "beside others in a loop": under("for k in range(4)", f"O[tx] = D[tx]\n{WAIT}"),
}


def places(block: Block, kernel: Kernel) -> list[tuple[int, ...]]:
    """Where barriers come after statements of a kernel: the number of each block's statement."""
    after = set(followed_by_barriers(kernel.body, version_of(kernel).thread_sync))

    def within(block: Block) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []
        for at, stmt in enumerate(block):
            found += [(at,)] if stmt in after else []
            for arm, inner in enumerate(nested_blocks(stmt)):
                found += [(at, arm, *rest) for rest in within(inner)]
        return found

    return within(block)


def inserted(block: Block) -> list[tuple[int, ...]]:
    """The same of the barriers that a kernel has, not counting these."""
    found: list[tuple[int, ...]] = []
    at = -1
    for stmt in block:
        if getattr(getattr(stmt, "value", None), "op", "") == "tvm_storage_sync":
            found.append((at,))
            continue
        at += 1
        for arm, inner in enumerate(nested_blocks(stmt)):
            found += [(at, arm, *rest) for rest in inserted(inner)]
    return found


@pytest.mark.parametrize("name", BODIES)
def test_barriers_come_where_the_pass_puts_them(name: str) -> None:
    mod = module_of(BODIES[name])
    (before,) = kernels_of(mod)
    (after,) = kernels_of(tilelang.transform.ThreadSync("shared")(mod))
    assert sorted(places(before.body, before) + inserted(before.body)) == inserted(after.body)
