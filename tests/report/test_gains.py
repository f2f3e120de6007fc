"""What a plan gains against other layouts, in words."""

from __future__ import annotations

from smemreuse.report.gains import LayoutSize, gain_words

OURS = LayoutSize("this plan", 80, 3)


def test_layouts_that_are_alike_are_told_together() -> None:
    both = [LayoutSize("side by side", 100, 2), LayoutSize("the default merge", 100, 2)]
    assert gain_words(OURS, both) == (
        "20 bytes fewer than side by side and the default merge (100), 3 blocks per SM, 1 more"
    )


def test_each_layout_has_its_own_bytes_and_blocks() -> None:
    others = [LayoutSize("side by side", 80, 3), LayoutSize("the default merge", 60, 4)]
    assert gain_words(OURS, others) == (
        "as many bytes as side by side (80), 3 blocks per SM, as many; 20 bytes more than the "
        "default merge (60), 3 blocks per SM, 1 fewer"
    )


def test_blocks_that_are_not_known_are_not_told() -> None:
    assert gain_words(OURS, [LayoutSize("side by side", 100, None)]) == (
        "20 bytes fewer than side by side (100)"
    )
