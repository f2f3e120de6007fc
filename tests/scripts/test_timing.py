"""What is made of the variants' outputs and times."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Generator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from scripts import benchmark_on_gpu
from scripts.apart import Named, Worker, command_of, doing, in_turn
from scripts.benchmarks.variants import AGAIN, DEFAULT, Variant, merges, timed
from scripts.benchmarks.worker import work
from scripts.harness import UNMERGED
from scripts.nvcc import resources

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.xdist_group("PyTorch"),  # imported where it is used, as that takes a second
]

KERNEL = """\
extern "C" __global__ void __launch_bounds__(1024) spills(float *out, const float *in) {
  float value[96];
  for (int i = 0; i < 96; ++i) value[i] = in[threadIdx.x + i * 1024];
  for (int round = 0; round < in[0]; ++round)
    for (int i = 0; i < 96; ++i) value[i] = value[i] * value[(i + 1) % 96] + round;
  for (int i = 0; i < 96; ++i) out[threadIdx.x + i * 1024] = value[i];
}
extern "C" __global__ void small(float *out) { out[threadIdx.x] = 1; }
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_registers_and_spills_are_read_from_a_cubin(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    command = ["nvcc", "-arch=sm_90a", "-cubin", "-o", "kernel.cubin", "kernel.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = resources((tmp_path / "kernel.cubin").read_bytes())
    assert found is not None
    registers, frame = found
    assert registers == 64
    assert frame > 0
    assert resources(b"no cubin") is None


def test_a_variant_that_does_not_launch_is_not_timed() -> None:
    variants = [
        Variant(UNMERGED, kernel=object(), launch_error="too much"),
        Variant(DEFAULT, kernel=object()),
        Variant("smemreuse speed", compile_error="no"),
    ]
    assert [one.merge for one in timed(variants)] == [DEFAULT, AGAIN]


def test_times_are_told_by_the_default_s_of_the_same_rounds() -> None:
    default = Variant(DEFAULT, rounds_ms=[1.0, 2.0, 4.0, 2.0])
    data = Variant("smemreuse speed", rounds_ms=[0.9, 1.8, 3.6, 1.8], kernel=1).as_data(default, [])
    assert "kernel" not in data
    assert data["median_ms"] == 1.8
    assert data["of_default"]["median"] == pytest.approx(0.9)
    assert "of_default" not in Variant("smemreuse speed").as_data(default, [])


def judged(name: str, outputs: dict[int, Any], expected: dict[int, Any]) -> Variant:
    variant = Variant(name)
    variant.judge(outputs, expected, 1e-3)
    return variant


def test_one_wrong_output_is_a_wrong_launch() -> None:
    import torch

    right, wrong = torch.ones(4), torch.tensor([1.0, 1.0, 1.0, float("nan")])
    expected = {0: right.double(), 2: right.double()}
    assert judged("a", {0: right, 2: right}, expected).wrong_launches == 0
    found = judged("b", {0: right, 2: wrong}, expected)
    assert (found.launches, found.wrong_launches, found.worst_error) == (1, 1, 1e30)


def test_bits_are_compared_where_a_kernel_agrees_with_itself() -> None:
    import torch

    from scripts.benchmarks.timing import compare

    one, other = torch.tensor([0.0]), torch.tensor([-0.0])  # equal, but for the bits
    apart, speed = Variant(UNMERGED), Variant("smemreuse speed", differing={0: 0, 1: 2})
    compare([apart, speed], {UNMERGED: {0: one, 1: one}, "smemreuse speed": {0: one, 1: other}})
    assert (apart.bitwise_equal, speed.bitwise_equal) == (None, True)
    compare([apart, speed], {UNMERGED: {0: one, 1: one}, "smemreuse speed": {0: other, 1: one}})
    assert speed.bitwise_equal is False


def test_the_default_is_the_measure_where_nothing_fits_unmerged() -> None:
    import torch

    from scripts.benchmarks.timing import compare

    one, other = torch.tensor([0.0]), torch.tensor([1.0])
    default, speed = Variant(DEFAULT), Variant("smemreuse speed")
    compare([default, speed], {DEFAULT: {0: one}, "smemreuse speed": {0: other}})
    assert (default.bitwise_equal, speed.bitwise_equal) == (None, False)


def tile_data(default_ms: float, ratio: float) -> dict[str, Any]:
    default = Variant(DEFAULT, rounds_ms=[default_ms] * 4)
    speed = Variant("smemreuse speed", rounds_ms=[default_ms * ratio] * 4)
    return {
        "benchmark": "one",
        "tile": "64",
        "variants": [default.as_data(default, []), speed.as_data(default, [])],
    }


def test_only_what_takes_long_enough_counts_as_slower() -> None:
    tiles = [tile_data(0.04, 1.5), tile_data(0.06, 1.009), tile_data(0.06, 1.02)]
    assert benchmark_on_gpu.slower([*tiles, {"error": "ended"}]) == ["one 64: 1.020"]


def stuck() -> Generator[dict[str, Any], str, None]:
    doing("compiling")
    yield {"benchmark": "one", "tile": "64", "compiled": 4}
    doing("launching smemreuse bytes")
    time.sleep(60)


def found_of(command: Sequence[str], tmp_path: Path, seconds: float) -> dict[str, Any]:
    named: Named = ({"benchmark": "one", "tile": "64", "variants": []}, Worker(command))
    options = benchmark_on_gpu.parser().parse_args(["--out", str(tmp_path / "out.json")])
    (found,) = in_turn([named], options, seconds)
    return found


def test_a_process_that_ends_early_is_told(tmp_path: Path) -> None:
    """A worker that cannot even import its benchmark."""
    command = command_of(work, "no such kernel", "64", "sm_90a", "speed")
    found = found_of(command, tmp_path, 60)
    assert found["error"].startswith("ended with 1, starting: ")
    assert "Error" in found["error"]
    assert "Error" in benchmark_on_gpu.brief(found)


def test_a_kernel_that_hangs_is_named(tmp_path: Path) -> None:
    """What was found in compiling is kept."""
    found = found_of(command_of(stuck), tmp_path, 0.3)
    assert found["error"] == "not done in 0 s, launching smemreuse bytes"
    assert found["compiled"] == 4


class Event:
    """Each is a millisecond after the one recorded before it."""

    now = 0.0

    def __init__(self, enable_timing: bool) -> None:
        self.at = 0.0

    def record(self) -> None:
        Event.now += 1
        self.at = Event.now

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


class Doubling:
    """A benchmark on the CPU; what it is given counts the launches, too."""

    tolerance = 1e-6
    launches = 0

    def inputs(self, config: Any, generator: Any, device: Any) -> tuple[Any, ...]:
        import torch

        given = torch.rand(8, generator=generator)
        return given, torch.full((8,), float("nan")), torch.zeros(8)

    def reference(self, args: Any, config: Any) -> dict[int, Any]:
        import torch

        return {1: 2 * args[0].double(), 2: torch.ones(8, dtype=torch.float64)}

    def right(self, given: Any, doubled: Any, added: Any) -> None:
        doubled.copy_(2 * given)
        added += 1

    def wrong(self, given: Any, doubled: Any, added: Any) -> None:
        doubled.copy_(3 * given)
        added += 1

    def unsteady(self, given: Any, doubled: Any, added: Any) -> None:
        self.launches += 1
        doubled.copy_(2 * given)
        added += 1 + 2**-23 * (self.launches % 2)

    def refused(self, *args: Any) -> None:
        raise RuntimeError("too much shared memory\nand more")


def test_variants_are_checked_and_timed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from scripts.benchmarks import timing

    monkeypatch.setattr(timing, "DEVICE", "cpu")
    monkeypatch.setattr(timing, "FLUSH", 16)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: None)
    one = Doubling()
    apart, default = Variant(UNMERGED, kernel=one.refused), Variant(DEFAULT, kernel=one.right)
    wrong, unsteady = Variant("wrong", kernel=one.wrong), Variant("steps", kernel=one.unsteady)
    variants = [apart, default, wrong, unsteady, Variant("no", compile_error="no")]
    said: list[str] = []
    timing.check(one, {}, variants, said.append)
    timing.measure(one, {}, timed(variants))
    timing.measure(one, {}, timed([apart]))  # nothing that runs: nothing to time
    assert said[:3] == [
        "making inputs and a reference",
        "launching side by side",
        "launching TileLang default",
    ]
    assert apart.launch_error == "too much shared memory"
    assert (default.launches, default.wrong_launches, default.bitwise_equal) == (6, 0, None)
    assert (wrong.wrong_launches, wrong.bitwise_equal) == (6, False)
    # Its first launches differ from the default's in an output that is not compared.
    assert (unsteady.differing[1], unsteady.differing[2] > 0) == (0, True)
    assert (unsteady.wrong_launches, unsteady.bitwise_equal) == (0, True)
    assert default.rounds_ms == [1.0] * timing.ROUNDS
    data = default.as_data(default, ["given", "doubled", "added"])
    assert data["of_default"]["median"] == 1
    assert data["differing"] == {"doubled": 0, "added": 0}


def test_each_merge_has_a_name_of_its_own() -> None:
    assert len({one.name for one in merges("bytes")}) == 4
