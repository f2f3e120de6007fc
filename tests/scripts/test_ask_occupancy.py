"""What a driver answers about packed cubins, and what is told where it is not what we say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.ask_occupancy import Driver, DriverError, asked, summary

ROW = {
    "cubin": "a.cubin",
    "symbol": "k",
    "threads": 128,
    "dynamic_bytes": 4096,
    "blocks": 6,
    "registers": 40,
    "blocks_before": 5,
}


class Library:
    """A driver whose SM holds as many blocks as a kernel's symbol has letters, times six."""

    def __init__(self, most_dynamic: int = 232_448) -> None:
        self.most_dynamic = most_dynamic
        self.loaded: list[bytes] = []
        self.symbol = b""

    def __getattr__(self, function: str) -> Any:
        return lambda *arguments: 0

    def cuModuleLoadData(self, module: Any, cubin: bytes) -> int:
        self.loaded.append(cubin)
        return 0 if cubin.startswith(b"\x7fELF") else 200

    def cuModuleGetFunction(self, kernel: Any, module: Any, symbol: bytes) -> int:
        self.symbol = symbol
        return 0

    def cuFuncGetAttribute(self, value: Any, attribute: int, kernel: Any) -> int:
        value._obj.value = {1: 64, 4: 40}[attribute]
        return 0

    def cuFuncSetAttribute(self, kernel: Any, attribute: int, value: Any) -> int:
        return int(value.value > self.most_dynamic)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, blocks: Any, *asked: Any) -> int:
        assert [one.value for one in asked[1:]] == [ROW["threads"], ROW["dynamic_bytes"]]
        blocks._obj.value = 6 * len(self.symbol)
        return 0


def answers(folder: Path, library: Library, **changes: Any) -> list[dict[str, Any]]:
    (folder / "a.cubin").write_bytes(b"\x7fELF and so on")
    (folder / "index.json").write_text(json.dumps([{**ROW, **changes}]))
    return [*asked(folder, Driver(library))]


def test_each_kernel_is_asked_about(tmp_path: Path) -> None:
    library = Library()
    (row,) = answers(tmp_path, library)
    assert row["cuda"] == {"blocks": 6, "static_bytes": 64, "registers": 40}
    assert library.loaded == [b"\x7fELF and so on"]
    found = summary([row], "card")
    assert (found["kernels"], found["different"]) == (1, 0)
    assert found["before_ptxas"] == {
        "same": 0,
        "too_few": 1,
        "too_many": 0,
        "none_fits_wrongly": 0,
    }


def test_another_answer_is_told(tmp_path: Path) -> None:
    rows = answers(tmp_path, Library(), blocks=7, blocks_before=0)
    found = summary(rows, "card")
    assert found["differences"] == rows
    assert found["before_ptxas"]["none_fits_wrongly"] == 1


def test_bytes_that_are_refused_leave_no_block(tmp_path: Path) -> None:
    (row,) = answers(tmp_path, Library(most_dynamic=1024))
    assert row["cuda"]["blocks"] == 0


def test_what_is_no_cubin_is_an_error() -> None:
    with pytest.raises(DriverError, match="cuModuleLoadData gives 200"):
        Driver(Library()).blocks(b"", "k", 1, 0)
