"""Which kernels of other projects a table names, how they are loaded, and what is told of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from scripts.production.loading import (  # noqa: E402
    MissingFactory,
    factory_of,
    located,
    read_table,
    value_of,
)
from scripts.production.page import (  # noqa: E402
    production_counts,
    production_not_lowered,
    production_refuted,
)

TABLE = """repo,file,factory,config
own,python/pkg/kernels/one.py,make,"[[""4"", ""torch.float32""], {""flag"": ""True""}]"
own,python/pkg/kernels/one.py,make,"[[""bfloat16"", ""0.5""], {}]"
own,python/pkg/kernels/one.py,outer.<locals>.inner,"[[], {}]"
"""
SOURCE = """
from pkg.serving import is_hip
from .beside import SIZE

def make(*args, flag=False):
    return args, flag, bool(is_hip()), SIZE
"""


def test_a_factory_is_called_without_what_its_project_runs_on(tmp_path: Path) -> None:
    table, folder = tmp_path / "kernels.csv", tmp_path / "pkg" / "kernels"
    folder.mkdir(parents=True)
    table.write_text(TABLE)
    (folder / "one.py").write_text(SOURCE)
    (folder / "beside.py").write_text("SIZE = 3")
    first, second = read_table([table])
    assert [first.title, second.title] == ["own make 1", "own make 2"]
    assert factory_of(first, tmp_path)() == ((4, torch.float32), True, False, 3)
    assert factory_of(second, tmp_path)() == (("bfloat16", 0.5), False, False, 3)
    with pytest.raises(MissingFactory, match="no other"):
        located(tmp_path, "pkg/kernels/one.py", "other")


def test_the_text_of_a_tensor_is_one() -> None:
    made = value_of("tensor(2, 3):bfloat16")
    assert (tuple(made.shape), made.dtype) == ((2, 3), torch.bfloat16)


def test_what_is_told_of_a_version_is_counted() -> None:
    kernel: dict[str, Any] = {
        "name": "main_kernel",
        "default": {"bytes": 64, "applied": 64, "verdict": "sound"},
        "aggressive": {"bytes": 32, "verdict": "unsound", "why": "rule 6, a and b: `x | y`"},
        "ours": {"bytes": 48, "verdict": "sound"},
        "lint": {"status": "clean", "hazards": [], "unknown": []},
    }
    rows = [
        {"repository": "own", "kernel": "make 1", "lowered": True, "kernels": [kernel]},
        {"repository": "own", "kernel": "make 2", "lowered": False, "error": "no"},
        {"repository": "own", "kernel": "gone 1", "lowered": False, "missing": True},
    ]
    run = {"tilelang": "0.1.12", "rows": rows}
    assert "| own | 0.1.12 | 1 of 2 | 1 of 1 | 64 | 48 | 0 | 0 | 1 |" in production_counts([run])
    assert "aggressive | 0.1.12 | rule 6, a and b: `x \\| y` |" in production_refuted([run])
    assert "| own | 0.1.12 | `make 2` | no |" in production_not_lowered([run])
