"""What a plan gains against other layouts, in words."""

from __future__ import annotations

from dataclasses import replace

from smemreuse.report.gains import LayoutSize, gain_words

OURS = LayoutSize("this plan", 80, 3)


def test_layouts_that_are_alike_are_told_together() -> None:
    both = [LayoutSize("side by side", 100, 2), LayoutSize("the default merge", 100, 2)]
    assert gain_words(OURS, both) == (
        "against side by side and the default merge: saves 20 of 100 bytes, gains 1 block per SM "
        "(2 -> 3)"
    )


def test_each_layout_has_its_own_bytes_and_blocks() -> None:
    others = [LayoutSize("side by side", 90, 3), LayoutSize("the default merge", 60, 4)]
    assert gain_words(OURS, others) == (
        "against side by side: saves 10 of 90 bytes, gains no block; against the default merge: "
        "takes 20 bytes more than its 60, loses 1 block per SM (4 -> 3)"
    )


def test_where_nothing_changes_there_is_no_gain() -> None:
    told = gain_words(OURS, [replace(OURS, name="side by side")])
    assert told == "against side by side: nothing is gained"


def test_blocks_that_are_not_known_are_not_told() -> None:
    assert gain_words(OURS, [LayoutSize("side by side", 100, None)]) == (
        "against side by side: saves 20 of 100 bytes"
    )


def test_what_is_left_to_l1_is_a_gain_where_no_block_is() -> None:
    ours = replace(OURS, l1=60 * 1024)
    other = LayoutSize("side by side", 100, 3, 28 * 1024)
    assert gain_words(ours, [other]) == (
        "against side by side: saves 20 of 100 bytes, gains no block, leaves 32 KB more to L1"
    )
    assert gain_words(other, [ours]).endswith("gains no block, leaves 32 KB less to L1")
    assert "L1" not in gain_words(replace(ours, blocks=4), [other])
