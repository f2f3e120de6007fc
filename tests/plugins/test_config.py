"""`smemreuse.toml`: found, read, and refused with the file and the line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smemreuse import plugins
from smemreuse.errors import InputError
from smemreuse.planner import PACKERS
from smemreuse.policies.attribution import POLICIES
from smemreuse.semantics.rows.device_functions import DECLARED

ROW = """\
[functions.mylib_scale]
arguments = [{ access = "read-write", bytes = 16, surely = "thread" }, "value"]
asynchronous = false
escapes = false
barrier_at_end = false
"""

ACCEPT = """\
[[accept]]
finding = "0123abcd"
reason = "seen"
"""


def written(text: str, name: str = "smemreuse.toml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(text: str, name: str = "smemreuse.toml") -> str:
    written(text, name)
    with pytest.raises(InputError) as raised:
        plugins.ensure()
    return str(raised.value).removeprefix(f"{Path.cwd()}/")


def test_it_is_found_in_the_folder_or_above(monkeypatch: pytest.MonkeyPatch) -> None:
    written(ROW)
    Path("a/b").mkdir(parents=True)
    monkeypatch.chdir("a/b")
    plugins.ensure()
    assert "mylib_scale" in DECLARED


def test_the_nearest_one_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    written(ROW)
    written(ROW.replace("mylib", "other"), "a/smemreuse.toml")
    monkeypatch.chdir("a")
    plugins.ensure()
    assert set(DECLARED) == {"other_scale"}


def test_without_one_nothing_is_added() -> None:
    plugins.ensure()
    assert not DECLARED
    assert plugins.stamp() == ""


def test_another_file_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, plugins.VARIABLE, "")
    plugins.configure(written(ROW, "elsewhere/own.toml"))
    assert "mylib_scale" in DECLARED
    assert Path(os.environ[plugins.VARIABLE]).name == "own.toml"


def test_it_may_be_read_twice_but_not_differ() -> None:
    plugins.configure(written(ROW))
    plugins.configure("smemreuse.toml")
    changed = written(ROW.replace("16", "32"), "changed.toml")
    with pytest.raises(InputError, match=r"declared already, by smemreuse\.toml, line 1"):
        plugins.configure(changed)
    assert len(DECLARED) == 1


def test_a_file_that_cannot_be_used_is_told_each_time() -> None:
    assert "is no TOML" in refusal("x = ")
    with pytest.raises(InputError, match="is no TOML"):
        plugins.ensure()


def test_it_includes_others() -> None:
    written('include = ["more/own.toml", "more/own.py"]\n')
    written(ROW, "more/own.toml")
    written(
        "from smemreuse.planner.best import best\n"
        "PACKERS = {'own': best}\n"
        "POLICIES = {'mine': lambda level, opened: 0}\n"
        "FUNCTIONS = {'mylib_none': dict(\n"
        "    arguments=['value'], asynchronous=False, escapes=False, barrier_at_end=False)}\n",
        "more/own.py",
    )
    plugins.ensure()
    assert {"mylib_scale", "mylib_none"} == set(DECLARED)
    assert "own" in PACKERS
    assert "mine" in POLICIES
    assert plugins.stamp()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = \n", "smemreuse.toml:1: is no TOML: "),
        ("\nfunction = 1\n[functions]\n", "smemreuse.toml:2: 'function' is not known; include, "),
        ("include = 1\n", "smemreuse.toml:1: `include` is a list of file names"),
        ('include = ["x.json"]\n', "smemreuse.toml:1: x.json is no .toml and no .py"),
        ('include = ["x.toml"]\n', "x.toml: cannot be read: No such file or directory"),
        ("functions = 1\n", "smemreuse.toml:1: `functions` are tables"),
        ("[functions]\nf = 1\n", "smemreuse.toml:2: f is to be a table, not 1"),
        (ROW + "x = 1\n", "smemreuse.toml:6: mylib_scale: 'x' is not known; arguments, "),
        (ROW.replace("escapes = false\n", ""), "smemreuse.toml:1: mylib_scale does not say `esc"),
        (ROW.replace("= false", "= 0", 1), "smemreuse.toml:3: mylib_scale: asynchronous is true "),
        (ROW.replace("16", '"x"'), "smemreuse.toml:2: mylib_scale: `bytes` is a number from 1 on"),
        (ROW.replace("16", "0"), "smemreuse.toml:2: mylib_scale: `bytes` is a number from 1 on"),
        (ROW.replace("16", "true"), "smemreuse.toml:2: mylib_scale: `bytes` is a number from 1"),
        (ROW.replace("bytes", "bites"), "smemreuse.toml:2: mylib_scale: 'bites' of an argument"),
        (ROW.replace("read-write", "rw"), "smemreuse.toml:2: mylib_scale: an argument's `access`"),
        (ROW.replace('"read-write"', "[1]"), "smemreuse.toml:2: mylib_scale: an argument's `acc"),
        (ROW.replace('"thread"', "true"), "smemreuse.toml:2: mylib_scale: `surely` is 'thread' or"),
        (ROW.replace("[{", '["value",{ bytes_in = 0,'), "smemreuse.toml:2: mylib_scale: `bytes` a"),
        (ROW.replace("bytes = 16", "bytes_in = 2"), "there is no argument 2 to say a size; the"),
        (ROW.replace("bytes = 16", "elements_in = 0"), "argument 0 says a size, so its access is"),
        (ROW.replace('"thread"', '"block"'), "needs barrier_at_end = true"),
        (ROW.replace("false", "true", 1), "nothing is surely accessed at the return of an async"),
        (ROW.replace('"value"', '{ access = "value", bytes = 1 }'), "of an argument that is 'val"),
        (ROW.replace("mylib_scale", '"tl::AllReduce::run"'), "smemreuse.toml:1: tl::AllReduce::ru"),
        (
            ROW.replace("mylib_scale", "__syncthreads"),
            "smemreuse.toml:1: __syncthreads is known",
        ),
        (ROW.replace("mylib_scale", "tma_load"), "smemreuse.toml:1: tma_load is known already"),
        (ROW.replace("mylib_scale", '"f<int>"'), "smemreuse.toml:1: 'f<int>' is no C++ function's"),
        (ROW.replace("mylib_scale", '"a b"'), "smemreuse.toml:1: 'a b' is no C++ function's name"),
        ("accept = 1\n", "smemreuse.toml:1: `accept` is written [[accept]], once for each"),
        (ACCEPT.replace("[[accept]]", "[accept]"), "smemreuse.toml:1: `accept` is written [[acc"),
        ("accept = [1]\n", "smemreuse.toml:1: an entry of `accept` is a table, not 1"),
        (ACCEPT + ACCEPT + "x = 1\n", "smemreuse.toml:7: accept: 'x' is not known; finding, "),
        (
            ACCEPT + ACCEPT.replace('"seen"', "3"),
            "smemreuse.toml:6: accept: `reason` is a string, n",
        ),
        (ACCEPT.replace("seen", " "), "smemreuse.toml:3: accept: `reason` is empty; say why it is"),
        (
            ACCEPT.replace("0123abcd", ""),
            "smemreuse.toml:2: accept: `finding` is empty; leave it o",
        ),
        (ACCEPT.replace('reason = "seen"\n', ""), "smemreuse.toml:1: accept does not say `reason`"),
        ('[[accept]]\nreason = "seen"\n', "smemreuse.toml:1: accept does not say what: give one "),
        (
            ACCEPT.replace("0123abcd", "0123abc"),
            "smemreuse.toml:2: accept: `finding` is what `lint`",
        ),
        (
            ACCEPT + 'hazard = "rice"\n',
            "smemreuse.toml:4: accept: `hazard` is one of uninitialised-",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, told: str) -> None:
    assert told in refusal(text)
    assert not DECLARED


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = (\n", "own.py:1: cannot be run: SyntaxError"),
        ("\nraise ValueError('no')\n", "own.py:2: cannot be run: ValueError: no"),
        ("\nimport sys\nsys.exit(0)\n", "own.py:3: cannot be run: SystemExit: 0"),
        ("PACKERS = 1\n", "own.py: FUNCTIONS, PACKERS and POLICIES are dictionaries, not 1"),
        ("PACKERS = {'best': print}\n", "own.py: best is a packer of smemreuse; give yours"),
        ("PACKERS = {'a b': print}\n", "own.py: a packer's name is an identifier, not 'a b'"),
        ("POLICIES = {'mine': 1}\n", "own.py: policy mine is 1, and no function"),
        ("POLICIES = {'dataflow': print}\n", "own.py: dataflow is a policy of smemreuse"),
        ("FUNCTIONS = {'f': {}}\n", "own.py: f does not say `arguments`; each is to be said"),
    ],
)
def test_what_is_wrong_in_python_too(source: str, told: str) -> None:
    written(source, "own.py")
    assert told in refusal('include = ["own.py"]\n')


def test_the_stamp_goes_by_contents() -> None:
    """Which keeps the kernels of TileLang's caches apart."""
    plugins.configure(written(ROW))
    first = plugins.stamp()
    written(ROW + "# more\n")
    plugins.configure("smemreuse.toml")
    assert plugins.stamp() not in ("", first)


def test_what_is_accepted_decides_no_plan() -> None:
    """So kernels that were compiled before stay in TileLang's caches."""
    plugins.configure(written(ACCEPT))
    assert plugins.stamp() == ""
    (entry,) = plugins.acceptances(of_plans=False).entries
    assert (entry.finding, entry.accepted.reason) == ("0123abcd", "seen")
    assert entry.accepted.source == "smemreuse.toml, line 1"
    assert not plugins.acceptances(of_plans=True).entries


def test_an_included_file_may_accept_and_another_configuration_begins_anew() -> None:
    written('include = ["more/own.toml"]\n')
    written("# reviewed\n" + ACCEPT, "more/own.toml")
    plugins.ensure()
    (entry,) = plugins.acceptances(of_plans=False).entries
    assert entry.accepted.source == "more/own.toml, line 2"
    plugins.configure(written(ACCEPT.replace("seen", "read"), "other.toml"))
    (entry,) = plugins.acceptances(of_plans=False).entries
    assert entry.accepted.reason == "read"
