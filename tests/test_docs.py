"""Every command of the README and of the documentation runs, and prints what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smemreuse.cli import VERBS
from tests.conftest import ROOT
from tests.pages import PAGES, RUN, blocks_of, first_missing, pages_needing, run_page

NOT_RUN = {"it needs a GPU", "it needs a cluster", "it installs", "it is run in the tutorial"}
"""The reasons why a block may be left alone."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages_needing(""), ids=name)
def test_all_that_needs_no_compiler_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, "", tmp_path)


def test_blocks_are_left_alone_for_few_reasons() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert {block.not_run for block in blocks} <= {"", *NOT_RUN}
    assert {block.needs for block in blocks} == {"", "tilelang", "tvm"}
    assert len([block for block in blocks if block.is_run]) > 30
    for block in blocks:
        what = block.language in (*RUN, "", "text", "json", "toml", "ini", "bash", "zsh", "fish")
        assert what, f"{block}: {block.language} is not run, and no data"
        if block.language == "bash":
            assert block.title, f"{block} is to be sh"


def test_every_verb_is_run_somewhere() -> None:
    text = "\n".join(
        block.text for page in PAGES for block in blocks_of(page) if block.language == "sh"
    )
    assert {verb for verb in VERBS if f"smemreuse {verb} " not in text} == set()


def test_what_is_expected_may_leave_out_much() -> None:
    printed = "one\n| two   | three |\nfour\n"
    assert first_missing("one\n...\nfour", printed) is None
    assert first_missing("...\n| two | three |\n...", printed) is None
    assert first_missing("four\n...\none", printed) == "one"
    assert first_missing("| two | four |", printed) == "| two | four |"


def test_the_reference_is_that_of_the_code() -> None:
    """`scripts/render_reference.py` writes it; in its own process, for click keeps the help option
    of a command as the first call had it."""
    command = [sys.executable, "-m", "scripts.render_reference", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_readme_is_no_manual() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 170


# The site ---------------------------------------------------------------------------------------

NETWORK = re.compile(r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css|woff2?|png|svg)[^"]*"')


def test_the_site_is_built_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1  # all but the README
    for page in pages:
        text = page.read_text()
        assert not NETWORK.search(text), page
        assert "<!-- needs" not in text
    shutil.rmtree(tmp_path / "site")
