"""Write docs/reference/commands.md and api.md, of click's commands and the docstrings.

python -m scripts.render_reference [--check]
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from scripts.regenerate_fixtures import renew
from scripts.results import ROOT, options_of
from smemreuse import cli

REFERENCE = ROOT / "docs" / "reference"
PACKAGE = ROOT / "smemreuse"
MADE = "<!-- Written by scripts/render_reference.py -->"


# Commands ---------------------------------------------------------------------------------------


def commands_page() -> str:
    parts = [
        f"# Commands\n\n{MADE}",
        _help(cli.main),
        "Options before the verb:",
        _options(cli.main, _context(cli.main, "smemreuse")),
    ]
    for verb in cli.VERBS:
        command = cli.load_verb(verb)
        context = _context(command, f"smemreuse {verb}")
        usage = " ".join(command.collect_usage_pieces(context))
        parts += [
            f"## {verb}",
            f"```text\nsmemreuse {verb} {usage}\n```",
            _help(command),
            _options(command, context),
        ]
    return "\n\n".join(parts) + "\n"


def _context(command: click.Command, name: str) -> click.Context:
    return click.Context(command, info_name=name, help_option_names=["-h", "--help"])


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "")


def _options(command: click.Command, context: click.Context) -> str:
    rows = ["| option | |", "|---|---|"]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        names, told = record or ("", "")
        if told:
            rows.append(f"| `{names.replace('|', chr(92) + '|')}` | {_cell(told)} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


# Python -----------------------------------------------------------------------------------------


def api_page() -> str:
    init = ast.parse((PACKAGE / "__init__.py").read_text())
    parts = [f"# Python\n\n{MADE}", "## smemreuse", _prose(ast.get_docstring(init))]
    for name in _listed(init):
        if name != "__version__":
            parts += _entry("smemreuse", name, PACKAGE / "__init__.py")
    for door in ("tilelang", "tvm"):
        path = PACKAGE / f"{door}.py"
        tree = ast.parse(path.read_text())
        parts += [f"## smemreuse.{door}", _prose(ast.get_docstring(tree))]
        for name in _listed(tree):
            parts += _entry(f"smemreuse.{door}", name, path)
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(tree: ast.Module) -> list[str]:
    """The names of `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(ast.literal_eval(node.value), key=str.lower)
    return []


def _entry(module: str, name: str, path: Path) -> Iterator[str]:
    found = _definition(name, path)
    if isinstance(found, ast.FunctionDef):
        yield f"### {module}.{name}"
        yield f"```text\n{_public_names(_signature(found), path)}\n```"
        yield _prose(ast.get_docstring(found))
    elif isinstance(found, ast.ClassDef):
        yield f"### {module}.{name}"
        yield _prose(ast.get_docstring(found))
        yield from _members(found)


def _public_names(signature: str, path: Path) -> str:
    """A signature with the names under which a public module imports what it names otherwise."""
    for node in ast.walk(ast.parse(path.read_text())):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if alias.asname is not None:
                signature = re.sub(rf"\b{alias.name}\b", alias.asname, signature)
    return signature


def _members(found: ast.ClassDef) -> Iterator[str]:
    rows = [
        f"- `{_head(node)}`: {_first(ast.get_docstring(node))}"
        for node in found.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node)
    ]
    if rows:
        yield "\n".join(rows)


def _head(node: ast.FunctionDef) -> str:
    marks = {ast.unparse(mark).split(".")[-1] for mark in node.decorator_list}
    if marks & {"property", "cached_property"}:
        return node.name
    return f"{node.name}({', '.join(arg.arg for arg in node.args.args if arg.arg != 'self')})"


def _first(docstring: str | None) -> str:
    return " ".join((docstring or "").split("\n\n")[0].split())


def _prose(docstring: str | None) -> str:
    """A docstring as Markdown: what is indented by four is code already."""
    return (docstring or "").replace("<", "&lt;") if docstring else ""


def _signature(node: ast.FunctionDef) -> str:
    """On one line, or an argument a line."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    whole = f"{node.name}({ast.unparse(node.args)}){returns}"
    if len(whole) <= 90:
        return whole
    arguments = ast.unparse(node.args).split(", ")
    return f"{node.name}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"


def _definition(name: str, path: Path, depth: int = 0) -> ast.stmt | None:
    """Where a name is defined, looked for where a module imports it from."""
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return node
    for imported in ast.walk(tree):
        if isinstance(imported, ast.ImportFrom) and imported.module and depth < 4:
            for alias in imported.names:
                if (alias.asname or alias.name) == name:
                    source = _module(imported.module)
                    return None if source is None else _definition(alias.name, source, depth + 1)
    return None


def _module(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    found = (path.with_suffix(".py"), path / "__init__.py")
    return next((one for one in found if one.exists()), None)


PAGES = {REFERENCE / "commands.md": commands_page, REFERENCE / "api.md": api_page}


def main() -> int:
    options = options_of(__doc__, "check").parse_args()
    return renew({path: page() for path, page in PAGES.items()}, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
