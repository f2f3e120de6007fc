"""What `fit` says of dumps, counted; and the tables of what fits."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.fits_of_dumps import BY_CHANGES, BY_TILES, NOT, rows_of
from scripts.fitting_page import dumps_table, fits_table


def kernel(name: str, size: int, **other: Any) -> dict[str, Any]:
    return {
        **{"file": f"dumps/sm_80/{name}.tir", "bytes": size, "fits": size <= 100, "after": size},
        **{"steps": [], "smaller": None, "why": "too large", "default_bytes": size, **other},
    }


STAGES = [{"kind": "stages", "bytes": 90}]
KERNELS = [
    kernel("small", 80),
    kernel("ours", 100, default_bytes=120),
    kernel("staged", 150, steps=STAGES, after=90, default_bytes=None),
    kernel("tiled", 200, smaller={"tiles": [{"name": "a"}], "bytes": 70, "steps": []}),
    kernel("stuck", 300),
]


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return rows_of("training", {"kernels": KERNELS, "options": {"limit": 100}})


def test_each_kernel_that_does_not_fit_is_told_once(rows: list[dict[str, Any]]) -> None:
    (row,) = rows
    assert (row["name"], row["kernels"]) == ("training, sm_80", 5)
    assert (row["default_fits"], row["fits"]) == (1, 2)
    assert row["kinds"] == {"stages": 1}
    assert row[BY_CHANGES] == [{"name": "staged", "bytes": 150, "kinds": ["stages"], "after": 90}]
    assert row[BY_TILES] == [{"name": "tiled", "bytes": 200, "tiles": 1, "after": 70}]
    assert row[NOT] == [{"name": "stuck", "bytes": 300, "why": "too large"}]


def test_folders_are_told_apart_by_their_gpu() -> None:
    other = kernel("other", 80) | {"file": "dumps/sm_90a/other.tir"}
    plain = kernel("plain", 80) | {"file": "dumps/plain.tir"}
    found = rows_of("some", {"kernels": [*KERNELS, other, plain], "options": {"limit": 100}})
    names = [(one["name"], one["kernels"]) for one in found]
    assert names == [("some", 1), ("some, sm_80", 5), ("some, sm_90a", 1)]


def test_the_table_of_dumps(rows: list[dict[str, Any]]) -> None:
    table = dumps_table({"date": "2026-01-01", "limit": 100, "groups": rows})
    assert table.splitlines()[-1] == "| training, sm_80 | 5 | 1 | 2 | 1 (stages 1) | 1 | 1 |"


def test_a_function_counts_by_the_lever_that_is_pulled_last() -> None:
    def fitted(*kinds: str) -> dict[str, Any]:
        steps = [{"kind": kind} for kind in kinds]
        return {"default": 120, "merged": 120, "fits": True, "steps": steps}

    functions = [fitted("stages"), fitted("later-loads", "reload"), fitted("reload", "slices")]
    small = {"default": 90, "merged": 90}
    data = {
        **{"date": "2026-01-01", "machine": "a machine", "arch": "sm_90a", "limit": 100},
        "added_seconds": {"median": 1.5, "worst": 3},
        "functions": [*functions, fitted("reload"), small],
    }
    table = fits_table(data)
    assert "add 1.5 s" in table
    assert [row.split(" | ")[-1] for row in table.splitlines()[4:]] == ["1 |", "1 |", "2 |", "1 |"]
