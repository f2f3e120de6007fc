"""Tune shapes of the spaces with TileLang's autotuner: over all, and over what `advise` names.

    python -m scripts.tune_on_gpu --out docs/results/tuning-h200.json
    python -m scripts.tune_on_gpu --space "gemm:decode 256" --top 8
    python -m scripts.tune_on_gpu --configs best.json      # {"gemm:decode 256": [{...}, ...]}

Each way has a process and caches of its own. Its seconds are those from the list of configurations
to the tuner's answer, advice included; importing and the making of inputs are left out. What it
finds is held against a float64 reference and timed in the same process, as spaces_on_gpu.py times.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from scripts.apart import command_of, found_apart
from scripts.results import about_gpu, options_of, write
from scripts.spaces.launching import Launcher

STOCK, MERGED, ADVISED = "all, TileLang's merge", "all, smemreuse", "advised, smemreuse"
WAYS = (ADVISED, STOCK, MERGED)
DEFAULT_SPACES = ("gemm:decode 256", "attention:2k, 128, causal")
"""Of held-out shapes."""
SECONDS = 200
"""That a way may take."""


def tune(
    family: str, shape: str, way: str, asked: list[dict[str, int]] | None, top: int, arch: str
) -> dict[str, Any]:
    """What one way takes and finds, in this process."""
    import torch

    import smemreuse.tilelang
    from fixtures.spaces import SPACES

    space = SPACES[family]
    configs = space.configs(space.shapes[shape])
    asked = configs if way != ADVISED else asked
    begin = time.monotonic()
    if asked is None:  # before the GPU is used, since advice forks
        asked = advised(space, shape, configs, top, arch)
    advice_seconds = time.monotonic() - begin
    generator = torch.Generator(device="cuda").manual_seed(1)
    args = space.inputs(space.shapes[shape], generator, torch.device("cuda"))
    begin = time.monotonic()
    with nullcontext() if way == STOCK else smemreuse.tilelang.merge():
        best = tuned(family, shape, asked, args, arch)
    seconds = time.monotonic() - begin + advice_seconds
    found = Launcher().launch(space, shape, best.kernel, lambda _: None)
    return {
        "space": f"{family}:{shape}",
        "way": way,
        "configs": len(asked),
        "of": len(configs),
        "seconds": round(seconds, 2),
        "advice_seconds": round(advice_seconds, 2),
        "best": best.config,
        "tuner_us": round(best.latency * 1000, 2),
        **found,
    }


def listed(path: Path | None, space: str) -> list[dict[str, int]] | None:
    """The configurations that a file names for a space; None where it names none."""
    known = json.loads(path.read_text()) if path else {}
    found: list[dict[str, int]] | None = known.get(space)
    return found


def advised(space: Any, shape: str, configs: Sequence[Any], top: int, arch: str) -> list[Any]:
    """The first `top` that `advise` names."""
    import smemreuse.tilelang

    advice = smemreuse.tilelang.advise(
        space.make,
        configs,
        arch=arch,
        top=top,
        pass_configs=space.pass_configs,
        **space.shapes[shape],
    )
    return list(advice)


def tuned(family: str, shape: str, configs: Sequence[Any], args: Sequence[Any], arch: str) -> Any:
    """What TileLang's tuner finds; it measures as it does by default, but for the inputs."""
    from tilelang.autotuner import AutoTuner

    from fixtures.spaces import SPACES

    options = dict(SPACES[family].pass_configs)
    tuner = AutoTuner.from_kernel(factory(family, shape, list(configs[0])), list(configs))
    tuner.set_compile_args(target={"kind": "cuda", "arch": arch}, pass_configs=options)
    tuner.set_profile_args(supply_prog=lambda _: args, cache_input_tensors=True, skip_check=True)
    return tuner.run()


def factory(family: str, shape: str, names: Sequence[str]) -> Callable[..., Any]:
    """What makes the kernel of a configuration, with the parameters that the tuner looks for.

    It encloses nothing but words, since the tuner takes no other closure.
    """

    def kernel(**config: int) -> Any:
        from fixtures.spaces import SPACES

        return SPACES[family].make(**SPACES[family].shapes[shape], **config)

    wanted = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, wanted, default=None) for name in names]
    kernel.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return kernel


def in_own_process(space: str, way: str, options: argparse.Namespace) -> dict[str, Any]:
    """A way's result; what goes wrong is in `error`."""
    named = listed(options.configs, space)
    asked = (*space.split(":", 1), way, named, options.top, options.arch)
    return found_apart(command_of(tune, *asked), SECONDS, space=space, way=way)


def parser() -> argparse.ArgumentParser:
    found = options_of(__doc__, "out", "arch")
    found.add_argument("--space", action="append", help="FAMILY:SHAPE; more than one may be given")
    found.add_argument("--top", type=int, default=8, help="how many `advise` is to name")
    found.add_argument("--configs", type=Path, help="JSON that names them instead, by space")
    return found


def main() -> int:
    options = parser().parse_args()
    about = {**about_gpu("tuning", tilelang=True), "cores": len(os.sched_getaffinity(0))}
    runs: list[dict[str, Any]] = []
    for space in options.space or DEFAULT_SPACES:
        for way in WAYS:
            runs.append(in_own_process(space, way, options))
            print(json.dumps(runs[-1]), flush=True)
            write(options.out, {**about, "runs": runs})
    return int(any("error" in run for run in runs))


if __name__ == "__main__":
    sys.exit(main())
