"""Makes the kernels of other projects of their factories, without what those projects run on.

A file with factories is loaded alone: what lies in its folder is real, and so are the modules of
`REAL`; everything else of its package, and `triton`, is stood in for by what says no to every
question but those of `ANSWERS`. A factory is called with the arguments of a table; inside a session
that only lowers, its kernel is lowered, and stops where it would be launched.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.machinery
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch

from scripts.applied.lenient import Anything
from scripts.results import options_of

REAL = ("vllm.tilelang_utils", "sglang.kernels.ops.attention.dsa.tilelang_kernel")
ANSWERS: dict[str, Any] = {
    "is_cuda": True,
    "has_tilelang": True,
    "is_arch_support_pdl": True,
}
"""What a function of that name returns on a Hopper GPU with TileLang; no other one is there."""

MULTIPROCESSORS = 132
"""What a Hopper GPU has, which some files ask for when they are loaded."""

_TENSOR = re.compile(r"tensor\((.*)\):(\w+)")


# Which kernels ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """A kernel by the factory that makes it. The same factory with other arguments has a number.

    `calls` are the arguments of the factory and, where it gives `@tilelang.jit` functions of
    tensors, those that these are called with.
    """

    repository: str
    file: str
    factory: str
    number: int
    calls: tuple[tuple[list[Any], dict[str, Any]], ...]

    @property
    def name(self) -> str:
        return f"{self.factory} {self.number}"

    @property
    def title(self) -> str:
        return f"{self.repository} {self.name}"


def production_options(doc: str | None, *names: str, seconds: float) -> argparse.ArgumentParser:
    """The options of a script over kernels of tables, each in a process of `seconds` at most."""
    parser = options_of(doc, "out", "keywords", *names)
    parser.add_argument("--table", action="append", type=Path, required=True)
    parser.add_argument("--checkout", action="append", metavar="NAME=DIR", default=[])
    parser.add_argument("--limit", type=float, default=seconds, help="seconds for each kernel")
    return parser


def asked_for(options: argparse.Namespace) -> tuple[dict[str, Path], list[Made]]:
    """The checkouts by the names of repositories, and the kernels that the keywords name."""
    places = (one.partition("=") for one in options.checkout)
    checkouts = {name: Path(place).resolve() for name, _, place in places}
    words, made = options.keywords, read_table(options.table)
    return checkouts, [one for one in made if not words or any(word in one.title for word in words)]


def read_table(paths: Iterable[Path]) -> list[Made]:
    """The kernels of tables with the columns `repo`, `file`, `factory` and `config`.

    `config` is JSON of positional and named arguments, `[[...], {...}]`, all as text; a third list,
    where there is one, is of the tensors that what the factory gives is called with. Functions
    within functions, `outer.<locals>.inner`, are left out: nothing tells what the outer one got.
    """
    seen: dict[tuple[str, str], int] = {}
    found = []
    for path in paths:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if "<locals>" in row["factory"] or not row["config"]:
                    continue
                key = (row["repo"], row["factory"])
                seen[key] = seen.get(key, 0) + 1
                made = Made(*key[:1], row["file"], key[1], seen[key], _calls(row["config"]))
                found.append(made)
    return found


def _calls(config: str) -> tuple[tuple[list[Any], dict[str, Any]], ...]:
    positional, named, *tensors = json.loads(config)
    return ((positional, named), *((one, {}) for one in tensors))


def value_of(text: Any) -> Any:
    """The value that a text of a table stands for: a tensor, a type, a number, or itself."""
    if not isinstance(text, str):
        return text
    tensor = _TENSOR.fullmatch(text)
    if tensor:
        shape = tuple(int(size) for size in tensor[1].split(",") if size.strip())
        return torch.empty(shape, dtype=getattr(torch, tensor[2]))
    if text.startswith("torch."):
        return getattr(torch, text.removeprefix("torch."))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


# Loading ------------------------------------------------------------------------------------------


class Absent(Anything):
    """Something of a project that is not loaded: false, and so is what it returns."""

    def __init__(self, name: str = "", *_more: Any, **_named: Any):
        self.__dict__["called"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(name)

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        return ANSWERS.get(self.called, Absent())

    def __bool__(self) -> bool:
        return False


class _AbsentModule(ModuleType):
    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(name)


class _Finder:
    """Stands in for the modules of some packages, but for those of a folder and `REAL`."""

    def __init__(self, packages: Sequence[str], folder: str, root: Path):
        self.packages = packages
        self.folder = folder
        self.root = root

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in self.packages:
            return None
        if name in REAL or name.rpartition(".")[0] == self.folder:
            file = self.root.joinpath(*name.split("."))
            place = next(
                (one for one in (file.with_suffix(".py"), file / "__init__.py") if one.is_file()),
                None,
            )
            if place is not None:
                return importlib.util.spec_from_file_location(name, place)
        loader: Any = self
        return importlib.machinery.ModuleSpec(name, loader, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return _AbsentModule(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


class MissingFactory(LookupError):
    """A checkout has no such factory."""


def located(checkout: Path, file: str, factory: str) -> Path:
    """The file of a checkout that has a factory: the one that is named, or that has moved.

    Raises `MissingFactory` where none has it.
    """
    defines = re.compile(rf"^(?:    )?def {re.escape(factory)}\(", re.MULTILINE)
    named = file.removeprefix("python/")
    paths = sorted(checkout.rglob("*.py"), key=lambda path: not path.as_posix().endswith(named))
    for path in paths:
        if defines.search(path.read_text(errors="replace")):
            return path
    raise MissingFactory(f"there is no {factory} in this snapshot")


def _root(path: Path, file: str) -> Path:
    """The folder that a module's name begins in: where the table has it, or above its packages."""
    named = Path(file.removeprefix("python/"))
    if path.as_posix().endswith(f"/{named.as_posix()}"):
        return path.parents[len(named.parts) - 1]
    package = path.parent
    while (package.parent / "__init__.py").is_file():
        package = package.parent
    return package.parent


def load(path: Path, root: Path) -> ModuleType:
    """The module of one file, whose name begins in a folder `root`."""
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    top, folder = name.partition(".")[0], name.rpartition(".")[0]
    for module in [one for one in sys.modules if one.partition(".")[0] in (top, "triton")]:
        del sys.modules[module]
    finder: Any = _Finder((top, "triton"), folder, root)
    sys.meta_path.insert(0, finder)
    card = SimpleNamespace(multi_processor_count=MULTIPROCESSORS)
    with patch.object(torch.cuda, "get_device_properties", lambda *_device: card):
        return importlib.import_module(name)


def factory_of(made: Made, checkout: Path) -> Callable[[], Any]:
    """What calls the factory of a kernel, and what it gives. Raises as `located`, or what loading
    its file raises."""
    path = located(checkout, made.file, made.factory)
    module = load(path, _root(path, made.file))
    factory = getattr(module, made.factory)

    def make() -> Any:
        (positional, named), *more = made.calls
        found = factory(*map(value_of, positional), **{k: value_of(v) for k, v in named.items()})
        functions = found if isinstance(found, tuple) else (found,)
        for function, (tensors, _) in zip(functions, more, strict=False):
            function(*map(value_of, tensors))
        return found

    return make
