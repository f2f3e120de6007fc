"""What users add: rows for their own device functions, packers and policies; and what they accept.

They come from installed packages, by the entry points `smemreuse.effects`, `smemreuse.packers` and
`smemreuse.policies`, and from a `smemreuse.toml`: the one that `SMEMREUSE_CONFIG` names, else the
first one from the working directory upwards. Both are looked for once in a process.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smemreuse.results.accepted import Acceptances

CONFIG, VARIABLE = "smemreuse.toml", "SMEMREUSE_CONFIG"
"""The name of the file, and of the environment variable, which child processes inherit."""

_ready = False
_lock = threading.RLock()


def ensure() -> None:
    """Loads what users add, once. Raises `InputError` for what cannot be used."""
    global _ready
    if _ready:
        return
    with _lock:
        if not _ready:
            _ready = True  # what is loaded may ask for what is there
            try:
                _load()
            except BaseException:
                _ready = False
                raise


def configure(file: Path | str) -> None:
    """Takes `file` for the `smemreuse.toml`, in this process and its children.

    Raises `InputError` for what cannot be used. What another file has added stays.
    """
    global _ready
    os.environ[VARIABLE] = str(Path(file).absolute())
    with _lock:
        _ready = False
    ensure()


def _load() -> None:
    from smemreuse.plugins.installed import load_installed

    load_installed()
    named = os.environ.get(VARIABLE)
    file = Path(named) if named else find_config(Path.cwd())
    if file is not None:
        from smemreuse.plugins.config import load_config

        load_config(file)


def find_config(folder: Path) -> Path | None:
    """The `smemreuse.toml` of a folder, or of the nearest one above that has one."""
    for one in (folder, *folder.parents):
        if (one / CONFIG).is_file():
            return one / CONFIG
    return None


def stamp() -> str:
    """A digest of what users add, which plans depend on; empty where they add nothing."""
    from smemreuse.plugins.registered import digest

    ensure()
    return digest()


def is_code() -> bool:
    """Whether anything that users add is code, which no digest has in full."""
    from smemreuse.plugins.registered import is_code

    ensure()
    return is_code()


def acceptances(*, of_plans: bool) -> Acceptances:
    """What the `smemreuse.toml` accepts of plans, or of the kernels themselves."""
    from smemreuse.plugins.accepted import entries
    from smemreuse.results.accepted import Acceptances

    ensure()
    return Acceptances([one for one in entries() if one.is_of_plans is of_plans])


__all__ = [
    "CONFIG",
    "VARIABLE",
    "acceptances",
    "configure",
    "ensure",
    "find_config",
    "is_code",
    "stamp",
]
