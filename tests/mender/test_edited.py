"""What is put in between the statements of a kernel."""

from __future__ import annotations

import pytest

from smemreuse.ir.kernel import walk_statements
from smemreuse.ir.labels import label
from smemreuse.mender.edited import edited, last_of
from smemreuse.results.mending import Inserted, Insertion
from smemreuse.semantics.synchronizing import proxy_fence
from tests.checker.small import kernel_of
from tests.ir.test_tree import KERNEL, STORES


def test_the_end_of_what_is_annotated_to_the_end_of_a_block() -> None:
    kernel = kernel_of('As[tx] = 1\nT.attr(0, "remark", 1)\nAs[tx] = 2\n')
    assert label(last_of(kernel.body)) == "As[tx] = 2"


@pytest.mark.parametrize("number", STORES)
@pytest.mark.parametrize("behind", [False, True])
def test_what_is_put_in_stands_beside_its_statement(number: int, behind: bool) -> None:
    anchor = STORES[number]
    insertion = Insertion(anchor, behind, (Inserted(proxy_fence()), Inserted(proxy_fence())))
    body, origins = edited(KERNEL.body, [insertion])
    order = [label(stmt) for stmt in walk_statements(body)]
    at = order.index(label(anchor))
    fences = slice(at + 1, at + 3) if behind else slice(at - 2, at)
    assert order[fences] == ["fence_proxy_async()"] * 2
    assert [one for one in order if "fence" not in one] == [
        label(stmt) for stmt in walk_statements(KERNEL.body)
    ]
    assert {origins.get(one, one) for one in walk_statements(body)} >= set(
        walk_statements(KERNEL.body)
    )
