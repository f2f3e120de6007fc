"""Versions that exist in a test alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from smemreuse.versions import TILELANG, VERSIONS

KEY = "tilelang-9.9"


def registered(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> str:
    """The key of a version that differs from TileLang's newest in these fields."""
    made = replace(VERSIONS[TILELANG], key=KEY, name="TileLang 9.9", **changes)
    monkeypatch.setitem(VERSIONS, KEY, made)
    return KEY
