"""What every script shares: its options, on which machine and when it ran, JSON and tables."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
ARCH = "sm_90a"

COMPILERS = {"tilelang": "TileLang", "apache-tvm": "Apache TVM"}

COMMON: dict[str, dict[str, Any]] = {
    "out": {"type": Path, "help": "where to write the JSON"},
    "arch": {"default": ARCH},
    "check": {"action": "store_true", "help": "write nothing; exit 1 if stale"},
    "jobs": {"type": int, "default": os.cpu_count() or 1, "help": "processes at once"},
    "rehearse": {"action": "store_true", "help": "compile only; needs no GPU"},
    "keywords": {"action": "append", "default": [], "help": "only what has one in its name"},
}
"""Options that several scripts have, alike in each; `keywords` is `-k`."""


def options_of(doc: str | None, *names: str) -> argparse.ArgumentParser:
    """A parser that tells the first line of `doc`, with some of the common options."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    for name in names:
        flags = ("-k", f"--{name}") if name == "keywords" else (f"--{name}",)
        parser.add_argument(*flags, **COMMON[name])
    return parser


def chosen(paths: Iterable[Path], keywords: Sequence[str], *, one_each: bool = False) -> list[Path]:
    """The files, in order, in whose name or folder's name one of the keywords is.

    With `one_each` of collected functions alike, `PROGRAM__FUNCTION__1` and so on, the first.
    """
    found = sorted(
        path
        for path in paths
        if not keywords or any(word in "/".join(path.parts[-2:]) for word in keywords)
    )
    if one_each:
        first = {(path.parent, path.stem.rpartition("__")[0]): path for path in reversed(found)}
        found = sorted(first.values())
    return found


# The machine --------------------------------------------------------------------------------------


def today() -> str:
    return datetime.now(timezone.utc).date().isoformat()


def about(name: str) -> dict[str, Any]:
    """What a result on a processor begins with: its schema, the date and the machine."""
    machine = f"{os.cpu_count()} cores, {platform.machine()}"
    schema = {"schema": f"smemreuse.{name}/1", "date": today()}
    return {**schema, "machine": machine, "python": platform.python_version()}


def about_gpu(name: str, *, tilelang: bool = False) -> dict[str, Any]:
    """What a result on a GPU begins with: also the card, its driver, and versions."""
    import torch

    card = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    found = {
        **{"schema": f"smemreuse.{name}/1", "date": today(), "device": card, "driver": driver()},
        **{"torch": torch.__version__, "cuda": torch.version.cuda},
    }
    if tilelang:
        import tilelang as compiler

        import smemreuse

        return {**found, "tilelang": compiler.__version__, "smemreuse": smemreuse.__version__}
    return {**found, "python": platform.python_version()}


def driver() -> str | None:
    """The driver's version; None without one."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    if shutil.which(query[0]) is None:
        return None
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()


# What is written ----------------------------------------------------------------------------------


def dumped(value: Any, depth: int = 2, indent: str = "") -> str:
    """JSON whose outermost `depth` levels have an element a line; what is deeper is on one line."""
    if not depth or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key)}: {dumped(one, depth - 1, inner)}" for key, one in value.items()
        ]
    else:
        parts = [dumped(one, depth - 1, inner) for one in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{last}"


def write(path: Path | None, data: Any, depth: int = 2) -> None:
    """The JSON, if it is wanted."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dumped(data, depth) + "\n")


def read(name: str) -> Any:
    """A committed result."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def machine(data: Mapping[str, Any], compiler: str = "") -> str:
    """The card and the day; the compiler by its package's name in the data, and for which GPU."""
    words = [data["device"], data["date"]]
    words += [f"{COMPILERS[compiler]} {data[compiler]}"] if compiler else []
    words += [f"CUDA {data['cuda']}"]
    words += [f"compute-sanitizer {data['sanitizer']}"] if "sanitizer" in data else []
    return ", ".join(words) + (f"; code for {data['arch']}.\n" if "arch" in data else ".\n")


def markdown(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table."""
    lines = [f"| {' | '.join(map(str, cells))} |\n" for cells in (heads, *rows)]
    return lines[0] + "|---" * len(heads) + "|\n" + "".join(lines[1:])


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def percent(part: float) -> str:
    return f"{100 * part:.1f} %"
