"""Who does something, in words, and who does not."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.machine.naming import agent, does, engine_of, runs, threads
from smemreuse.results.hazards import Act

__all__ = ["act", "agent", "does", "engine_of", "missing", "pronoun", "runs", "span", "threads"]


def missing(ids: np.ndarray) -> str:
    """The threads that do not do something, with the verb: `thread 3 does`.

    Without any, data decide which."""
    who = threads(ids) if len(ids) else "some threads, as data decide,"
    return f"{who} {'does' if len(ids) == 1 else 'do'}"


def span(first: int, last: int) -> str:
    """Bytes of a buffer, both included."""
    return f"byte {first}" if first == last else f"bytes {first}-{last}"


def pronoun(bytes_: str) -> str:
    """What stands for the bytes that `span` has named."""
    return "it" if bytes_.startswith("byte ") else "them"


def act(deed: str, thread: int | None, ids: np.ndarray) -> Act:
    """What a thread does, or those with `ids` where it is not known which."""
    return Act(deed, runs(ids if thread is None else np.array([thread])))
