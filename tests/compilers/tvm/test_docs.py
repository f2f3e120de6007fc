"""What the documentation tells of Apache TVM, as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import pages_needing, run_page

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("page", pages_needing("tvm"), ids=lambda page: page.stem)
def test_it_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, "tvm", tmp_path)
