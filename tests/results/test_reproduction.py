"""What launches say of a finding."""

from __future__ import annotations

import pytest

from smemreuse.results.hazards import HazardKind
from smemreuse.results.reproduction import (
    ALONE,
    AS_IT_IS,
    DELAYED,
    EXPECTED,
    MENDED,
    Shown,
    VariantOutcome,
    shown_by,
)

RIGHT, WRONG, HANGS = (
    VariantOutcome(40),
    VariantOutcome(40, differing=3),
    VariantOutcome(hangs=True),
)
UNSTEADY, FAILED = VariantOutcome(40, unsteady=1), VariantOutcome(error="no")


@pytest.mark.parametrize(
    ("outcomes", "shown"),
    [
        ({AS_IT_IS: RIGHT, DELAYED: RIGHT, MENDED: RIGHT}, Shown.NOT_SHOWN),
        ({AS_IT_IS: RIGHT, DELAYED: WRONG, MENDED: RIGHT}, Shown.DELAYED),
        ({AS_IT_IS: WRONG, DELAYED: WRONG, MENDED: RIGHT}, Shown.BY_ITSELF),
        ({AS_IT_IS: RIGHT, DELAYED: HANGS, MENDED: RIGHT}, Shown.DELAYED),
        ({AS_IT_IS: RIGHT, DELAYED: WRONG, MENDED: UNSTEADY}, Shown.NOT_COMPARABLE),
        ({AS_IT_IS: RIGHT, DELAYED: WRONG, MENDED: FAILED}, Shown.NOT_COMPARABLE),
        ({AS_IT_IS: RIGHT, DELAYED: HANGS, MENDED: UNSTEADY}, Shown.DELAYED),
        ({AS_IT_IS: FAILED, DELAYED: FAILED, MENDED: RIGHT}, Shown.NOT_COMPARABLE),
        ({AS_IT_IS: RIGHT, DELAYED: FAILED, MENDED: RIGHT}, Shown.NOT_COMPARABLE),
        ({AS_IT_IS: WRONG, DELAYED: WRONG, ALONE: RIGHT, MENDED: RIGHT}, Shown.NOT_SHOWN),
        ({AS_IT_IS: RIGHT, DELAYED: RIGHT, ALONE: WRONG, MENDED: RIGHT}, Shown.DELAYED),
    ],
)
def test_a_race_shows_by_other_bits_or_by_hanging(
    outcomes: dict[str, VariantOutcome], shown: Shown
) -> None:
    assert shown_by(outcomes, MENDED, HazardKind.RACE, several=False) is shown


def test_what_is_expected_tells_without_a_reference() -> None:
    outcomes = {AS_IT_IS: WRONG, MENDED: UNSTEADY}
    kind = HazardKind.UNINITIALISED_READ
    assert shown_by(outcomes, EXPECTED, kind, several=False) is Shown.BY_ITSELF
    right = {AS_IT_IS: RIGHT, DELAYED: RIGHT}
    assert shown_by(right, EXPECTED, kind, several=False) is Shown.NOT_SHOWN


def test_a_missed_phase_shows_by_hanging_alone() -> None:
    wrong = {AS_IT_IS: WRONG, DELAYED: WRONG, MENDED: RIGHT}
    kind = HazardKind.MISSED_PHASE
    assert shown_by(wrong, MENDED, kind, several=False) is Shown.NOT_SHOWN
    assert shown_by({**wrong, DELAYED: HANGS}, MENDED, kind, several=False) is Shown.DELAYED
    failed = {AS_IT_IS: FAILED, DELAYED: FAILED, MENDED: FAILED}
    assert shown_by(failed, MENDED, kind, several=False) is Shown.NOT_COMPARABLE


def test_of_several_findings_one_shows() -> None:
    outcomes = {AS_IT_IS: WRONG, MENDED: RIGHT}
    assert shown_by(outcomes, MENDED, HazardKind.RACE, several=True) is Shown.ONE_OF_SEVERAL


def test_words_tell_what_was_counted() -> None:
    assert VariantOutcome(40, 3, 1).words == "3 of 40 launches differ, 1 not the same twice"
    told = VariantOutcome(40, left_out=1).words
    assert told == "0 of 40 launches differ, 1 tensors left out"
    assert (HANGS.words, FAILED.words) == ("hangs", "failed: no")
