"""Reads back what verbs wrote with `--format json`; nothing in it is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smemreuse.errors import InputError
from smemreuse.results.difference import NamedLayout
from smemreuse.results.residents import Registers, RegisterSource, Residents

SCHEMAS = ("smemreuse.compare/1", "smemreuse.plan/1")


def is_result(path: str) -> bool:
    """Whether a file is JSON, which no dump is. Raises `InputError` if it cannot be read."""
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as stream:
            return stream.read(4096).lstrip().startswith("{")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None


def read_kernels(
    path: str,
    schemas: Sequence[str],
    mend: str,
    *,
    whole: bool = False,
    options: Mapping[str, str | None] | None = None,
) -> list[dict[str, Any]]:
    """The kernels in a result of one of these schemas. Raises `InputError` that ends in `mend`; if
    it is to be `whole`, also where an option has left kernels out; and where it says that it was
    written with other `options`, by their names."""
    try:
        data = json.loads(Path(path).read_bytes(), object_pairs_hook=_each_once)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except _Twice as twice:
        raise InputError(f"an object has {twice} twice; {mend}", file=path) from None
    except (ValueError, RecursionError):
        raise InputError(f"not JSON; {mend}", file=path) from None
    if not isinstance(data, dict) or data.get("schema") not in schemas:
        wanted = " or ".join(map(repr, schemas))
        raise InputError(f"the schema must be {wanted}; {mend}", file=path)
    kernels = data.get("kernels")
    if not isinstance(kernels, list):
        raise InputError(f"no list of kernels; {mend}", file=path)
    if not all(isinstance(one, dict) for one in kernels):
        raise InputError(f"a kernel is not an object; {mend}", file=path)
    if whole and data.get("partial"):
        left_out = "--only-findings or --changed-only have left kernels out of it"
        raise InputError(f"{left_out}; {mend} without these", file=path)
    said = data.get("options")
    if isinstance(said, dict):
        _require_options(said, options or {}, path, mend)
    return kernels


def _require_options(
    said: Mapping[str, object], options: Mapping[str, str | None], path: str, mend: str
) -> None:
    """Raises `InputError` where a result says that it was written with another of the options."""
    for name, value in options.items():
        if said.get(name, value) != value:
            then, now = _given(name, said[name]), _given(name, value)
            other = f"written {then}, and this call is {now}"
            raise InputError(f"{other}; {mend} with the same options", file=path)


class _Twice(Exception):
    """A name that one object has twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(repr(name))
        found[name] = value
    return found


def _given(name: str, value: object) -> str:
    """How an option was given, if it was."""
    return f"without --{name}" if value is None else f"with --{name} {value}"


def read_layouts(
    path: str, policy: str, options: Mapping[str, str | None] | None = None
) -> list[NamedLayout]:
    """The plans of one policy in a result. Raises `InputError` for anything else, and for what was
    written with other `options`."""
    mend = "give a dump, or what `compare` or `plan` wrote with --format json"
    kernels = read_kernels(path, SCHEMAS, mend, whole=True, options=options)
    try:
        objective = (options or {}).get("objective") or ""
        return [_layout(entry, policy, path, objective) for entry in kernels]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"a kernel of the result lacks what `diff` needs ({error})"
        raise InputError(f"{what}; {mend}", file=path) from None


def _layout(entry: Mapping[str, Any], policy: str, path: str, objective: str) -> NamedLayout:
    made = entry
    if "policies" in entry:
        if policy not in entry["policies"]:
            raise InputError(f"the result has no policy {policy}", file=path)
        made = entry["policies"][policy]
    elif entry["policy"] != policy:
        mismatch = f"the plan is of policy {entry['policy']}, not {policy}"
        raise InputError(f"{mismatch}; --policy {entry['policy']} compares those", file=path)
    offsets = {name: at for name, at in made["offsets"].items() if isinstance(at, int)}
    known = {one["name"]: one for one in entry["buffers"] if one["name"] in offsets}
    live = made["live"]
    return NamedLayout(
        str(entry.get("file", path)),
        str(entry["name"]),
        str(entry["scope"]),
        sizes={name: _bytes(one["bytes"]) for name, one in known.items()},
        alignments={name: _bytes(one["alignment"], least=1) for name, one in known.items()},
        offsets={name: _bytes(offsets[name]) for name in known},
        arena=_bytes(made["arena_bytes"]),
        live={name: _span(live[name]) for name in known},
        conflicts=frozenset(
            frozenset(map(str, pair)) for pair in made.get("apart", ()) if {*pair} <= {*known}
        ),
        residents=_residents(entry, made),
        registers=_registers(made.get("residents")),
        objective=str(made.get("objective", objective)),
        symbolic=str(made.get("arena", "")),
    )


def _bytes(value: object, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise ValueError(f"{value!r} is no number of bytes")
    return value


def _span(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{value!r} is no live range")
    return _bytes(value[0]), _bytes(value[1])


def _registers(known: object) -> Registers | None:
    """Those of a thread, where the result has them, and says where they are from."""
    found = known if isinstance(known, dict) else {}
    count, source = found.get("registers"), found.get("registers_from")
    if count is None or source is None:
        return None
    return Registers(_bytes(count, least=1), RegisterSource(source))


def _residents(entry: Mapping[str, Any], made: Mapping[str, Any]) -> Residents | None:
    """Blocks per SM, where the result has them."""
    blocks, beside = made.get("blocks_per_sm"), entry.get("beside_bytes")
    if blocks is None or beside is None:
        return None
    taken = _bytes(made["arena_bytes"]) + _bytes(beside)
    arch, assumed = str(entry["arch"]), bool(entry["arch_assumed"])
    found = _bytes(blocks)
    known = made.get("residents")
    threads = known.get("threads") if isinstance(known, dict) else None
    least = None if threads is None else _bytes(threads, least=1)
    return Residents(arch, assumed, found, found, (), taken, None, least, None)
