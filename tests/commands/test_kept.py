"""Results that are kept on disk: the same as those worked out, and never an error."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from smemreuse import _version, plugins
from smemreuse.commands import check, compare, kept, lint
from smemreuse.commands.inputs import Source
from smemreuse.commands.kept import FOLDER, KeptResults, key_of
from smemreuse.commands.options import Planning
from smemreuse.targets.architectures import architecture
from tests.commands.running import run
from tests.conftest import DUMPS, ROOT

FEW = [DUMPS / f"{name}.tir" for name in ("halo.sm_80", "two_kernels.sm_80", "mmha_decode.sm_80")]
VERBS = ("compare", "lint", "check")
WORK = {"compare": compare, "lint": lint, "check": check}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder that results are kept in."""
    found = tmp_path / "kept"
    monkeypatch.setenv(FOLDER, str(found))
    return found


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def stop_working(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the verb must not read a dump, and so has only what is kept."""

    def never(*_: object) -> None:
        raise AssertionError("a dump is read")

    name = "parse_dump" if verb == "lint" else "subjects_of"
    monkeypatch.setattr(WORK[verb], name, never)


def answers(verb: str, *args: str | Path) -> tuple[int, str, str]:
    found: Result = run(verb, *args)
    return found.exit_code, found.stdout, found.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_dump_gives_the_same_from_the_cache(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON byte for byte, remarks and exit code."""
    asked = (verb, "--format", "json", DUMPS)
    without = answers(*asked, "--no-cache")
    assert not folder.exists()
    cold = answers(*asked)
    assert len(entries(folder)) == len([*DUMPS.rglob("*.tir")])
    stop_working(verb, monkeypatch)
    assert answers(*asked) == cold == without


@pytest.mark.parametrize("verb", VERBS)
def test_what_people_read_is_the_same(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [*FEW, *(ROOT / "fixtures" / "lint").glob("r*.tir")]
    cold = answers(verb, *files)
    stop_working(verb, monkeypatch)
    assert answers(verb, *files) == cold == answers(verb, *files, "-j", "2")


def test_another_option_text_or_name_is_another_result(folder: Path, tmp_path: Path) -> None:
    dump = tmp_path / "one.tir"
    dump.write_text(FEW[0].read_text())
    asked = ("lint", "--format", "json")
    for count, more in enumerate([(), ("--barriers", "later")], 1):
        run(*asked, *more, dump)
        assert len(entries(folder)) == count
    dump.write_text(f"# another\n{dump.read_text()}")
    run(*asked, dump)
    run(*asked, dump.rename(tmp_path / "two.tir"))
    assert len(entries(folder)) == 4
    assert "two.tir" in run(*asked, tmp_path / "two.tir").stdout


def test_options_are_told_apart_by_their_values() -> None:
    """No option is shown by where it is in memory, which would make every run a new one."""
    source, keys = Source("f", "text", None), set()
    for objective in ("bytes", "speed"):
        for arch in (None, architecture("sm_80"), architecture("sm_90")):
            planning = Planning("best", objective, arch)
            work = partial(compare._compared, planning=planning, json=True, drawn=False, full=False)
            assert " at 0x" not in repr(work.keywords)
            keys.add(key_of(work, source, ""))
    assert len(keys) == 6
    assert key_of(work, source, "declared") not in keys


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: b"\0" * len(data),
    ],
)
def test_a_damaged_entry_is_none(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    before = answers("lint", *FEW)
    for path in entries(folder):
        path.write_bytes(damage(path.read_bytes()))
    assert answers("lint", *FEW) == before
    assert answers("lint", *FEW) == before


def test_a_folder_that_cannot_be_one_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = answers("check", *FEW, "--no-cache")
    file = tmp_path / "file"
    file.write_text("mine")
    for named in (file, file / "below", "/proc/nowhere", ""):
        monkeypatch.setenv(FOLDER, str(named))
        assert answers("check", *FEW) == before
    assert file.read_text() == "mine"


def test_a_file_of_another_user_is_not_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = KeptResults(folder)
    found.put("key", "mine")
    assert found.get("key") == "mine"
    uid = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: uid)
    assert found.get("key") is None


def test_only_the_user_reads_the_folder(folder: Path) -> None:
    KeptResults(folder).put("key", 1)
    (made,) = folder.iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert [path.name for path in made.iterdir()] == ["key"]


def test_what_cannot_be_read_is_not_kept(folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tir"
    bad.write_text("no dump")
    first = answers("lint", bad, *FEW)
    assert first[0] == 2
    assert len(entries(folder)) == len(FEW)
    assert answers("lint", bad, *FEW) == first


def test_a_changed_package_finds_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A developer never sees what the code said before."""
    changed = tmp_path / "smemreuse" / "_version.py"
    changed.parent.mkdir()
    changed.write_text("changed = True\n")
    KeptResults(folder).put("key", 1)
    try:
        monkeypatch.setattr(_version, "__file__", str(changed))
        _version.code_stamp.cache_clear()
        kept._stamp.cache_clear()
        assert KeptResults(folder).get("key") is None
    finally:
        monkeypatch.undo()
        _version.code_stamp.cache_clear()
        kept._stamp.cache_clear()
    assert KeptResults(folder).get("key") == 1


def test_entries_of_old_versions_go_and_nothing_else(folder: Path) -> None:
    old, new = folder / f"results-{'0' * 16}", folder / f"results-{'1' * 16}"
    other = folder / "results-of-mine"
    for one in (old, new, other):
        one.mkdir(parents=True)
        (one / "entry").write_bytes(b"")
    for one in (old, other):
        os.utime(one, (0, 0))
    KeptResults(folder).put("key", 1)
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_with_code_of_users_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a plugin's code calls is in no key."""
    monkeypatch.setattr(plugins, "is_code", lambda: True)
    run("lint", *FEW)
    assert not folder.exists()


def test_declared_functions_are_in_the_key(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("lint", *FEW)
    monkeypatch.setattr(plugins, "stamp", lambda: "declared")
    run("lint", *FEW)
    assert len(entries(folder)) == 2 * len(FEW)


def test_by_default_it_is_the_folder_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run("lint", FEW[0])
    assert len(entries(tmp_path / "smemreuse")) == 1


def test_entries_are_small(folder: Path) -> None:
    """No part of a kernel is kept."""
    big = DUMPS / "flash_attention.sm_90a.tir"
    for verb in VERBS:
        run(verb, "--format", "json", big)
    for path in entries(folder):
        assert path.stat().st_size < 32_768
        assert b"smemreuse.ir.kernel" not in pickle.dumps(pickle.loads(path.read_bytes()[32:]))
