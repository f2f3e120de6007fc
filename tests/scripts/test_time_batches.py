"""The varied dumps of `scripts/time_batches.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.time_batches import DUMPS, varied, write_dumps
from smemreuse.compilers.text.reader import parse_dump


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_a_varied_dump_is_read_and_is_another(path: Path) -> None:
    text = path.read_text()
    first, second = (parse_dump(varied(text, number)) for number in (0, 7))
    assert first.source == text
    assert len(first.kernels) == len(second.kernels)
    for one, two in zip(first.kernels, second.kernels, strict=True):
        assert one.name != two.name
        before, after = one.allocations("shared.dyn"), two.allocations("shared.dyn")
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert new.name == f"{old.name}_v7"
            assert (new.size or 0) >= (old.size or 0)


def test_there_are_as_many_as_asked_for(tmp_path: Path) -> None:
    write_dumps(tmp_path, 60)
    paths = sorted(tmp_path.rglob("*.tir"))
    assert len(paths) == 60
    assert len({path.read_text() for path in paths}) == 60
