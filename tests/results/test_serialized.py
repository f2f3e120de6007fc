"""Records as data: fields by name, and attributes that are picked by name and by path."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import LintReport, LintStatus
from smemreuse.results.mending import Mending
from smemreuse.results.rules import Rule
from smemreuse.results.serialized import picked
from smemreuse.results.verdict import UNSOUND, Verdict, Violation


def test_attributes_come_in_the_order_asked_for_as_plain_data() -> None:
    verdict = Verdict(UNSOUND, (Violation(Rule.ALIGNMENT, ("As", "Bs"), "at 8"),))
    found = picked(verdict, "violations sound verdict")
    assert list(found) == ["violations", "sound", "verdict"]
    violation = {"rule": 7, "buffers": ["As", "Bs"], "witness": "at 8", "acts": []}
    assert found["violations"] == [violation]
    assert (found["sound"], type(found["verdict"]), found["verdict"]) == (False, str, "unsound")


def test_another_name_may_lead_deeper() -> None:
    mending = Mending(LintReport("k", False), LintReport("k", False, unknown=("x",)))
    names = "before=before.status status=after.status"
    assert picked(mending, names) == {"before": "clean", "status": LintStatus.UNKNOWN.value}


def test_an_attribute_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="soundness"):
        picked(Verdict(UNSOUND), "verdict soundness")
