"""The progress bar is for terminals alone."""

from __future__ import annotations

import io
import sys

import pytest

from smemreuse.progress import track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["piped", "terminal"])
def test_all_items_come_and_only_a_terminal_sees_a_bar(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    assert [*track([3, 1, 2], "Looking")] == [3, 1, 2]
    assert ("Looking" in stream.getvalue()) is stream.isatty()
