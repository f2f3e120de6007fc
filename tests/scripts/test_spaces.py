"""The spaces, and what measures them: on a processor, with what stands for the GPU."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fixtures.spaces import SPACES
from fixtures.spaces.limited import LIMITED
from scripts import fit_on_gpu
from scripts.apart import Worker, command_of
from scripts.spaces import data, launching, team
from scripts.spaces.compiling import Compiled, compiled
from scripts.spaces.launching import DOES_NOT_LAUNCH, OK, WRONG, Launcher
from smemreuse.tilelang import footprint
from tests.scripts.test_apart import stand_in

pytestmark = pytest.mark.tilelang

SMALL: dict[str, dict[str, int]] = {
    "gemm": {"M": 8, "N": 12, "K": 16},
    "attention": {"heads": 2, "length": 32, "dim": 8, "causal": 1},
    "flash_backward": {"heads": 2, "length": 32, "dim": 8},
    "decode": {"batch": 2, "groups": 2, "heads": 4, "length": 32, "dim": 8},
    "dequantize": {"M": 8, "N": 12, "K": 16},
    "chunk_scan": {"chunks": 2, "chunk": 16, "heads": 3, "dim": 4, "state": 8},
    "convolution": {
        "images": 2,
        "size": 6,
        "channels": 4,
        "filters": 8,
        "taps": 3,
        "stride": 2,
    },
    "gated_delta": {"heads": 2, "length": 32, "chunk": 16, "dim": 8},
    "persistent_gemm": {"M": 8, "N": 12, "K": 16},
}


@pytest.mark.parametrize("name", SPACES)
def test_shapes_and_configurations_are_many_and_differ(name: str) -> None:
    space = SPACES[name]
    assert len(space.shapes) >= 6
    assert len({tuple(shape.items()) for shape in space.shapes.values()}) == len(space.shapes)
    for shape in space.shapes.values():
        configs = space.configs(shape)
        assert len(configs) >= 12
        assert len({tuple(sorted(config.items())) for config in configs}) == len(configs)
        assert not any(set(config) & set(shape) for config in configs)


def test_that_all_of_them_can_be_measured_in_two_runs_of_ten_minutes() -> None:
    total = sum(
        len(each.configs(shape)) for each in SPACES.values() for shape in each.shapes.values()
    )
    assert 1500 <= total <= 3000


@pytest.mark.parametrize("name", SPACES)
def test_two_shapes_of_each_are_held_out_or_all(name: str) -> None:
    space = SPACES[name]
    held = [shape for shape in space.shapes if space.is_held_out(shape)]
    whole = name in ("chunk_scan", "convolution", "gated_delta")
    assert held == (list(space.shapes) if whole else list(space.shapes)[-2:])


@pytest.mark.parametrize("name", SPACES)
def test_a_configuration_lowers_and_fits(name: str) -> None:
    space = SPACES[name]
    shape = next(iter(space.shapes.values()))
    small = (one for one in space.configs(shape) if one["threads"] >= 128)
    config = min(small, key=lambda one: (one["threads"], one["num_stages"]))
    options = space.pass_configs
    assert footprint(space.make, arch="sm_90a", pass_configs=options, **shape, **config).fits


def test_causal_attention_sees_no_key_behind_its_query() -> None:
    space, shape = SPACES["attention"], SMALL["attention"]
    args = space.inputs(shape, torch.Generator().manual_seed(1), torch.device("cpu"))
    Q, K, V = (arg.double() for arg in args[:3])
    wanted = torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)
    torch.testing.assert_close(space.reference(args, shape)[3], wanted)


def test_a_decode_reference_is_attention() -> None:
    space, shape = SPACES["decode"], SMALL["decode"]
    args = space.inputs(shape, torch.Generator().manual_seed(1), torch.device("cpu"))
    Q, K, V = (arg.double() for arg in args[:3])
    wanted = torch.nn.functional.scaled_dot_product_attention(Q, K, V)
    torch.testing.assert_close(space.reference(args, shape)[5], wanted)


def test_a_convolution_reference_is_a_convolution() -> None:
    space, shape = SPACES["convolution"], SMALL["convolution"]
    args = space.inputs(shape, torch.Generator().manual_seed(1), torch.device("cpu"))
    X, W = args[0].double().permute(0, 3, 1, 2), args[1].double().reshape(3, 3, 4, 8)
    wanted = torch.nn.functional.conv2d(X, W.permute(3, 2, 0, 1), stride=2, padding=1)
    found = space.reference(args, shape)[2].reshape(2, 3, 3, 8)
    torch.testing.assert_close(found.permute(0, 3, 1, 2), wanted)


def test_every_shape_comes_before_any_has_its_second_chunk() -> None:
    order = team.chunks(SPACES)
    shapes = [(jobs[0].family, jobs[0].shape) for jobs in order]
    total = sum(len(space.shapes) for space in SPACES.values())
    assert len(set(shapes[:total])) == total
    jobs = Counter((job.family, job.shape, job.index) for chunk in order for job in chunk)
    assert set(jobs.values()) == {1}
    gemm = SPACES["gemm"]
    assert sum(key[0] == "gemm" for key in jobs) == sum(
        len(gemm.configs(shape)) for shape in gemm.shapes.values()
    )


class _Event:
    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: _Event) -> float:
        return (end.at - self.at) * 1000


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    """One that takes the processor for the GPU."""
    stand_in = {"Event": _Event, "_sleep": lambda _: None, "synchronize": lambda: None}
    for name, value in stand_in.items():
        monkeypatch.setattr(torch.cuda, name, value)
    return Launcher("cpu", flush=1024)


def small(name: str) -> Any:
    space = SPACES[name]
    return SimpleNamespace(
        name=name,
        shapes={"small": SMALL[name]},
        inputs=space.inputs,
        reference=space.reference,
        tolerance=space.tolerance,
    )


def right(space: Any) -> Any:
    """What computes as a kernel of the space does."""

    def kernel(*args: torch.Tensor) -> None:
        for index, value in space.reference(args, space.shapes["small"]).items():
            args[index].copy_(value)

    return kernel


@pytest.mark.parametrize("name", SPACES)
def test_a_right_kernel_is_timed(name: str, launcher: Launcher) -> None:
    space, told = small(name), list[str]()
    found = launcher.launch(space, "small", right(space), told.append)
    assert found["status"] == OK
    low, high = found["quartiles_us"]
    assert 0 < low <= found["median_us"] <= high
    assert told == ["making inputs", "launching", "timing"]


def test_a_kernel_that_writes_nothing_or_rubbish_is_wrong(launcher: Launcher) -> None:
    space = small("gemm")
    nothing = launcher.launch(space, "small", lambda *args: None, lambda _: None)
    assert nothing["status"] == WRONG
    rubbish = launcher.launch(space, "small", lambda *args: args[2].fill_(1), lambda _: None)
    assert rubbish["status"] == WRONG
    assert "median_us" not in rubbish
    assert launcher.launch(space, "small", right(space), lambda _: None)["status"] == OK


def test_what_a_wrong_kernel_did_to_its_inputs_does_not_stay(launcher: Launcher) -> None:
    space = small("gemm")
    launcher.launch(space, "small", lambda *args: args[0].zero_(), lambda _: None)
    assert launcher.launch(space, "small", right(space), lambda _: None)["status"] == OK


def test_a_kernel_that_is_refused_does_not_launch(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: torch.Tensor) -> None:
        raise RuntimeError("CUDA_ERROR_INVALID_VALUE\nand more")

    found = launcher.launch(small("gemm"), "small", refused, lambda _: None)
    assert found == {"status": DOES_NOT_LAUNCH, "error": "CUDA_ERROR_INVALID_VALUE"}
    assert not launcher.broken
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: refused())
    assert not launcher._usable()


def test_what_does_not_lower_is_told_by_its_first_line() -> None:
    space = SPACES["decode"]
    shape = space.shapes["8k, 8 sequences"]
    config = {"splits": 8, "block_N": 64, "num_stages": 2, "threads": 256}
    found = compiled(space, {**shape, **config}, "sm_90a").found
    assert found["status"] == "lowering failed"
    assert "\n" not in found["error"]
    assert found["kernels"] == []


def test_workers_that_hang_or_die_are_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team, "SECONDS_OF_THE_REST", 0.5)
    jobs = [team.Job("f", "s", at, {"wish": wish}) for at, wish in enumerate((0, 1, 2, 3, 0))]
    found: dict[int, dict[str, Any]] = {}
    with open(tmp_path / "log", "w") as log:
        worker = Worker(command_of(stand_in), log)
        until = time.monotonic() + 600
        team.run_all([jobs], [worker], until, lambda job, data: found.update({job.index: data}))
    assert [found[at]["status"] for at in range(5)] == [
        "ok",
        "hangs",
        "lowering failed",
        "ok",
        "ok",
    ]
    assert found[1]["error"] == "not done in 0 s, launching"


def test_nothing_is_begun_when_time_is_up(tmp_path: Path) -> None:
    found: list[Any] = []
    with open(tmp_path / "log", "w") as log:
        worker = Worker(command_of(stand_in), log)
        job = team.Job("f", "s", 0, {"wish": 0})
        team.run_all([[job]], [worker], time.monotonic() - 1, lambda *each: found.append(each))
    assert found == []
    assert worker.process is None


def test_what_is_held_out_is_written_apart(tmp_path: Path) -> None:
    space = SPACES["gemm"]
    names = list(space.shapes)
    found = {(name, 0): {"status": "ok", "median_us": 1.5} for name in names}
    data.write(tmp_path, space, {"device": "none"}, found)
    seen = json.loads((tmp_path / "gemm.json").read_text())
    held = json.loads((tmp_path / "gemm.held-out.json").read_text())
    assert [shape["name"] for shape in seen["shapes"]] == names[:-2]
    assert [shape["name"] for shape in held["shapes"]] == names[-2:]
    assert seen["schema"] == "smemreuse.space/1"
    assert seen["device"] == "none"
    first = seen["shapes"][0]
    assert first["configs"] == [{"config": space.configs(first["shape"])[0], **found[names[0], 0]}]
    data.write(tmp_path, SPACES["chunk_scan"], {}, {})
    assert not (tmp_path / "chunk_scan.json").exists()


def test_the_gpu_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    import fcntl

    lock = tmp_path / "lock"
    with launching.alone(lock), open(lock) as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(lock) as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _Launched:
    broken = False

    def same_bits(self, space: Any, shape: str, one: Any, other: Any) -> bool:
        return (one, other) == ("changed", "written")

    def launch(self, space: Any, shape: str, kernel: Any, doing: Any) -> dict[str, Any]:
        doing("launching")
        self.broken = kernel == "bad"
        return {"status": "does not launch" if self.broken else "ok"}


def test_a_worker_launches_what_is_compiled_and_ends_with_its_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter(
        [
            Compiled(None, {"status": "lowering failed", "error": "no"}),
            Compiled("good", {"status": "compiled", "registers": 7}),
            Compiled("bad", {"status": "compiled"}),
        ]
    )
    asked: list[dict[str, int]] = []
    said: list[str] = []

    def compiling(space: Any, arguments: dict[str, int], arch: str) -> Compiled:
        asked.append(arguments)
        return next(made)

    monkeypatch.setattr(team, "compiled", compiling)
    monkeypatch.setattr(team, "Launcher", _Launched)
    monkeypatch.setattr(team, "start_device", lambda: None)
    monkeypatch.setattr(team, "doing", said.append)
    job = {"family": "gemm", "shape": "square", "config": {"block_M": 64}}
    answers = team.work("sm_90a", str(tmp_path / "lock"))
    assert next(answers) is None
    first, second = answers.send(job), answers.send(job)
    assert (first["status"], second["status"], second["registers"]) == ("lowering failed", "ok", 7)
    with pytest.raises(StopIteration) as ended:
        answers.send(job)
    assert ended.value.value["status"] == "does not launch"
    assert asked[0] == {"M": 4096, "N": 4096, "K": 4096, "block_M": 64}
    assert said[:3] == ["waiting", "compiling", "compiling"]


def test_what_levers_changed_is_compared_with_the_kernel_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(fits: bool, *steps: str) -> dict[str, Any]:
        return {"status": "compiled", "fitting": {"fits": fits, "steps": [*steps]}}

    made = iter(
        [
            Compiled("plain", fitted(True)),
            Compiled("large", fitted(False)),
            Compiled("changed", fitted(True, "fewer stages")),
            Compiled("written", {"status": "compiled"}),
            Compiled("bad", fitted(True)),
        ]
    )
    asked: list[tuple[dict[str, Any], ...]] = []
    limited = {"objective": "fit", "limit": 1000}

    def compiling(space: Any, arguments: Any, arch: str, *options: dict[str, Any]) -> Compiled:
        asked.append(options)
        return next(made)

    monkeypatch.setattr(fit_on_gpu, "compiled", compiling)
    monkeypatch.setattr(team, "Launcher", _Launched)
    monkeypatch.setattr(team, "start_device", lambda: None)
    for module in (fit_on_gpu, team):
        monkeypatch.setattr(module, "doing", lambda _: None)
    job = {"family": "attention", "shape": next(iter(LIMITED["attention"].shapes)), "config": {}}
    answers = fit_on_gpu.work("sm_90a", limited, str(tmp_path / "lock"))
    next(answers)
    plain, large, changed = (answers.send(job) for _ in range(3))
    assert (plain["status"], large["status"]) == ("ok", "does not fit")
    assert "same_bits" not in plain
    assert (changed["status"], changed["written"], changed["same_bits"]) == (
        "ok",
        {"status": "ok"},
        True,
    )
    assert asked == [(limited,), (limited,), (limited,), ()]
    with pytest.raises(StopIteration):
        answers.send(job)


def test_a_tile_that_levers_make_faster_is_without_them_as_it_was_written() -> None:
    def run(took: float, written: float | None = None) -> dict[str, Any]:
        speedup = {"steps": [] if written is None else ["fewer stages"]}
        found = {"status": "ok", "config": {}, "median_us": took, "speedup": speedup}
        return found | (
            {} if written is None else {"written": {"status": "ok", "median_us": written}}
        )

    found = fit_on_gpu.summary("attention", "4k", [run(100), run(80, 96), run(90, 85)])
    assert (found["as_they_are"], found["by_levers"]) == (1, 2)
    assert (found["without"]["us"], found["with"]["us"]) == (85, 80)
    assert found["gain"] == 1.0625


def test_what_is_compiled_for_speed_says_what_was_said() -> None:
    space = LIMITED["dequantize"]
    (shape,) = space.shapes.values()
    config = space.configs(shape)[0]
    found = compiled(space, {**shape, **config}, "sm_90a", {"levers": True}).found
    assert "fitting" not in found
    assert (found["speedup"]["steps"], found["speedup"]["said"]) == ([], None)
    assert found["speedup"]["why"]
