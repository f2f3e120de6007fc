"""Reads dumped TVMScript, as `print(mod.script())` writes it; nothing in it is evaluated."""

from __future__ import annotations

import ast
import re
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from smemreuse.compilers.text.comments import MARK, commented_sources, name_sources
from smemreuse.compilers.text.depth import TOO_DEEP, check_depth
from smemreuse.compilers.text.kernels import split_kernels
from smemreuse.compilers.text.statements import FunctionText, StatementReader
from smemreuse.compilers.text.symbols import outer_names
from smemreuse.errors import InputError
from smemreuse.ir.kernel import Kernel
from smemreuse.plugins import ensure
from smemreuse.versions import APACHE_TVM, LEGACY, TILELANG

MAX_BYTES = 64 * 2**20
_MAX_BITS = 1024
# One line each, and no two repetitions side by side that may share its blanks: what is searched is
# anybody's file, and a search must not take longer than a few times its length.
_BEGIN = r"^[^\S\n]*(?:#[^\S\n]*)?"
_IMPORT = re.compile(_BEGIN + r"from tvm\.script import (\w+)(?: as (\w+))?[^\S\n]*$", re.MULTILINE)
_APACHE = re.compile(  # TileLang's printer knows no layouts, and gives a barrier one operand
    _BEGIN + r"from tvm\.tirx\.layout import|\btvm_storage_sync\([^,()\n]{0,99}, \w{1,99}\.bool\(",
    re.MULTILINE,
)
_OTHER_IMPORT = re.compile(
    r"^[^\S\n]*(?:import\s|from[^\S\n]+(?!tvm\.(?:script|tirx?)\b)[\w.]+[^\S\n]+import\s)",
    re.MULTILINE,
)
_DEFAULT_PREFIXES = frozenset({"T"})


@dataclass(frozen=True)
class DumpFunction:
    """A function of a dump: its kernels, and where the parts stand that a rewrite changes."""

    name: str
    kernels: tuple[Kernel, ...]
    text: FunctionText


@dataclass(frozen=True)
class Dump:
    """A dump file: its source text and its functions in order, host functions included."""

    file: str
    source: str
    functions: tuple[DumpFunction, ...]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(kernel for function in self.functions for kernel in function.kernels)


def read_dump(path: Path | str) -> Dump:
    """Reads a dump from a file. Raises `InputError` naming the file and, where known, the line."""
    return parse_dump(read_source(path), file=str(path))


def read_source(path: Path | str) -> str:
    """The text of a dump. Raises `InputError` naming a file that cannot be read or is no text."""
    try:
        return _decoded(_read_bytes(Path(path)))
    except IsADirectoryError:
        raise InputError("is a folder; give one of the files in it", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except InputError as error:
        raise error.located(file=path) from None


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of a dump that comes from a stream, such as standard input, called `name`."""
    try:
        return _decoded(_limited(stream))
    except InputError as error:
        raise error.located(file=name) from None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not a text file; give a dump written by `mod.script()`") from None


def _read_bytes(path: Path) -> bytes:
    """The file's bytes, at most `MAX_BYTES`; a pipe or a device might never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder says what it is
        raise InputError("not a regular file; give a dump written by `mod.script()`")
    with path.open("rb") as stream:
        return _limited(stream)


def _limited(stream: BinaryIO) -> bytes:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES >> 20} MiB; this is no kernel dump")
    return data


def may_be_dump(source: str) -> bool:
    """Whether a Python file is a dump by its looks: it has kernels, and imports nothing but
    TVMScript. A quick look at the text, for folders in which other programs lie."""
    others = _OTHER_IMPORT.search(source)
    return others is None and ("prim_func" in source or _IMPORT.search(source) is not None)


def parse_dump(source: str, file: str = "<dump>") -> Dump:
    """Reads a dump from its text. Raises `InputError` for anything that is not TVMScript."""
    ensure()
    try:
        functions = tuple(_functions(_parse(source), _prefixes(source), _version(source)))
        sources = commented_sources(split_lines(source)) if MARK in source else {}
        for function in functions:
            name_sources(function.text.body, sources)
    except InputError as error:
        raise error.located(file=file) from None
    except (RecursionError, MemoryError):
        raise InputError(TOO_DEEP, file=file) from None
    return Dump(file, source, functions)


def _parse(source: str) -> ast.Module:
    if not source.strip():
        raise InputError("the file is empty; give a dump written by `mod.script()`")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on code that never runs
            module = ast.parse(source)
    except IndentationError as error:
        mend = "more than 100 nested blocks" if "too many levels" in str(error) else error.msg
        raise InputError(f"the indentation cannot be read: {mend}", line=error.lineno) from None
    except SyntaxError as error:
        message = f"not TVMScript: {error.msg}; give a dump written by `mod.script()`"
        raise InputError(message, line=error.lineno) from None
    except ValueError as error:
        raise InputError(f"not TVMScript: {error}") from None
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            if node.value.bit_length() > _MAX_BITS:  # Python may not even print it
                message = f"an integer of more than {_MAX_BITS} bits; TIR has none"
                raise InputError(message, line=node.lineno)
    return module


def split_lines(source: str) -> list[str]:
    """The lines as Python's tokenizer counts them; `str.splitlines` also splits at form feeds."""
    return re.split(r"\r\n|\r|\n", source)


def _prefixes(source: str) -> frozenset[str]:
    """The names that mean TVMScript's `T`, from the (commented) imports that the printer writes."""
    imports = _IMPORT.findall("\n".join(split_lines(source)))
    found = {alias or name for name, alias in imports if name in ("tir", "tirx")}
    return frozenset(found) | _DEFAULT_PREFIXES


def _version(source: str) -> str:
    """Which compiler wrote the dump, as far as its imports and the form of its barriers say.

    Before 2026 `tirx` was `tir`; Apache TVM's form is its own; else it is TileLang.
    """
    text = "\n".join(split_lines(source))
    names = {name for name, _ in _IMPORT.findall(text)}
    if "tir" in names and "tirx" not in names:
        return LEGACY
    return APACHE_TVM if _APACHE.search(text) else TILELANG


def _functions(
    module: ast.Module, prefixes: frozenset[str], version: str
) -> Iterator[DumpFunction]:
    _refuse_program(module)
    nodes = [node for node in _function_nodes(module.body) if _is_prim_func(node)]
    if not nodes:
        _require_script(module, prefixes)
        reader = StatementReader(module.body, prefixes, lenient=True, version=version)
        yield _function("fragment", reader.read())
    outer = outer_names(module.body, prefixes)
    for node in nodes:
        reader = StatementReader(node.body, prefixes, outer, lenient=False, version=version)
        yield _function(node.name, reader.read(node.args.args))


def _function(name: str, text: FunctionText) -> DumpFunction:
    check_depth(text.body)
    kernels = split_kernels(name, text.body, text.attrs, text.version)
    return DumpFunction(name, tuple(kernels), text)


def _function_nodes(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _function_nodes(node.body)


def _is_prim_func(node: ast.FunctionDef) -> bool:
    return any("prim_func" in ast.unparse(decorator) for decorator in node.decorator_list)


def _refuse_program(module: ast.Module) -> None:
    """A program that makes kernels is no dump of one, though it is written in TVMScript, too."""
    for node in module.body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "tilelang" for name in names):
            message = "a TileLang program, and no dump of a kernel; `smemreuse run` runs it"
            raise InputError(message, line=node.lineno)


def _require_script(module: ast.Module, prefixes: frozenset[str]) -> None:
    """Refuses a text without a function unless it has TVMScript's statements, as from a log."""
    uses_script = any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in prefixes
        for node in ast.walk(module)
    )
    if not uses_script:
        raise InputError("no TVMScript kernel inside; give a dump written by `mod.script()`")
