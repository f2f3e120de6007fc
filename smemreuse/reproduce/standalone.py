"""A Python file that needs TileLang and PyTorch alone, and shows one finding."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from smemreuse.reproduce.arguments import Argument
from smemreuse.reproduce.cuda import Change, changes, digest

_TEMPLATE = files("smemreuse.reproduce").joinpath("template.py")
_BEGIN, _END = "KERNEL, SOURCE", "\n\n\ndef cuda("
_COLUMNS, _MOST_LINES = 100, 30


@dataclass(frozen=True)
class Standalone:
    """What such a file is made of.

    `func` is the function as TVM's JSON, `source` the CUDA that TileLang makes of it, `variants`
    those that are launched, by their names, of which one is the `reference`.
    """

    func: str
    source: str
    target: Mapping[str, str]
    pass_configs: Mapping[str, Any]
    arguments: Sequence[Argument]
    variants: Mapping[str, str]
    reference: str

    def text(self, heading: str) -> str:
        """The file, which begins with this docstring."""
        template = _TEMPLATE.read_text()
        begin, end = template.index(_BEGIN), template.index(_END)
        head = f'"""{heading}\n"""\n\n'
        return head + template[:begin] + self._constants() + template[end:]

    def _constants(self) -> str:
        packed = base64.b85encode(zlib.compress(self.func.encode(), 9)).decode()
        wide = max(_COLUMNS, -(-len(packed) // _MOST_LINES))
        blob = "\n".join(packed[at : at + wide] for at in range(0, len(packed), wide))
        variants = "\n".join(
            f"    {json.dumps(name)}: {_listed(changes(self.source, text))},"
            for name, text in self.variants.items()
        )
        arguments = "\n".join(f"    {one.row!r}," for one in self.arguments)
        return (
            f'KERNEL = """\n{blob}\n"""  # the function, as TVM writes it, compressed\n'
            f'SOURCE = "{digest(self.source)}"  # SHA-256 of its CUDA\n'
            f"SEED, REFERENCE = 1, {self.reference!r}\n"
            f"TARGET: Any = {dict(self.target)!r}\n"
            f"PASS_CONFIGS: Any = {dict(self.pass_configs)!r}\n"
            "# Of each argument: dtype, shape, lowest and highest integer, or the values\n"
            f"ARGUMENTS: Any = [\n{arguments}\n]\n"
            "# Of each variant: at which line of the CUDA how many lines are replaced, by which\n"
            f"CHANGES: Any = {{\n{variants}\n}}"
        )


def _listed(found: Sequence[Change]) -> str:
    """Changes as a literal: one a line, where there are several."""
    rows = [repr([at, count, list(lines)]) for at, count, lines in found]
    if len(rows) < 2:
        return f"[{''.join(rows)}]"
    return "[\n        " + ",\n        ".join(rows) + ",\n    ]"
