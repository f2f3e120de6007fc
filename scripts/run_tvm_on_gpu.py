"""Run every Apache TVM fixture under every merge on a CUDA device, check and time it, write JSON.

    ENV/bin/python -m scripts.run_tvm_on_gpu --pack .gpu/tvm      # Apache TVM 0.27 and nvcc
    python3 -m scripts.run_tvm_on_gpu --run .gpu/tvm --out docs/results/h200-tvm.json
    python3 -m scripts.run_tvm_on_gpu --run .gpu/tvm --rehearse   # load everything, launch nothing

The first phase needs no GPU: it compiles the kernels into a folder, and packs TVM's runtime for
Python 3.12 beside them; the same goes into a .tar.xz next to the folder. The second needs no
compiler: Python 3.12 with PyTorch and NumPy, and a CUDA device. Results are checked and times taken
as in `run_on_gpu.py`.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.harness import UNMERGED, Merge
from scripts.results import ARCH, about_gpu, options_of, write
from scripts.run_on_gpu import Run, check, groups_of, measure, print_summary

LOWERING = "s_tir"
PYTHON = "3.12"
PLATFORMS = (
    "manylinux_2_28",
    "manylinux_2_27",
    "manylinux_2_24",
    "manylinux_2_17",
    "manylinux2014",
)
RUNTIME_LIBRARIES = ("libtvm_runtime.so", "libtvm_runtime_cuda.so")
MANIFEST = "manifest.json"


MERGES = (
    Merge(UNMERGED, {}, "dataflow", "none", "tvm"),
    Merge("TVM default"),
    Merge("smemreuse outer", {}, "outer", door="tvm"),
    Merge("smemreuse inner", {}, "inner", door="tvm"),
    Merge("smemreuse dataflow", {}, "dataflow", door="tvm"),
    Merge("smemreuse speed", {}, "dataflow", "speed", "tvm"),
)


def pack(folder: Path, names: Sequence[str]) -> list[dict[str, object]]:
    """Compiles the fixtures into `folder`, with a manifest and what it takes to run them."""
    from fixtures.tvm import FIXTURES

    shutil.rmtree(folder, ignore_errors=True)
    (folder / "kernels").mkdir(parents=True)
    entries = [
        _pack_one(folder, fixture, config, merge)
        for fixture in (FIXTURES[name] for name in names or FIXTURES)
        for config in fixture.configs
        for merge in MERGES
    ]
    _pack_runtime(folder)
    manifest = {"arch": ARCH, **_versions(), "kernels": entries}
    write(folder / MANIFEST, manifest)
    archive = folder.with_name(folder.name + ".tar.xz")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(folder, arcname=".")
    print(f"{len(entries)} kernels, {archive.stat().st_size:,} bytes in {archive}")
    return entries


def _pack_one(folder: Path, fixture: Any, config: str, merge: Merge) -> dict[str, object]:
    """Compiles one variant to a library and a cubin named after it; a failure goes on record."""
    from fixtures.tvm.lowering import capture_merged, compile_cubin, cuda_source

    words = (fixture.name, config, *merge.name.split())
    stem = "kernels/" + "-".join(words)
    entry: dict[str, object] = {"fixture": fixture.name, "config": config, "merge": merge.name}
    try:
        with merge.active() as session:
            mod = fixture.make(**fixture.configs[config])
            module, asked = capture_merged(mod, fixture.pass_configs)
        source = cuda_source(module)
        module.export_library(str(folder / f"{stem}.so"))
        (folder / f"{stem}.cubin").write_bytes(compile_cubin(source))
    except Exception as error:  # a compiler's failure is a finding to be written down
        return entry | {"compile_error": str(error).strip().splitlines()[-1][:300]}
    digest = hashlib.sha256(source.encode()).hexdigest()
    plans = [_plan_data(applied) for applied in session.plans] if session is not None else []
    return entry | {"stem": stem, "source": digest, "shared_bytes": asked, "plans": plans}


def _plan_data(applied: Any) -> dict[str, object]:
    return {
        "kernel": applied.kernel.name,
        "scope": applied.plan.scope,
        "policy": applied.plan.policy,
        "arena_bytes": applied.plan.arena_bytes,
        "barriers": applied.barriers,
        "verdict": applied.verdict.verdict,
        "witnesses": [violation.witness for violation in applied.verdict.violations],
        "rejected": [plan.policy for plan, _ in applied.rejected],
    }


def _pack_runtime(folder: Path) -> None:
    """TVM's runtime libraries, and its Python bindings for the Python that will run them."""
    import tvm

    (library,) = {Path(path) for path in tvm.__path__}
    (folder / "lib").mkdir()
    for name in RUNTIME_LIBRARIES:
        shutil.copy2(library / "lib" / name, folder / "lib" / name)
    version = importlib.metadata.version("apache-tvm-ffi")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}"]
    for platform in PLATFORMS:
        command += ["--platform", f"{platform}_x86_64"]
    command += ["--target", str(folder / "site"), f"apache-tvm-ffi=={version}"]
    subprocess.run(command, check=True)


def _versions() -> dict[str, str]:
    import smemreuse

    packages = ("apache-tvm", "apache-tvm-ffi")
    return {name: importlib.metadata.version(name) for name in packages} | {
        "smemreuse": smemreuse.__version__
    }


class OnDevice:
    """A fixture in NumPy, as `run_on_gpu.py` checks and times them: in PyTorch, on a device."""

    def __init__(self, fixture: Any):
        self.name: str = fixture.name
        self.configs: Mapping[str, Any] = fixture.configs
        self.tolerance: float = fixture.tolerance
        self._fixture = fixture

    def inputs(self, config: Any, generator: Any, device: Any) -> tuple[Any, ...]:
        import numpy as np
        import torch

        arrays = self._fixture.inputs(config, np.random.default_rng(generator.initial_seed()))
        return tuple(torch.from_numpy(array).to(device) for array in arrays)

    def reference(self, args: Sequence[Any], config: Any) -> dict[int, Any]:
        import torch

        arrays = tuple(arg.cpu().numpy() for arg in args)
        expected = self._fixture.reference(arrays, config)
        return {i: torch.from_numpy(one.copy()).to(args[i].device) for i, one in expected.items()}


def load(folder: Path, manifest: Mapping[str, Any]) -> list[Run]:
    """The packed kernels, ready to be launched; one that cannot be loaded goes on record."""
    import torch  # noqa: F401  (brings CUDA's runtime library, which TVM's needs)

    sys.path.insert(0, str(folder / "site"))
    import tvm_ffi

    for name in RUNTIME_LIBRARIES:
        ctypes.CDLL(str(folder / "lib" / name), ctypes.RTLD_GLOBAL)
    cubins = {
        entry["source"]: folder / f"{entry['stem']}.cubin"
        for entry in manifest["kernels"]
        if "stem" in entry
    }

    # Libraries hold CUDA C++, which TVM's runtime has compiled when it loads them.
    def compiled(source: str) -> bytes:
        return cubins[hashlib.sha256(source.encode()).hexdigest()].read_bytes()

    tvm_ffi.register_global_func("tvm_callback_cuda_compile", compiled, override=True)
    return [_load_one(folder, entry) for entry in manifest["kernels"]]


def _load_one(folder: Path, entry: Mapping[str, Any]) -> Run:
    import tvm_ffi

    from fixtures.tvm import ENTRY

    own = {"fixture": entry["fixture"], "config": entry["config"]}
    run = Run(entry["merge"], **own, lowering=LOWERING)
    run.compile_error = entry.get("compile_error")
    if run.compile_error:
        return run
    run.shared_bytes = max(entry["shared_bytes"])
    run.plan = {"launches": entry["shared_bytes"], "applied": entry["plans"]}
    try:
        run.kernel = tvm_ffi.load_module(str(folder / f"{entry['stem']}.so"))[ENTRY]
    except Exception as error:
        run.launch_error = str(error).strip().splitlines()[-1][:300]
    return run


def run_all(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Loads, checks and times the packed kernels, and gives what goes into the JSON."""
    from fixtures.tvm import FIXTURES

    manifest = json.loads((folder / MANIFEST).read_text())
    runs = [
        run for run in load(folder, manifest) if not options.names or run.fixture in options.names
    ]
    for name, members in [] if options.rehearse else groups_of(runs):
        fixture = OnDevice(FIXTURES[name])
        check(fixture, members)
        if FIXTURES[name].timed and not options.untimed:
            measure(fixture, members)
    print_summary(runs)
    versions = {key: value for key, value in manifest.items() if key != "kernels"}
    return {**about_gpu("runs"), **versions, "runs": [run.as_data() for run in runs]}


def main() -> int:
    parser = options_of(__doc__, "out", "rehearse")
    phase = parser.add_mutually_exclusive_group(required=True)
    phase.add_argument("--pack", type=Path, metavar="DIR", help="compile into DIR and DIR.tar.xz")
    phase.add_argument("--run", type=Path, metavar="DIR", help="run what was packed into DIR")
    parser.add_argument("--untimed", action="store_true", help="only check the results")
    parser.add_argument("names", nargs="*", help="fixtures (default: all)")
    options = parser.parse_args()
    if options.pack:
        entries = pack(options.pack, options.names)
        failed = [entry for entry in entries if "compile_error" in entry]
        for entry in failed:
            print(entry, file=sys.stderr)
        return 1 if failed else 0
    write(options.out, run_all(options.run.resolve(), options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
