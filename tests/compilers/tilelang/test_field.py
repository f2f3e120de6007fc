"""The dumps of bugs from the field are what today's kernels lower to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.field.kernels import MAKERS
from fixtures.field.make import DUMPS, dumps

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_no_dump_is_stale(make: Callable[..., Any]) -> None:
    stale = [name for name, text in dumps(make) if (DUMPS / name).read_text() != text]
    assert not stale, "run fixtures.field.make"
