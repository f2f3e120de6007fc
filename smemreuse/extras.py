"""The extras: what `pip install smemreuse` leaves out, and the line that names a missing one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import url2pathname

from smemreuse.errors import BackendError

PACKAGE = "smemreuse"


def install_command(extra: str) -> str:
    """The line that installs an extra, from where this package itself was installed (PEP 610)."""
    try:
        recorded = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:  # imported from a folder that is not installed
        recorded = None
    if recorded is None:
        return f"pip install '{PACKAGE}[{extra}]'"
    source = json.loads(recorded)
    url = source["url"]
    if source.get("dir_info", {}).get("editable"):
        return f"pip install -e '{url2pathname(urlsplit(url).path)}[{extra}]'"
    if "vcs_info" in source:
        url = f"{source['vcs_info']['vcs']}+{url}@{source['vcs_info']['commit_id']}"
    return f"pip install '{PACKAGE}[{extra}] @ {url}'"


def require(extra: str, what: str, *packages: str) -> None:
    """Raises `BackendError`, which names the extra, unless all its `packages` are installed.

    They are not imported. `what` is what the extra brings, in words.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        why = "" if missing == [*packages] else f" completely ({', '.join(missing)} is missing)"
        raise BackendError(f"{what} is not installed{why}; `{install_command(extra)}`")


@contextmanager
def needing(extra: str, what: str, also: str = "") -> Iterator[None]:
    """Around the import of what an extra brings. Raises `BackendError`, which names the extra.

    `what` is what cannot be imported, in words; `also` what else there is to know.
    """
    try:
        yield
    except ImportError as error:
        mend = f"`{install_command(extra)}`{also}"
        raise BackendError(f"{what} cannot be imported ({error}); {mend}") from error
