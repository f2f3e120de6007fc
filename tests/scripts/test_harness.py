"""What the drivers of GPU measurements share, on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from scripts import harness, run_on_gpu
from scripts.harness import UNMERGED, ratio
from scripts.results import first_line, write
from scripts.run_on_gpu import Run

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.xdist_group("PyTorch"),  # imported where it is used, as that takes a second
]

DRIVERS = sorted(Path(harness.__file__).parent.glob("*_on_gpu.py"))


def test_of_lists_each_element_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.json"
    data = {"device": "none", "runs": [{"way": "a", "us": [1, 2]}, {"way": "b"}], "others": []}
    write(path, data)
    assert json.loads(path.read_text()) == data
    assert '\n  {"way": "a", "us": [1, 2]},\n  {"way": "b"}\n ],\n' in path.read_text()
    write(None, data)


def test_an_error_without_words_is_named() -> None:
    assert first_line(ValueError()) == "ValueError"
    assert first_line(ValueError("one\ntwo")) == "one"


def test_times_are_compared_round_by_round() -> None:
    assert ratio([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == {"median": 0.5, "quartiles": [0.5, 0.5]}


class Tripling:
    """A fixture with one output, on the CPU."""

    name, tolerance = "tripling", 1e-3
    configs: dict[str, None] = {"small": None}

    def inputs(self, config: Any, generator: Any, device: Any) -> tuple[Any, ...]:
        import torch

        return torch.rand(8) + 1, torch.zeros(8)

    def reference(self, args: Any, config: Any) -> dict[int, Any]:
        return {1: 3 * args[0].double()}


def kernel(factor: float) -> Any:
    return lambda given, out: out.copy_(factor * given)


def refused(*args: Any) -> None:
    raise RuntimeError("too much shared memory\nand more")


def test_fixtures_are_held_against_the_reference_and_the_unmerged_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    real = torch.Generator
    monkeypatch.setattr(torch, "Generator", lambda device: real())
    kernels = {UNMERGED: kernel(3), "same": kernel(3), "close": kernel(3.0001), "wrong": kernel(2)}
    runs = [
        Run(name, kernel=one, fixture="tripling", config="small", lowering="plain")
        for name, one in {**kernels, "none": refused}.items()
    ]
    run_on_gpu.check(Tripling(), runs)
    found = {one.merge: one for one in runs}
    assert [found[name].bitwise_equal for name in kernels] == [None, True, False, False]
    assert [found[name].correct for name in kernels] == [True, True, True, False]
    assert found["wrong"].wrong_launches == found["wrong"].launches == 15
    assert found["none"].as_data()["launch_error"] == "too much shared memory"
    assert "kernel" not in found["same"].as_data()


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda one: one.stem)
def test_every_driver_says_what_it_does(driver: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"scripts.{driver.stem}", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--out" in done.stdout
