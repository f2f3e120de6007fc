"""The device functions that are defined in CUDA headers, found by a scan of their tokens.

No C++ is parsed. What counts is enough of it to know in which namespaces and classes a function
stands: comments, strings and preprocessor lines go, then braces are followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_DROPPED = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\d[\w.]*|\S")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MARKS = frozenset({"TL_DEVICE", "TL_DEVICE_NOINLINE", "TL_HOST_DEVICE", "__device__"})
_SCOPES = frozenset({"namespace", "struct", "class", "union", "enum"})


def device_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Names, with their namespaces and classes, and lines of the device functions of a header.

    A function that a macro defines goes by the name of the macro's parameter.
    """
    text = path.read_text()
    for body, line in _bodies(_DROPPED.sub(_blank, text)):
        yield from _functions(body, line)


def _bodies(text: str) -> Iterator[tuple[str, int]]:
    """The text without its directives, and the body of each macro that defines something."""
    yield _DIRECTIVE.sub(_blank, text), 1
    for directive in _DIRECTIVE.finditer(text):
        define = re.match(r"[ \t]*#\s*define\s+\w+(\([^)]*\))?", directive[0])
        if define is not None and "{" in directive[0]:
            line = text.count("\n", 0, directive.start()) + 1
            yield directive[0][define.end() :].replace("\\\n", " \n"), line


def _blank(match: re.Match[str]) -> str:
    """As many lines as were there, so that those behind keep their numbers."""
    return " " + "\n" * match[0].count("\n")


def _functions(text: str, line: int) -> Iterator[tuple[str, int]]:
    tokens = [
        (match[0], line + text.count("\n", 0, match.start())) for match in _TOKEN.finditer(text)
    ]
    scopes: list[str | None] = []  # the name of each brace that is open, None if it has none
    head: list[str] = []  # what stands before the next brace or semicolon
    for at, (token, number) in enumerate(tokens):
        if token == "{":
            scopes.append(_scope_of(head))
            head = []
        elif token == "}":
            if scopes:
                scopes.pop()
            head = []
        elif token in (";", ":") and not _in_brackets(head):
            head = []
        else:
            head.append(token)
        if token in _MARKS:
            name = _function_name([one for one, _ in tokens[at + 1 : at + 200]])
            if name is not None:
                outer = [scope for scope in scopes if scope]
                yield "::".join([*outer, name]), number


def _in_brackets(head: list[str]) -> bool:
    return head.count("(") > head.count(")")


def _scope_of(head: list[str]) -> str | None:
    """The name of the namespace or class that a head opens."""
    if "namespace" in head:  # what a macro stands for may be in front of it
        return _first_name(head[head.index("namespace") + 1 :])
    found = None
    for at, token in enumerate(head):
        if token in _SCOPES and not _in_angles(head[:at]):
            names = [one for one in head[at + 1 : at + 12] if one not in ("class", "struct")]
            found = _first_name(names)
        if token == "(":
            break
    return found


def _first_name(tokens: list[str]) -> str | None:
    """`tl` of `tl {`, `tl::detail` of a nested one, `AllReduce` behind `alignas(8)`."""
    if tokens[:1] == ["alignas"]:
        tokens = tokens[tokens.index(")") + 1 :]
    parts: list[str] = []
    for token in tokens:
        if token == "::":
            continue
        if not _NAME.match(token) or token == "final":
            break
        parts.append(token)
    return "::".join(parts) if parts else None


def _in_angles(tokens: list[str]) -> bool:
    """Whether a template's parameters are open: `template <class T` is no class."""
    return tokens.count("<") > tokens.count(">")


def _function_name(tokens: list[str]) -> str | None:
    """The identifier in front of the first parameter list behind a mark."""
    depth = 0
    for at, token in enumerate(tokens):
        if token in (";", "{", "}"):
            return None
        if token == "<":
            depth += 1
        elif token == ">":
            depth -= 1
        elif token == "operator":
            return "operator"
        elif token == "(" and depth <= 0:
            before = tokens[at - 1] if at else ""
            if before in ("decltype", "noexcept", "alignas", "__attribute__"):
                continue
            if before == ">":  # a specialization: `fast_max<float>(`
                while at and tokens[at] != "<":
                    at -= 1
                before = tokens[at - 1] if at else ""
            return before if _NAME.match(before) else None
    return None
