"""Which loops may be run with all their iterations at once."""

from __future__ import annotations

import pytest

from smemreuse.checker.execution.setting import remember_from, remembered_of
from smemreuse.ir.kernel import For, Kernel
from tests.checker.small import SYNC, kernel_of, setting_of, statement, under


def independent(body: str, *, elements: int = 0, **offsets: int) -> bool:
    kernel = kernel_of(under("for k in range(4)", body), elements=elements)
    setting = setting_of(kernel, offsets=offsets)
    loop = statement(kernel, "for k")
    assert isinstance(loop, For)
    assert setting.at_once(loop, 64) is setting.at_once(loop, 64)
    return setting.at_once(loop, 64)


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        ("As[tx] = k\n", True),
        ("O[tx] = As[k]\n", True),
        ("As[tx] = k\nO[tx] = As[tx]\n", False),  # one reads what the other writes
        ("As[tx] = k\nBs[tx] = k\n", False),  # they share bytes
        (f"As[tx] = k\n{SYNC}", False),
        ("c[0] = c[0] + 1\nAs[c[0]] = k\n", False),
        (under("while D[k] < 3", "As[tx] = k\n"), False),
        (under("if D[0] < 3", "As[tx] = k\n"), True),
    ],
)
def test_iterations_are_run_at_once_where_nothing_in_them_is_ordered(
    body: str, at_once: bool
) -> None:
    assert independent(body) is at_once


def test_buffers_that_share_no_bytes_with_each_other_are_not_related() -> None:
    declared = "As[tx] = k\nBs[tx] = k\n"
    assert not independent(declared)
    assert independent(declared, Bs=256)


def test_a_kernel_made_of_another_one_is_asked_nothing_twice() -> None:
    before = kernel_of(under("for k in range(4)", "As[tx] = k\n"))
    now, other = (Kernel(before.name, before.body) for _ in range(2))
    remember_from(before, now)
    assert remembered_of(now) is remembered_of(before)
    assert remembered_of(other) is not remembered_of(before)


def test_threads_that_are_others_have_other_values() -> None:
    before, wider = kernel_of("As[tx] = 0\n"), kernel_of("As[tx] = 0\n", threads=128)
    remember_from(before, wider)
    assert remembered_of(wider) is not remembered_of(before)
