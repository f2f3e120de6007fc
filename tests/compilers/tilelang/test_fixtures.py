"""The committed dumps are what today's fixtures lower to."""

from __future__ import annotations

import pytest

from fixtures.kernels import FIXTURES
from scripts.regenerate_fixtures import VARIANTS, dumps, is_stale
from tests.conftest import DUMPS

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("name", list(FIXTURES))
def test_no_dump_is_stale(name: str) -> None:
    stale = [path.name for path, text in dumps([name]).items() if is_stale(path, text)]
    assert not stale, "run scripts/regenerate_fixtures.py"


def test_every_dump_is_of_a_fixture() -> None:
    made = {
        f"{name}.{variant}"
        for name, fixture in FIXTURES.items()
        for variant in fixture.variants or VARIANTS
    }
    assert {path.stem for path in DUMPS.glob("*.tir")} == made
