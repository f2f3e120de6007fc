"""Baselines of `lint`: the hazards that are known, and not told again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from smemreuse.errors import InputError
from smemreuse.report.hazards import Linted

SCHEMA = "smemreuse.lint/1"


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints in what `lint --format json` wrote. Raises `InputError`."""
    try:
        data = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except (ValueError, RecursionError):
        raise _unusable(path, "not JSON") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise _unusable(path, f"the schema must be {SCHEMA}")
    return frozenset(_fingerprints(data, path))


def _fingerprints(data: dict[str, object], path: str) -> Iterable[str]:
    kernels = data.get("kernels")
    for kernel in kernels if isinstance(kernels, list) else [None]:
        hazards = kernel.get("hazards") if isinstance(kernel, dict) else None
        for hazard in hazards if isinstance(hazards, list) else [None]:
            told = hazard.get("fingerprint") if isinstance(hazard, dict) else None
            if not isinstance(told, str):
                raise _unusable(path, "no list of kernels with hazards that have fingerprints")
            yield told


def _unusable(path: str, why: str) -> InputError:
    return InputError(f"{why}; give what `lint --format json` wrote", file=path)


def silenced(found: Iterable[Linted], known: frozenset[str]) -> list[Linted]:
    """What was found, without what a baseline knows."""
    return [linted.without(known) for linted in found]
