"""Statements that have no others in them: what there is to be done of each."""

from __future__ import annotations

import pytest

from tests.checker.small import SYNC, kernel_of, setting_of, statement, under


def leaf_of(body: str, text: str) -> object:
    kernel = kernel_of(body)
    return setting_of(kernel).leaves(statement(kernel, text))


@pytest.mark.parametrize(
    ("body", "text", "does"),
    [
        ("As[tx] = 1\n", "As", (True, False, False)),
        ("c[0] = 1\n", "c", (False, True, False)),
        (SYNC, "tvm_storage_sync", (False, False, True)),
        ("T.ptx_commit_group()\n", "ptx_commit_group", (False, False, True)),
        ("T.prefetch_tma_descriptor(D.data)\n", "prefetch", (False, False, False)),
        ("T.evaluate(D[0])\n", "D", (False, False, False)),
        ("T.nobody_knows(full.data)\n", "nobody_knows", (False, False, True)),
    ],
)
def test_what_is_done(body: str, text: str, does: tuple[bool, bool, bool]) -> None:
    kernel = kernel_of(body)
    leaf = setting_of(kernel).leaves(statement(kernel, text))
    assert leaf is not None
    assert (leaf.touches, leaf.sets, leaf.orders) == does


def test_what_has_others_in_it_is_no_leaf() -> None:
    assert leaf_of(under("for k in range(4)", "As[tx] = k\n"), "for k") is None
    assert leaf_of(under("if tx < 3", "As[tx] = 1\n"), "if") is None


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("T.mbarrier_wait_parity(full[0], 0)\n", True),
        ("T.ptx_wait_group(0)\n", False),
        ("T.tma_store_wait(0, T.bool(True))\n", False),
    ],
)
def test_what_is_waited_for(text: str, waits: bool) -> None:
    kernel = kernel_of(text)
    leaf = setting_of(kernel).leaves(statement(kernel, text[2:10]))
    assert leaf is not None
    assert leaf.waits is waits
