"""What a plan gains against other layouts, in words."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.report.gains import LayoutSize, gain_words

OURS = LayoutSize("this plan", 80, 3)


def test_layouts_that_are_alike_are_told_together() -> None:
    both = [LayoutSize("side by side", 100, 2), LayoutSize("the default merge", 100, 2)]
    assert gain_words(OURS, both) == (
        "gain over side by side and the default merge: 20 of 100 bytes, 1 block per SM (2 -> 3)"
    )


def test_each_layout_has_its_own_bytes_and_blocks() -> None:
    others = [LayoutSize("side by side", 90, 3), LayoutSize("the default merge", 60, 4)]
    assert gain_words(OURS, others) == (
        "gain over side by side: 10 of 90 bytes, no block; over the default merge: none, 20 bytes "
        "more than its 60, 1 block fewer per SM (4 -> 3)"
    )


def test_where_nothing_changes_there_is_no_gain() -> None:
    assert (
        gain_words(OURS, [replace(OURS, name="side by side")]) == "gain over side by side: nothing"
    )


def test_blocks_that_are_not_known_are_not_told() -> None:
    assert gain_words(OURS, [LayoutSize("side by side", 100, None)]) == (
        "gain over side by side: 20 of 100 bytes"
    )
