"""The extras: what `pip install smemreuse` leaves out, and the line that names a missing one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from smemreuse.errors import BackendError


def require(extra: str, what: str, *packages: str) -> None:
    """Raises `BackendError`, which names the extra, unless all its `packages` are installed.

    They are not imported. `what` is what the extra brings, in words.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        why = "" if missing == [*packages] else f" completely ({', '.join(missing)} is missing)"
        raise BackendError(f"{what} is not installed{why}; `pip install 'smemreuse[{extra}]'`")


@contextmanager
def needing(extra: str, what: str, also: str = "") -> Iterator[None]:
    """Around the import of what an extra brings. Raises `BackendError`, which names the extra.

    `what` is what cannot be imported, in words; `also` what else there is to know.
    """
    try:
        yield
    except ImportError as error:
        mend = f"`pip install 'smemreuse[{extra}]'`{also}"
        raise BackendError(f"{what} cannot be imported ({error}); {mend}") from error
