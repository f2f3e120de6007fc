"""The blocks of the README and of the documentation, and how they are run.

Every block of `sh` or `python` is run as it stands, in the order of its page, in one folder a page;
the `text` block that follows is what it prints, where `...` stands for anything. A block with a
title is a file that is written. Plain calls of `smemreuse` are run in this process, as to start one
is most of the time of a small one, but on pages that write files: settings are read once in a
process. All else is run in a shell. Before a block there may be a comment:
`<!-- needs: tilelang -->` for an environment, or `<!-- not run: why -->`.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tests.commands.running import run
from tests.conftest import ROOT

WRITTEN_BY_COMMANDS = ROOT / "docs" / "findings"
"""Reports as `smemreuse reproduce` writes them; the index there is a page like others."""

PAGES = (
    ROOT / "README.md",
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.parent != WRITTEN_BY_COMMANDS or page.stem == "index"
    ),
)
NEEDS = {"tilelang.md": "tilelang", "tvm.md": "tvm"}
"""Pages all of whose blocks need a compiler."""

RUN = ("sh", "python")
_FENCE = re.compile(
    r"(?:<!-- (?P<what>needs|not run): (?P<value>[^>]*?) -->\n)?"
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block; `prints` is the text that follows, None where none does."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    needs: str
    not_run: str
    prints: str | None

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.not_run and not self.title

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    source = page.read_text()
    found = list(_FENCE.finditer(source))
    blocks = []
    for number, match in enumerate(found):
        follower = found[number + 1] if number + 1 < len(found) else None
        between = source[match.end() : follower.start()] if follower is not None else "-"
        follows = follower is not None and not between.strip()
        prints = None
        if follows and follower is not None and follower["language"] in ("", "text"):
            prints = follower["text"]
        what, value = match["what"], match["value"] or ""
        blocks.append(
            Block(
                page,
                source.count("\n", 0, match.start("language")) + 1,
                match["language"],
                match["title"] or "",
                match["text"],
                value if what == "needs" else NEEDS.get(page.name, ""),
                value if what == "not run" else "",
                prints,
            )
        )
    return blocks


def pages_needing(needs: str) -> list[Path]:
    """The pages that have something to run in an environment; "" is the one without compilers."""
    return [
        page for page in PAGES if any(one.is_run and one.needs == needs for one in blocks_of(page))
    ]


def run_page(page: Path, needs: str, folder: Path) -> int:
    """Runs all blocks of a page that an environment has what they need for; how many there were.

    The folder is to be the working directory. It gets a link to the fixtures.
    """
    for shared in ("fixtures", "scripts"):
        (folder / shared).symlink_to(ROOT / shared)
    programs = _programs(folder)
    names: dict[str, Any] = {"__name__": page.stem}
    writes = any(block.title for block in blocks_of(page))
    count = 0
    for block in blocks_of(page):
        if block.title and not block.not_run and not block.title.startswith("~"):
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if not block.is_run or block.needs != needs:
            continue
        count += 1
        calls = None if writes else _plain_calls(block.text)
        if block.language == "python":
            printed = _run_python(block, names)
        elif calls is not None:
            printed = "".join(_call(block, arguments) for arguments in calls)
        else:
            printed = _run(block, programs)
        if block.prints is not None:
            missing = first_missing(block.prints, printed)
            assert missing is None, f"{block} does not print\n{missing}\nbut\n{printed}"
    return count


def _programs(folder: Path) -> Path:
    """A folder with the programs that are installed, of this environment."""
    programs = folder / ".programs"
    programs.mkdir()
    main = "from smemreuse.cli import main; main(prog_name='smemreuse')"
    for name, arguments in (("smemreuse", f'-c "{main}" '), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        program.chmod(0o755)
    return programs


def _plain_calls(text: str) -> list[list[str]] | None:
    """The arguments of each line; None if one is not a verb with words that a shell takes as they
    stand, the last of which may be `>file`. `run` changes its process, and is not plain."""
    lines = [line for line in text.splitlines() if line]
    plain = re.compile(r"smemreuse (?!run )[\w ./=-]+(?:>[\w./-]+)?\s*(?: #.*)?")
    if not all(plain.fullmatch(line) for line in lines):
        return None
    return [shlex.split(line, comments=True)[1:] for line in lines]


def _call(block: Block, words: list[str]) -> str:
    """What a verb prints, where it is not into a file."""
    into = Path(words[-1][1:]) if words[-1].startswith(">") else None
    done = run(*(words if into is None else words[:-1]))
    assert done.exit_code == 0, f"{block} gives {done.exit_code}:\n{done.output}"
    if into is None:
        return done.stdout
    into.write_text(done.stdout)
    return ""


def _run(block: Block, programs: Path) -> str:
    environment = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "" if _has_fixture() else "-p smemreuse.pytest_plugin",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, f"{block} gives {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def _has_fixture() -> bool:
    """Whether pytest finds the plugin by itself, as where the package was installed with it."""
    points = entry_points(group="pytest11")
    return any(point.value == "smemreuse.pytest_plugin" for point in points)


def _run_python(block: Block, names: dict[str, Any]) -> str:
    sys.path.insert(0, str(Path.cwd()))
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(block.text, str(block), "exec"), names)
    finally:
        sys.path.pop(0)
    return printed.getvalue()


def first_missing(expected: str, printed: str) -> str | None:
    """The first part of what is expected that is not printed, in this order; None if all is.

    Parts are told apart by `...`; how lines are broken and padded is of no account.
    """
    whole, at = " ".join(printed.split()), 0
    for part in _parts(expected):
        found = whole.find(part, at)
        if found < 0:
            return part
        at = found + len(part)
    return None


def _parts(expected: str) -> Iterator[str]:
    for part in re.split(r"\.\.\.(?=\s|$)", expected):
        if part.strip():
            yield " ".join(part.split())
