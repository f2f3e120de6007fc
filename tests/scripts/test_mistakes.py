"""Which refuted kernels are launched, what they are given, and what counts as differing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from scripts import mistakes_on_gpu
from scripts.benchmarks import mistakes
from scripts.benchmarks.mistakes import Argument, Variant

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.xdist_group("PyTorch"),  # imported where it is used, as that takes a second
]


def function(name: str, arch: str = "sm_90a", **verdicts: str) -> dict[str, Any]:
    launch = {
        merge: {"bytes": 1024, "verdict": [{"verdict": word, "why": "rule 6"}]}
        for merge, word in verdicts.items()
    }
    return {"name": name, "arch": arch, "launches": [{"kernel": "main", **launch}]}


def chosen(*functions: dict[str, Any]) -> list[str]:
    options = mistakes_on_gpu.parser().parse_args(["kernels", "applied.json"])
    return mistakes_on_gpu.chosen(functions, options)


def test_one_refuted_function_of_each_name_is_launched() -> None:
    sound = {"default": "sound", "aggressive": "sound"}
    bad = {"default": "sound", "aggressive": "unsound"}
    found = chosen(
        function("a-one__main__1", **sound),
        function("b-two__main__1", **bad),
        function("b-two__main__2", **bad),
        function("b-test_two__main__3", **bad),
        function("b-two__other__1", **bad),
        function("c-three__main__1", default="unsound", aggressive="unsound"),
        function("d-four__main__1", "sm_80", **bad),
        function("e-five__main__1", default="unproved", aggressive="unproved"),
        {"name": "f-six__main__1", "arch": "sm_90a", "not_lowered": "no"},
    )
    assert found == ["c-three__main__1", "b-two__main__1", "b-two__other__1"]


def made(name: str, dtype: Any, shape: tuple[int, ...] = (5,), most: int = 8) -> Any:
    import torch

    return Argument(name, shape, dtype, most).made(torch.Generator().manual_seed(1))


def test_arguments_are_in_range(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(mistakes, "DEVICE", "cpu")
    assert made("cu_seqlens_q", torch.int32).tolist() == [0, 2, 4, 6, 8]
    indices = made("indices", torch.int32, (1000,))
    assert (int(indices.min()), int(indices.max())) == (0, 7)
    assert int(made("packed", torch.uint8, (1000,)).max()) > 127
    assert int(made("packed", torch.int8, (1000,)).min()) < 0
    assert made("mask", torch.bool, (1000,)).float().mean() == pytest.approx(0.5, abs=0.1)
    assert made("Q", torch.float8_e4m3fn, (4, 4)).dtype is torch.float8_e4m3fn
    assert made("Q", torch.bfloat16, (4, 4)).float().isfinite().all()


class Kernels:
    """On the CPU; one output is doubled, one is another number with every launch."""

    launches = 0

    def right(self, given: Any, doubled: Any, added: Any) -> None:
        self.launches += 1
        doubled.copy_(2 * given)
        added.fill_(self.launches)

    def wrong(self, given: Any, doubled: Any, added: Any) -> None:
        self.right(given, doubled, added)
        if self.launches % 4 == 0:
            doubled[3] = 0

    def refused(self, *args: Any) -> None:
        raise RuntimeError("too much shared memory\nand more")


def compared(monkeypatch: pytest.MonkeyPatch, *kernels: Any) -> dict[str, Any]:
    import torch

    monkeypatch.setattr(mistakes, "DEVICE", "cpu")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    variants = [
        Variant(merge.name, kernel) for merge, kernel in zip(mistakes.MERGES, kernels, strict=False)
    ]
    given = [Argument(name, (8,), torch.float32, 8) for name in ("given", "doubled", "added")]
    return mistakes.compare(variants, given)


def test_bits_count_where_the_unmerged_kernel_agrees_with_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Kernels()
    found = compared(monkeypatch, one.right, one.right, one.wrong)
    assert found["compared_with"] == "side by side"
    assert (found["written"], found["unsteady"]) == (["added", "doubled"], ["added"])
    apart, default, aggressive = found["variants"]
    assert (apart["differing_launches"], default["differing_launches"]) == (0, 0)
    assert aggressive["launches"] == mistakes.LAUNCHES
    assert aggressive["differing_launches"] == mistakes.LAUNCHES
    assert aggressive["differing"] == ["doubled"]


def test_the_default_is_the_measure_where_the_unmerged_kernel_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Kernels()
    found = compared(monkeypatch, one.refused, one.right, one.right)
    apart, default, aggressive = found["variants"]
    assert found["compared_with"] == "TileLang default"
    assert (apart["launches"], apart["launch_error"]) == (0, "too much shared memory")
    assert (default["differing_launches"], aggressive["differing_launches"]) == (0, 0)


def test_what_does_not_launch_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Kernels()
    found = compared(monkeypatch, one.refused, one.refused)
    assert [each["launches"] for each in found["variants"]] == [0, 0]
    assert found["written"] == []
