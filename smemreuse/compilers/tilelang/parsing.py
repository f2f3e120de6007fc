"""Has TileLang rewrite the source of a function once, and not for every configuration.

TileLang parses, rewrites and compiles a `@T.prim_func` or a `@T.macro` whenever its definition is
passed, and its own lowering of a product defines several: of a small kernel that is a third of its
lowering. What comes out is code, the same for the same source, and the values of the function's
free variables, which are put in anew.
"""

from __future__ import annotations

import ast
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import CellType, CodeType, FunctionType
from typing import Any

from tilelang.language.eager.utils import get_ast, get_func_nonlocals

_one_at_a_time = threading.RLock()
"""CPython counts how deep an AST is for all threads together, and fails where two parse at once
(python/cpython issue 106905)."""


@dataclass(frozen=True)
class _Parsed:
    """What became of a function; `called` are the globals whose values TileLang asked for."""

    code: CodeType
    generator: Any
    called: Mapping[str, Any]


_parsed: ContextVar[dict[tuple[int, frozenset[str]], _Parsed] | None] = ContextVar(
    "_parsed", default=None
)


@contextmanager
def parsed_once() -> Iterator[None]:
    """Inside, no function is parsed a second time by this thread."""
    if _parsed.get() is not None:
        yield
        return
    token = _parsed.set({})
    try:
        yield
    finally:
        _parsed.reset(token)


def remembering(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """TileLang's `mutate`, which makes of a function what generates its IR."""

    @functools.wraps(stock)
    def mutate(func: Any) -> Any:
        known = _parsed.get()
        if known is None or not isinstance(func, FunctionType):
            with _one_at_a_time:
                return stock(func)
        values = get_func_nonlocals(func)
        key = id(func.__code__), frozenset(values)
        found = known.get(key)
        if found is not None and _is_as_before(found, func):
            return _with_values(found.generator, values)
        with _one_at_a_time:
            generator = stock(func)
            called = _called(get_ast(func), values, func.__globals__)
        if called is not None:
            known[key] = _Parsed(func.__code__, generator, called)  # the code keeps its id
        return generator

    return mutate


def _is_as_before(found: _Parsed, func: FunctionType) -> bool:
    given = func.__globals__
    return given is found.generator.gen.__globals__ and all(
        given.get(name) is value for name, value in found.called.items()
    )


def _with_values(generator: Any, values: Mapping[str, Any]) -> Any:
    """The same code, with these values of its free variables."""
    made: FunctionType = generator.gen
    cells = tuple(CellType(values[name]) for name in made.__code__.co_freevars)
    anew = FunctionType(
        made.__code__, made.__globals__, made.__name__, made.__defaults__, cells or None
    )
    return replace(generator, gen=anew)


def _called(
    tree: ast.AST, values: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The globals by which TileLang decides how it rewrites a function: what its `with` statements
    call. None where values of free variables may decide, too, or types of parameters that are
    declared in the body."""
    called: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return None
        for item in node.items if isinstance(node, (ast.With, ast.AsyncWith)) else ():
            root: ast.AST = item.context_expr
            while isinstance(root, (ast.Call, ast.Attribute)):
                root = root.func if isinstance(root, ast.Call) else root.value
            if not isinstance(root, ast.Name) or root.id in values:
                return None
            called[root.id] = given.get(root.id)
    return called
