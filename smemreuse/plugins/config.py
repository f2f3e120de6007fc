"""Reads `smemreuse.toml`, and the TOML and Python files that it includes.

A Python file is executed: it is the user's own code, as a `conftest.py` is, and no dump.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smemreuse.errors import InputError
from smemreuse.plugins import accepted
from smemreuse.plugins.registered import add_packer, add_policy, note_source
from smemreuse.plugins.tables import TableError, declaration
from smemreuse.semantics.declarations import declare

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("include", "functions", "accept")
_INCLUDED_KEYS = _KEYS[1:]
_ACCEPT = re.compile(r"""\s*\[\[\s*["']?accept["']?\s*\]\]""")
_LINE = re.compile(r"at line (\d+)")


def load_config(file: Path) -> None:
    """Adds all that a `smemreuse.toml` names. Raises `InputError` with the file and the line."""
    text, table = _read_toml(file)
    included = table.get("include", [])
    if not isinstance(included, list) or not all(isinstance(one, str) for one in included):
        line = line_of(text, (), "include")
        raise InputError("`include` is a list of file names", file=file, line=line)
    accepted.forget()
    _add_functions(file, file.name, text, table)
    _add_accepted(file, file.name, text, table)
    for name in included:
        path = file.parent / name
        if path.suffix == ".py":
            _load_python(path, name)
        elif path.suffix == ".toml":
            inner_text, inner = _read_toml(path, keys=_INCLUDED_KEYS)
            _add_functions(path, name, inner_text, inner)
            _add_accepted(path, name, inner_text, inner)
        else:
            line = line_of(text, (), "include")
            raise InputError(f"{name} is no .toml and no .py", file=file, line=line)


def _read_toml(file: Path, keys: tuple[str, ...] = _KEYS) -> tuple[str, dict[str, Any]]:
    source = _read(file)
    try:
        text = source.decode()
        table = tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8", file=file) from None
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        raise InputError(
            f"is no TOML: {error}", file=file, line=int(found[1]) if found else None
        ) from None
    for key in table:
        if key not in keys:
            line = line_of(text, (key,)) or line_of(text, (), key)
            words = ", ".join(keys)
            raise InputError(f"{key!r} is not known; {words} are", file=file, line=line)
    if table.keys() - {"accept"}:
        note_source(file.name, source)  # of what is accepted alone no plan depends
    return text, table


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None


def _add_functions(file: Path, name: str, text: str, table: Mapping[str, Any]) -> None:
    """`name` is what the file goes by where its word is taken."""
    functions = table.get("functions", {})
    if not isinstance(functions, dict):
        raise InputError("`functions` are tables", file=file, line=line_of(text, (), "functions"))
    for function, declared in functions.items():
        at = line_of(text, ("functions", function)) or line_of(text, ("functions",), function)
        source = f"{name}, line {at}" if at else name
        try:
            declare(declaration(function, declared, source))
        except TableError as error:
            inside = line_of(text, ("functions", function), error.key) if error.key else None
            raise error.located(file=file, line=inside or at) from None
        except InputError as error:
            raise error.located(file=file, line=at) from None


def _add_accepted(file: Path, name: str, text: str, table: Mapping[str, Any]) -> None:
    """`name` is what the file goes by where its word is taken."""
    found = table.get("accept", [])
    if not isinstance(found, list):
        line = line_of(text, ("accept",)) or line_of(text, (), "accept")
        raise InputError("`accept` is written [[accept]], once for each", file=file, line=line)
    headers = [at for at, line in enumerate(text.splitlines(), 1) if _ACCEPT.match(line)]
    for place, entry in enumerate(found):
        at = headers[place] if len(headers) == len(found) else line_of(text, (), "accept")
        try:
            accepted.add(accepted.acceptance(entry, f"{name}, line {at}" if at else name))
        except TableError as error:
            inside = _line_below(text, at, error.key) if at and error.key else None
            raise error.located(file=file, line=inside or at) from None


def _line_below(text: str, header: int, key: str) -> int | None:
    """The line of a key in the table whose header is on a line."""
    rest = "\n".join(text.splitlines()[header:])
    found = line_of(rest.partition("\n[")[0], (), key)
    return None if found is None else header + found


def line_of(text: str, path: tuple[str, ...], key: str = "") -> int | None:
    """The line of a table's header, or of a key in it; None where it is written in another way."""
    names = (
        rf"""\s*(?:{re.escape(one)}|"{re.escape(one)}"|'{re.escape(one)}')\s*""" for one in path
    )
    header = re.compile(rf"\s*\[{'[.]'.join(names)}\]") if path else None
    wanted = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    inside = header is None
    for number, line in enumerate(text.splitlines(), 1):
        if header is not None and header.match(line):
            inside = True
            if not key:
                return number
        elif re.match(r"\s*\[[^\[\],={}]+\]\s*(#.*)?$", line):
            inside = False
        elif inside and key and wanted.match(line):
            return number
    return None


# Python -----------------------------------------------------------------------------------------


def _load_python(path: Path, name: str) -> None:
    source = _read(path)
    note_source(name, source)
    names: dict[str, Any] = {"__name__": f"smemreuse_plugin_{path.stem}", "__file__": str(path)}
    try:
        exec(compile(source, str(path), "exec"), names)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"cannot be run: {type(error).__name__}: {error}", file=path, line=_line_in(error, path)
        ) from error
    try:
        add_all(names, name)
    except InputError as error:
        raise error.located(file=path) from None


def _line_in(error: BaseException, path: Path) -> int | None:
    """The last line of the file itself that an error came through."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((one.lineno for one in reversed(frames) if one.filename == str(path)), None)


def add_all(names: Mapping[str, Any], source: str) -> None:
    """Adds the `FUNCTIONS`, `PACKERS` and `POLICIES` of a Python module. Raises `InputError`."""
    functions, packers, policies = (
        names.get(name, {}) for name in ("FUNCTIONS", "PACKERS", "POLICIES")
    )
    for found in (functions, packers, policies):
        if not isinstance(found, Mapping):
            raise InputError(f"FUNCTIONS, PACKERS and POLICIES are dictionaries, not {found!r:.60}")
    for name, table in functions.items():
        declare(declaration(str(name), table, source))
    for name, packer in packers.items():
        add_packer(name, packer)
    for name, policy in policies.items():
        add_policy(name, policy)
