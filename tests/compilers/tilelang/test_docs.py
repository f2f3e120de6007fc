"""What the documentation tells of TileLang, as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import pages_needing, run_page

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("page", pages_needing("tilelang"), ids=lambda page: page.stem)
def test_it_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, "tilelang", tmp_path)
