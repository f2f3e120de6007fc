"""What made a kernel, for tables, pages and JSON: the test, the function, the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from smemreuse.errors import printable
from smemreuse.report.data import Data
from smemreuse.results.elaboration import Elaboration, differing
from smemreuse.results.serialized import as_data

Made = tuple[str, Sequence[Elaboration]]
"""A kernel's name, which others may have too, and the calls that made it."""


def made_by(found: Sequence[Elaboration], arguments: Sequence[str]) -> str:
    """The first call that made a kernel, with those of its `arguments`; empty if none is known."""
    if not found:
        return ""
    first = found[0]
    source = str(first.source or "")
    where = f"{first.function} ({source})" if first.function and source else first.function
    told = [f"{name}={first.config[name]}" for name in arguments if name in first.config]
    parts = [first.test, where or source, ", ".join(told)]
    text = "; ".join(part for part in parts if part)
    return printable(text if len(found) == 1 else f"{text}; and {len(found) - 1:,} more")


def telling(kernels: Iterable[Made]) -> Callable[[Made], str]:
    """As `made_by`, with the arguments in which the calls of kernels of one name differ."""
    by_name: dict[str, list[Elaboration]] = {}
    for name, found in kernels:
        by_name.setdefault(name, []).extend(found)
    arguments = {name: differing(found) for name, found in by_name.items() if found}
    return lambda one: made_by(one[1], arguments.get(one[0], ()))


def elaboration_data(found: Elaboration) -> Data:
    """A call in JSON; what is not known is null."""
    return {
        "test": found.test or None,
        "function": found.function or None,
        "source": as_data(found.source),
        "config": dict(found.config),
    }
