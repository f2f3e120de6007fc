"""Pairs that are told alike, in one line."""

from __future__ import annotations

from itertools import combinations, product

from smemreuse.report.explanations import grouped


def test_what_has_the_same_partners_is_told_together() -> None:
    assert (grouped([("a", "c"), ("b", "c")])) == ["a, b with c"]
    assert (grouped([("a", "b"), ("a", "c"), ("b", "c")])) == ["a with b, c", "b with c"]


def test_each_pair_is_told_once() -> None:
    pairs = list(combinations("abcdef", 2))
    told = [line.split(" with ") for line in grouped(pairs)]
    found = [each for ones, twos in told for each in product(ones.split(", "), twos.split(", "))]
    assert sorted(found) == pairs


def test_what_is_too_much_is_counted() -> None:
    pairs = list(combinations("abcdef", 2))
    *told, rest = grouped(pairs, most=2)
    assert told == ["a with b, c, d, e, f", "b with c, d, e, f"]
    assert rest == "and 6 more pairs (--all)"
