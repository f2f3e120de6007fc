"""What is worked out of a kernel: once, when it is first asked for.

The idea is LibCST's `MetadataWrapper.resolve`: an answer is kept under what it is an answer to, so
that every room keeps its own with the kernel, and none has to be known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class KernelMemo:
    """Answers by the question and its arguments; `computed` counts how often a question, by its
    name, was worked out: once for the same arguments."""

    def __init__(self) -> None:
        self.computed: Counter[str] = Counter()
        self._known: dict[tuple[Hashable, ...], Any] = {}

    def once(self, question: Callable[..., Any], make: Callable[[], T], *args: Hashable) -> T:
        """The result of `make`, computed on the first call; an exception is not remembered."""
        key = (question, *args)
        if key not in self._known:
            self.computed[question.__name__] += 1
            self._known.setdefault(key, make())
        found: T = self._known[key]
        return found

    def keep(self, question: Callable[..., Any], answer: object) -> None:
        """From now on this is the answer."""
        self._known[(question,)] = answer

    def learn(self, other: KernelMemo) -> None:
        """Takes over all that is known of a kernel with the same statements."""
        self.computed.update(other.computed)
        self._known.update(other._known)
