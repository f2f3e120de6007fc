"""Results of dumps that are kept on disk, so that a second run over a folder works out none anew.

An entry is found by all that decides it: the dump's text and the name that results have for it, the
verb's options, what users have declared, and the source of this package and the versions of those
that plan with it. So no entry is ever stale; one whose key is not asked for any more only takes
room. An entry that is damaged, or a folder that cannot be read or written, is as no entry.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from smemreuse._version import code_stamp
from smemreuse.commands.inputs import Source

FOLDER = "SMEMREUSE_CACHE_DIR"
"""The environment variable that names the folder; empty, nothing is kept."""

_DECIDING = ("networkx", "numpy", "ortools")
"""Packages that results depend on."""

_OURS = re.compile(r"results-[0-9a-f]{16}")
_UNUSED = 30 * 24 * 3600
"""Seconds after which the entries of another version of this package go, if it has added none."""

_CHECKSUM = 32


class KeptResults:
    """The entries of this version of the package in one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / f"results-{_stamp()}"

    @classmethod
    def default(cls) -> KeptResults | None:
        """Those in the user's folder for caches, or where `SMEMREUSE_CACHE_DIR` says; None where
        that is empty, or nobody knows where."""
        named = os.environ.get(FOLDER)
        if named is not None:
            return cls(Path(named)) if named else None
        from platformdirs import user_cache_path

        try:
            return cls(user_cache_path("smemreuse", appauthor=False))
        except (OSError, RuntimeError):  # there is no home
            return None

    def get(self, key: str) -> Any:
        """What was kept; None where there is nothing, or it is damaged or another user's."""
        path = self._folder / key
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_uid != os.getuid():
                    return None  # a pickle may do anything
                checksum, data = file.read(_CHECKSUM), file.read()
        except OSError:
            return None
        return pickle.loads(data) if hashlib.sha256(data).digest() == checksum else None

    def put(self, key: str, found: object) -> None:
        """Keeps it, if that can be done."""
        try:
            data = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
        except RecursionError:
            return
        try:
            if not self._folder.exists():
                self._begin()
            file, name = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(file, "wb") as writing:
                    writing.write(hashlib.sha256(data).digest() + data)
                Path(name).replace(self._folder / key)  # readers see all of it or nothing
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError:
            return

    def _begin(self) -> None:
        """Makes the folder, and removes those of versions that have not been used for long."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in self._root.iterdir():
            if _OURS.fullmatch(other.name) and time.time() - other.stat().st_mtime > _UNUSED:
                shutil.rmtree(other, ignore_errors=True)


def key_of(work: Callable[..., object], source: Source, added: str) -> str:
    """What the results of `work` on a dump are found by; `added` is the digest of what users have
    added. `work` is named by its module, or a `partial` of what is, with options that are values.
    """
    called, options = (work.func, work.keywords) if isinstance(work, partial) else (work, {})
    parts = (
        f"{called.__module__}.{called.__qualname__}",
        repr(sorted(options.items())),
        added,
        source.file,
        source.text,
    )
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)} ".encode() + data)
    return digest.hexdigest()


@cache
def _stamp() -> str:
    """A digest of all code that results depend on."""
    digest = hashlib.sha256(f"{code_stamp()} {sys.version_info[:2]}".encode())
    for name in _DECIDING:
        try:
            digest.update(f" {name} {version(name)}".encode())
        except PackageNotFoundError:
            continue
    return digest.hexdigest()[:16]
