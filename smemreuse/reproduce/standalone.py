"""A Python file that needs TileLang and PyTorch alone, and shows one finding."""

from __future__ import annotations

import ast
import base64
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from smemreuse.errors import BackendError
from smemreuse.reproduce.arguments import LaunchArgument
from smemreuse.reproduce.cuda import Change, changes, digest
from smemreuse.reproduce.snippet import Snippet

MOST_LINES = 150

_TEMPLATE = files("smemreuse.reproduce").joinpath("template.py")
_CONSTANTS, _FUNCTION, _REST = "SOURCE, SEED", 'KERNEL = ""', "OTHER = "
_EXPECTED, _RIGHT, _MARK = "def expected(", "def right(", "  # expected"
_OF_BLOBS = ("import base64\n", "import zlib\n")
_AROUND_IMPORTS = re.compile(r"\n\n( )")
_SAID = re.compile(r'^(?:# .*|    """.*""")\n', re.MULTILINE)
"""A comment or a docstring of the template."""

_COLUMNS, _BLOB_LINES = 100, 12


@dataclass(frozen=True)
class Standalone:
    """What such a file is made of.

    `func` is the function as TVM's JSON and `snippet` the Python that makes it, of which one may be
    None,
    `source` the CUDA that TileLang makes of it, `variants` those that are launched, by their names,
    of which one is the `reference`; or that is the Python function `expected`, by its text, which
    puts into the tensors of a launch what the kernel must.
    """

    func: str | None
    snippet: Snippet | None
    source: str
    target: Mapping[str, str]
    pass_configs: Mapping[str, Any]
    arguments: Sequence[LaunchArgument]
    variants: Mapping[str, str]
    reference: str
    expected: str | None = None

    def text(self, heading: str) -> str:
        """The file, which begins with this docstring: of Python alone where that is short enough,
        else the function is what TVM writes, compressed. What is long loses blank lines first, then
        what the file says of its own functions.

        Raises `BackendError` where the Python has a name of the file's own, and nothing else is
        there.
        """
        found = [
            f'"""{heading}\n"""\n\n{text}'
            for function in self._functions()
            for text in self._texts(function)
        ]
        if not found:
            raise BackendError(
                f"its function cannot be written into a file, which has {self._taken} itself: "
                "give it another name in the script"
            )
        return next((text for text in found if text.count("\n") <= MOST_LINES), found[-1])

    @property
    def _taken(self) -> str:
        """The names at the top of the Python that the file has itself; none in most."""
        text = "" if self.snippet is None else self.snippet.text
        return ", ".join(sorted(_defined(_TEMPLATE.read_text()) & _defined(text)))

    def _functions(self) -> Iterator[str]:
        """What defines `function` in the file, from the most to the least readable."""
        template = _TEMPLATE.read_text()
        if self.snippet is not None and not self._taken:
            made = f"def function() -> Any:\n    return {self.snippet.expression}"
            yield f"\n{self.snippet.text.strip()}\n\n\n{made}\n\n\n"
        if self.func is not None:
            blob = template[template.index(_FUNCTION) : template.index(_EXPECTED)]
            yield blob.replace(_FUNCTION, _packed(self.func), 1)

    def _texts(self, function: str) -> Iterator[str]:
        """With this function, from the tallest to the shortest."""
        yield self._text(function, tall=True)
        short = self._text(function, tall=False)
        yield short
        parts = short.split(short_function := function.replace("\n\n\n", "\n\n"), 1)
        yield short_function.join(_SAID.sub("", part) for part in parts)

    def _text(self, function: str, *, tall: bool) -> str:
        template = _TEMPLATE.read_text()
        imports = template[: template.index(_CONSTANTS)]
        rest = self._checked(template) + template[template.index(_REST) :]
        rest = "\n".join(
            line.removesuffix(_MARK)
            for line in rest.split("\n")
            if self.expected is not None or not line.endswith(_MARK)
        )
        if "b85decode" not in function:
            for one in _OF_BLOBS:
                imports = imports.replace(one, "")
        if not tall:
            imports = imports.replace("\nimport ", ", ")
            rest = _AROUND_IMPORTS.sub(r"\n\1", rest)
            function, rest = (one.replace("\n\n\n", "\n\n") for one in (function, rest))
        return f"{imports}{self._values(tall=tall)}\n{function}{rest}"

    def _checked(self, template: str) -> str:
        """The function that says what must come out, and what compares with it."""
        if self.expected is None:
            return ""
        return (
            f"{self.expected.strip()}\n\n\n"
            + template[template.index(_RIGHT) : template.index(_REST)]
        )

    def _values(self, *, tall: bool) -> str:
        variants = "\n".join(
            f"    {json.dumps(name)}: {_listed(changes(self.source, text), tall=tall)},"
            for name, text in self.variants.items()
        )
        rows = [repr(one.row) for one in self.arguments]
        return (
            f"SOURCE = {digest(self.source)!r}\n"
            f"SEED, REFERENCE = 1, {self.reference!r}\n"
            f"TARGET: Any = {dict(self.target)!r}\n"
            f"PASS_CONFIGS: Any = {dict(self.pass_configs)!r}\n"
            "# Of each argument: dtype, shape, lowest and highest (of floats mean and deviation)\n"
            f"ARGUMENTS: Any = {_block(rows, '', tall=tall)}\n"
            "# Of each variant: at which line of the CUDA how many lines are replaced, by which\n"
            f"CHANGES: Any = {{\n{variants}\n}}"
        )


def _packed(func: str) -> str:
    packed = base64.b85encode(zlib.compress(func.encode(), 9)).decode()
    wide = max(_COLUMNS, -(-len(packed) // _BLOB_LINES))
    lines = "\n".join(packed[at : at + wide] for at in range(0, len(packed), wide))
    return f'KERNEL = """\n{lines}\n"""'


def _listed(found: Sequence[Change], *, tall: bool) -> str:
    rows = [repr([at, count, list(lines)]) for at, count, lines in found]
    return _block(rows, "    ", tall=tall and len(rows) > 1)


def _block(rows: Sequence[str], indent: str, *, tall: bool) -> str:
    """A list as a literal, one element a line if it is `tall`."""
    if not tall:
        return f"[{', '.join(rows)}]"
    return "[\n" + "".join(f"{indent}    {one},\n" for one in rows) + f"{indent}]"


def _defined(text: str) -> set[str]:
    """The names at the top of a module, but for what it imports."""
    return {
        node.name if isinstance(node, ast.FunctionDef) else node.id
        for stmt in ast.parse(text).body
        for node in ([stmt] if isinstance(stmt, ast.FunctionDef) else ast.walk(stmt))
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
