"""Whatever is given to a verb: one line and exit code 2, or an honest answer. Never a crash."""

from __future__ import annotations

import os
import random
import resource
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.errors import SmemReuseError
from smemreuse.pipeline.planning import plan_kernel, sequence_of
from smemreuse.report.data import analyze_entry, plan_entry, subjects
from tests.commands.running import VERBS, assert_one_line_error, calls_of, run, run_process
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, launched

HUGE = 10**30
STATEMENT = "As[0] = Bs[0]\n"


def nested_grid(depth: int) -> str:
    variables = ", ".join(f"i{index}" for index in range(depth))
    return f"for {variables} in T.grid({', '.join(['2'] * depth)}):\n    As[0] = Bs[0]\n"


def nested_loops(depth: int) -> str:
    lines = [f"{' ' * index}for i{index} in range(2):\n" for index in range(depth)]
    return "".join(lines) + " " * depth + STATEMENT


def elif_chain(length: int) -> str:
    branches = [f"elif bx == {index}:\n    As[{index}] = Bs[0]\n" for index in range(length)]
    return "if bx < 0:\n    pass\n" + "".join(branches)


REFUSED: dict[str, bytes | str] = {
    "empty": "",
    "whitespace": " \n\t\n\n",
    "comments": "# nothing\n# here\n",
    "prose": "This is not a kernel.\n",
    "a script": "import os\n\ndef main():\n    print(os.getcwd())\n\nmain()\n",
    "cuda": "__global__ void k(float* a) { a[0] = 1; }\n",
    "nul bytes": b"T.evaluate(0)\0\0\0",
    "binary": bytes(range(256)) * 8,
    "elf": b"\x7fELF\x02\x01\x01" + b"\0" * 64,
    "invalid utf-8": b"T.evaluate('\xff\xfe')\n",
    "utf-16": "T.evaluate(0)\n".encode("utf-16"),
    "latin-1": launched('As[0] = T.f("é")\n').encode("latin-1"),
    "5,000 brackets": launched("As[0] = " + "(" * 5000 + "1" + ")" * 5000 + "\n"),
    "5,000 lists": launched("As[0] = T.f(" + "[" * 5000 + "]" * 5000 + ")\n"),
    "10,000 terms": launched("As[0] = " + " + ".join(["Bs[0]"] * 10_000) + "\n"),
    "5,000 minus signs": launched("As[0] = " + "-" * 5000 + "1\n"),
    "400 loops": launched(nested_loops(400)),
    "5,000 branches": launched(elif_chain(5000)),
    "huge extent": dump(LAUNCH + f'X = T.alloc_buffer(({HUGE},), scope="shared")\n'),
    "huge product": dump(LAUNCH + 'X = T.alloc_buffer((2**31,), scope="shared")\n'),
    "many huge extents": dump(LAUNCH + f'X = T.alloc_buffer({(2**31,) * 40}, scope="shared")\n'),
    "10,000 digits": launched(f"As[{'9' * 10_000}] = Bs[0]\n"),
    "extent of 10,000 digits": dump(LAUNCH + f"X = T.alloc_buffer(({'9' * 10_000},))\n"),
    "extent of 10,000 hexadecimal digits": dump(
        LAUNCH + f"X = T.alloc_buffer((0x{'f' * 10_000},))\n"
    ),
    "negative extent": dump(LAUNCH + 'X = T.alloc_buffer((-1,), scope="shared")\n'),
    "fractional extent": dump(LAUNCH + 'X = T.alloc_buffer((1.5,), scope="shared")\n'),
    "infinite extent": dump(LAUNCH + 'X = T.alloc_buffer((1e400,), scope="shared")\n'),
    "extent that is a string": dump(LAUNCH + 'X = T.alloc_buffer(("a",), scope="shared")\n'),
    "unknown dtype": dump(LAUNCH + 'X = T.alloc_buffer((1,), "quux", scope="shared")\n'),
    "dtype of many digits": dump(LAUNCH + f'X = T.alloc_buffer((1,), "int{"9" * 5000}")\n'),
    "dtype of many lanes": dump(LAUNCH + f'X = T.alloc_buffer((1,), "int8x{"9" * 30}")\n'),
    "undefined name": launched("As[0] = Cs[0]\n"),
    "a call without arguments": launched("x = T.env_thread()\n"),
    "a source kernel": "@T.prim_func\ndef k():\n    with T.Kernel(4) as bx:\n        T.clear(bx)\n",
    "a schedule not lowered": launched('T.realize(As[0:4], "shared")\n'),
    "a walrus": launched("As[(x := 1)] = Bs[0]\n"),
    "a comprehension": launched("As[0] = [x for x in range(10**9)]\n"),
    "a lambda called": launched("As[0] = (lambda: Bs[0])()[0]\n"),
    "an f-string": launched("As[0] = f'{Bs[0]}'\n"),
    "a starred argument": launched("T.f(*As)\n"),
    "an await": launched("await As[0]\n"),
    "a class in a kernel": launched("class X:\n    pass\n"),
    "merge markers": "<<<<<<< HEAD\n" + launched(STATEMENT),
    "half a line": launched(STATEMENT)[:-6],
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("verb", ["analyze", "plan-tilelang-json", "apply"])
def test_what_cannot_be_read_is_one_line(verb: str, content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run(*VERBS[verb](str(path)))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert result.stderr.startswith(f"smemreuse: {path}:")
    assert len(result.stderr) < 400, "a line that can be read"


UNPLANNABLE = {
    "alignment 0": launched('T.func_attr({"tl.smem_alignment_map": {"As": 0}})\n' + STATEMENT),
    "alignment below 0": launched(
        'T.func_attr({"tl.smem_alignment_map": {"As": -4}})\n' + STATEMENT
    ),
    "alignment that is no power of two": launched(
        'T.func_attr({"tl.smem_alignment_map": {"As": 48}})\n' + STATEMENT
    ),
    "alignment larger than any memory": launched(
        'T.func_attr({"tl.smem_alignment_map": {"As": 1048576}})\n' + STATEMENT
    ),
    "alignment that is a word": launched(
        'T.func_attr({"tl.smem_alignment_map": {"As": "wide"}})\n' + STATEMENT
    ),
    "alignment that is none": launched(
        'T.func_attr({"tl.smem_alignment_map": {"As": None}})\n' + STATEMENT
    ),
    "alignment that is infinite": launched(
        'T.func_attr({"tl.smem_alignment_map": {"As": 1e400}})\n' + STATEMENT
    ),
}


@pytest.mark.parametrize("content", UNPLANNABLE.values(), ids=UNPLANNABLE.keys())
@pytest.mark.parametrize("verb", ["compare", "plan", "apply"])
def test_what_cannot_be_planned_is_one_line(verb: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(content)
    result = run(*VERBS[verb](str(path)))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert result.stderr.startswith(f"smemreuse: {path}:8: ")
    assert "buffer As" in result.stderr


EITHER = {
    "a grid of 400": launched(nested_grid(400)),
    "a grid of 5,000": launched(nested_grid(5000)),
    "600 attributes": launched('T.attr(0, "pragma", 1)\n' * 600 + STATEMENT),
    "600 virtual threads": launched('T.attr(0, "virtual_thread", 1)\n' * 600 + STATEMENT),
    "3,000 operands of and": launched(f"if {' and '.join(['Bs[0] < 1'] * 3_000)}:\n    pass\n"),
    "hexadecimal index of 10,000 digits": launched(f"As[0x{'f' * 10_000}] = Bs[0]\n"),
    "loop of 10,000 hexadecimal digits": launched(
        f"for i in range(0x{'f' * 10_000}):\n    As[i] = Bs[0]\n"
    ),
    "a symbolic size of many digits": launched(
        f'X = T.alloc_buffer((n, 0x{"f" * 10_000}), scope="shared.dyn")\nX[0, 0] = As[0]\n'
    ),
    "a ramp of two arguments": launched("As[T.Ramp(0, 1)] = Bs[0]\n"),
}


@pytest.mark.parametrize("content", EITHER.values(), ids=EITHER.keys())
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_absurd_is_answered_or_one_line(verb: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(content)
    result = run(*VERBS[verb](str(path)))
    if result.exit_code != 0:
        assert_one_line_error(result.exit_code, result.stdout, result.stderr)
        assert result.stderr.startswith(f"smemreuse: {path}:")


@pytest.mark.parametrize("verb", VERBS)
def test_a_missing_file(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "missing.tir"
    result = run(*VERBS[verb](str(path)))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    assert result.stderr == f"smemreuse: {path}: cannot be read: No such file or directory\n"


@pytest.mark.parametrize("verb", VERBS)
def test_a_directory(verb: str, tmp_path: Path) -> None:
    result = run(*VERBS[verb](str(tmp_path)))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)
    takes_folders = verb.startswith("compare")
    assert ("no *.tir" if takes_folders else "is a folder; give one of the files") in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_may_not_be_read(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(launched(STATEMENT))
    path.chmod(0)
    result = run(*VERBS[verb](str(path)))
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)


def test_a_file_whose_name_has_a_line_end(tmp_path: Path) -> None:
    result = run("analyze", tmp_path / "a\nb.tir")
    assert_one_line_error(result.exit_code, result.stdout, result.stderr)


ACCEPTED = {
    "60 loops": nested_loops(60),
    "100 branches": elif_chain(100),
    "a grid of 60": nested_grid(60),
    "100 attributes": 'T.attr(0, "virtual_thread", 1)\n' * 100 + STATEMENT,
    "100 terms": "As[0] = " + " + ".join(["Bs[0]"] * 100) + "\n",
    "huge loop": f"for i in range({HUGE}):\n    As[i] = Bs[0]\n",
    "negative loop": "for i in range(-4):\n    As[i] = Bs[0]\n",
    "huge index": f"As[{HUGE}] = Bs[-{HUGE}]\n",
    "infinite float": "As[0] = 1e400\n",
    "empty slice": "As[4:4] = Bs[4:2]\n",
    "stride 0": "As[0:4:0] = Bs[0:4:-1]\n",
    "a surrogate": 'T.call_extern("int32", "\\ud800", As.data)\n',
    "a buffer nobody uses": 'X = T.alloc_buffer((8,), scope="shared.dyn")\nAs[0] = Bs[0]\n',
    "2^62 bytes": f'X = T.alloc_buffer(({2**62},), "int8", scope="shared.dyn")\nX[0] = As[0]\n',
    "gigabytes": f'X = T.alloc_buffer(({2**32},), scope="shared.dyn")\nAs[0] = 1.0\nX[0] = 1.0\n',
    "gigabytes of one access": "As[0] = 1.0\nBs[T.Ramp(0, 1, 10000000000)] = 1.0\n",
    "gigabytes between accesses": "for i in range(4):\n    As[0] = 1.0\n"
    "    Bs[i * 100000000000] = 1.0\n",
    "an index of more than 64 bits": f"As[0] = 1.0\nBs[{10**20}] = 1.0\n",
    "a loop of more than 64 bits": f"for i in range({2**200}):\n    As[i] = 1.0\n    Bs[0] = 1.0\n",
    "threads beyond counting": f'tx = T.launch_thread("threadIdx.x", {2**63 - 1})\n'
    'ty = T.launch_thread("threadIdx.y", 128)\nif ty < 64:\n    As[0] = 1.0\nBs[0] = 1.0\n',
    "a mask that is no number": 'T.f(T.tvm_access_ptr(T.type_annotation("float32"), As.data, 0, 1, '
    '"float4_e2m1fn"))\nBs[0] = 1.0\n',
    "alignment that is no map": 'T.func_attr({"tl.smem_alignment_map": 4})\n' + STATEMENT,
    "attributes that are no map": "T.func_attr(n)\nT.func_attr()\n" + STATEMENT,
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_odd_but_valid_is_answered(verb: str, body: str, tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    path.write_text(launched(body))
    assert run(*VERBS[verb](str(path))).exit_code == 0


EMPTY = 'X = T.alloc_buffer((0,), scope="shared.dyn")\nX[0] = As[0] + Bs[0]\n'


@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_buffer_is_planned_and_not_applied(verb: str, tmp_path: Path) -> None:
    """Rule 9: nobody says how many bytes of the arena are its own."""
    path = tmp_path / "k.tir"
    path.write_text(launched(EMPTY))
    result = run(*VERBS[verb](str(path)))
    if verb == "apply":
        assert_one_line_error(result.exit_code, result.stdout, result.stderr)
        assert "allocated without a size" in result.stderr
    else:
        assert result.exit_code == 0


@pytest.mark.parametrize("make", [nested_grid, elif_chain], ids=["grid", "elif"])
def test_no_depth_of_nesting_crashes_a_verb(make: object, tmp_path: Path) -> None:
    """What reading survives, what comes after must survive too, or refuse."""
    assert callable(make)
    path = tmp_path / "k.tir"
    for depth in (90, 240, 480, 950):
        path.write_text(launched(make(depth)))
        for verb in ("analyze", "plan", "apply"):
            assert run(*VERBS[verb](str(path))).exit_code in (0, 2), depth


# Nothing is executed --------------------------------------------------------------------------

EVIL = [
    "import os; os.system('touch {canary}')\n" + launched(STATEMENT),
    launched("As[0] = __import__('os').system('touch {canary}')\n"),
    launched("T.evaluate(open('{canary}', 'w'))\n"),
    launched("T.evaluate(eval(\"open('{canary}', 'w')\"))\n"),
    launched("As[0] = (x := open('{canary}', 'w'))\n"),
    launched("As[0] = [open('{canary}', 'w') for _ in (1,)][0]\n"),
    launched("As[0] = (lambda: open('{canary}', 'w'))()\n"),
    launched("with open('{canary}', 'w') as f:\n    pass\n"),
    launched("T.func_attr({{open('{canary}', 'w'): open('{canary}', 'w')}})\n" + STATEMENT),
    launched("assert open('{canary}', 'w')\n"),
    launched("X = T.alloc_buffer((open('{canary}', 'w'),), scope='shared')\n"),
    launched(STATEMENT).replace("n: T.int32", "n: open('{canary}', 'w') = 0"),
    launched(STATEMENT).replace("n: T.int32", "n=open('{canary}', 'w')"),
    launched(STATEMENT).replace("@T.prim_func", "@T.prim_func(open('{canary}', 'w'))"),
    launched(STATEMENT).replace("@T.prim_func", "@open('{canary}', 'w')"),
    "# -*- coding: {canary} -*-\n" + launched(STATEMENT),
    "class X(metaclass=open('{canary}', 'w')):\n    pass\n" + launched(STATEMENT),
    launched("x: open('{canary}', 'w') = 1\n"),
    launched("T.evaluate(f\"{{open('{canary}', 'w')}}\")\n"),
]


@pytest.mark.parametrize("source", EVIL)
@pytest.mark.parametrize("verb", ["analyze", "apply"])
def test_nothing_in_a_dump_is_executed(verb: str, source: str, tmp_path: Path) -> None:
    path, canary = tmp_path / "k.tir", tmp_path / "canary"
    path.write_text(source.replace("{{", "{").replace("}}", "}").replace("{canary}", str(canary)))
    result = run(*VERBS[verb](str(path)))
    assert not canary.exists()
    if result.exit_code != 0:
        assert_one_line_error(result.exit_code, result.stdout, result.stderr)


# Size -----------------------------------------------------------------------------------------


def long_kernel(statements: int, buffers: int = 12) -> str:
    """Loops of one statement each, over a few buffers that are touched in one stretch each."""
    names = [f"B{index}" for index in range(buffers)]
    body = "".join(
        f'{name} = T.alloc_buffer((37,), "int8", scope="shared.dyn")\n' for name in names
    )
    for index in range(statements // 2):
        first = index * buffers // statements
        name, other = names[first : first + 2]
        body += f"for i in range(4):\n    {name}[{index}:{index} + 4] = {other}[i]\n"
    return dump(LAUNCH + body)


@pytest.mark.parametrize("verb", ["analyze-inner-json", "compare-json", "apply"])
def test_work_grows_no_faster_than_the_kernel(verb: str, tmp_path: Path) -> None:
    """Twice the statements may take twice the calls more, whatever comes with any kernel apart, or
    with a plan that is proved, as that of the smaller ones is."""
    counted = {}
    for statements in (25, 100, 200, 400):  # the first imports, and fills caches
        path = tmp_path / f"{statements}.tir"
        path.write_text(long_kernel(statements))
        counted[statements] = calls_of(partial(run, *VERBS[verb](str(path))))
    more = counted[200] - counted[100]
    assert more > 0
    assert counted[400] - counted[200] < 2.1 * more


def test_a_file_too_large_to_read_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "k.tir"
    with path.open("wb") as stream:
        stream.truncate(16 * 2**30)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))

    done = run_process("analyze", path, preexec_fn=limit)
    assert_one_line_error(done.returncode, done.stdout, done.stderr)


# As a program ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["400 loops", "10,000 digits"])
def test_the_program_prints_one_line(name: str, tmp_path: Path) -> None:
    """Where the limits of depth and of digits are a fresh interpreter's."""
    path, content = tmp_path / "k.tir", REFUSED[name]
    assert isinstance(content, str)
    path.write_text(content)
    done = run_process("plan", path)
    assert_one_line_error(done.returncode, done.stdout, done.stderr)


# Mutations ------------------------------------------------------------------------------------

TOKENS = ["(", ")", ",", "T.", "As", "Bs", ".data", "[0]", "None", "-1", "*", "'x'", "\n", "    "]
SEEDS = [
    launched("for i, j in T.grid(2, n):\n    As[i:i + 4] = Bs[T.Ramp(j, 1, 4)]\n"),
    dump(
        'tx = T.env_thread("threadIdx.x")\n'
        + LAUNCH
        + BUFFERS
        + 'T.launch_thread(tx, 32)\nT.attr(0, "virtual_thread", 2)\n'
        + "p: T.handle = T.address_of(As[0])\n"
        + 'V = T.decl_buffer((4,), data=p, scope="shared.dyn")\n'
        + "V.vstore([0], T.Let(n, where={n: Bs[0]}), predicate=T.bool(True))\n"
        + 'while V[0] < 1:\n    assert Bs[0], ("E", ["m"])\n'
    ),
]


@given(
    seed=st.sampled_from(SEEDS),
    choices=st.randoms(use_true_random=False),
    count=st.integers(1, 4),
)
@settings(max_examples=300)
def test_a_mutilated_dump_never_crashes(seed: str, choices: random.Random, count: int) -> None:
    text = seed
    for _ in range(count):
        start = choices.randrange(len(text))
        end = min(len(text), start + choices.choice((0, 1, 1, 4, 12)))
        text = text[:start] + choices.choice([*TOKENS, ""]) + text[end:]
    try:
        dumped = parse_dump(text)
        for subject in subjects("k.tir", dumped.kernels):
            for policy in ("outer", "inner"):
                sequence = sequence_of(subject.kernel, subject.scope, policy)
                analyze_entry(subject, policy, *sequence)
            plan_entry(subject, plan_kernel(subject.kernel, subject.scope))
        merged = merge_text(dumped, plan_kernel).source
    except SmemReuseError:
        return
    parse_dump(merged)
