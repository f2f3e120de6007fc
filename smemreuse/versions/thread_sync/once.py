"""Answers that are worked out once for each object that is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

A = TypeVar("A")
Method = Callable[[Any, Any], A]


def once(method: Method[A]) -> Method[A]:
    """Makes a method of one argument remember its results, in the object that it belongs to."""
    kept = f"{method.__name__} of"

    @wraps(method)
    def asked(self: Any, about: Any) -> A:
        known: dict[Any, A] = self.__dict__.setdefault(kept, {})
        if about not in known:
            known[about] = method(self, about)
        return known[about]

    return asked
