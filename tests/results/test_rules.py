"""The rules are worded once; documents cite them by the same numbers and words."""

from __future__ import annotations

import re

from smemreuse.results.rules import Rule
from tests.conftest import ROOT


def test_numbers_lead_to_rules() -> None:
    assert [rule.value for rule in Rule] == list(range(1, len(Rule) + 1))
    assert Rule(2) is Rule.LOOP_CARRIED
    assert f"rule {Rule.BARRIER}" == "rule 6"


def test_the_document_states_each_rule_in_its_words() -> None:
    rows = re.findall(
        r"^\| (\d+)\. (.*?) \|", (ROOT / "docs" / "soundness.md").read_text(), re.MULTILINE
    )
    assert rows == [(str(rule.value), rule.title) for rule in Rule]


def test_what_keeps_buffers_apart_is_told_apart() -> None:
    assert len({rule.conflict for rule in Rule}) == len(Rule)
    assert all(0 < len(rule.conflict.split()) <= 4 for rule in Rule)
