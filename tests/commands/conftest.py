"""Verbs that read the repository's dumps share their kernels, and what is known of these."""

from __future__ import annotations

from functools import lru_cache

import pytest

from smemreuse.commands import lint, subjects
from smemreuse.compilers.text.reader import Dump, parse_dump
from tests.conftest import ROOT

FIXTURES = str(ROOT / "fixtures")


@lru_cache(maxsize=32)
def _kept(text: str, file: str) -> Dump:
    return parse_dump(text, file)


def _parsed(text: str, file: str) -> Dump:
    """A dump of the repository is read once; any other each time, as a verb does."""
    return (_kept if file.startswith(FIXTURES) else parse_dump)(text, file)


@pytest.fixture(autouse=True)
def _dumps_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "parse_dump", _parsed)
    monkeypatch.setattr(lint, "parse_dump", _parsed)
