"""The extras: what `pip install smemreuse` leaves out, and the line that names a missing one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from smemreuse.errors import BackendError


def require(package: str, extra: str, what: str) -> None:
    """Raises `BackendError`, which names the extra, where a package is not installed.

    It is not imported. `what` is its name in words.
    """
    if find_spec(package) is None:
        raise BackendError(f"{what} is not installed; `pip install 'smemreuse[{extra}]'`")


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
