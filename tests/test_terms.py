"""The list of terms: what it points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (?P<term>[^|]+) \| [^|]+ \| `(?P<path>[^`:]+)(?::(?P<name>\w+))?` \|$",
    (ROOT / "docs" / "terms.md").read_text(),
    re.MULTILINE,
)


def test_each_term_is_listed_once() -> None:
    terms = [term for term, *_ in ROWS]
    assert len(terms) == len(set(terms)) > 40


@pytest.mark.parametrize(("term", "path", "name"), ROWS, ids=[term for term, *_ in ROWS])
def test_a_term_is_defined_where_the_list_says(term: str, path: str, name: str) -> None:
    place = ROOT / "smemreuse" / path
    assert place.is_dir() if path.endswith("/") else place.is_file()
    if name:
        defined = rf"^(class|def) {name}\b|^{name}\b.* = "
        assert re.search(defined, place.read_text(), re.MULTILINE)
