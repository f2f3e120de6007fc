"""Functions that users declare: what is proved with their rows, and what is not all the same."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from smemreuse import lint, plugins, read
from smemreuse.checker import check_plan
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from smemreuse.ir.labels import label
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.plugins.tables import declaration
from smemreuse.semantics.declarations import declare
from tests.commands.running import SMALLEST, run, run_json
from tests.compilers.text import texts
from tests.conftest import ROOT

FIXTURE = ROOT / "fixtures" / "declared"
TILES = FIXTURE / "tiles.sm_80.tir"
SCOPE = "shared.dyn"
TOLD = "`mylib_load_tile` does as declared by smemreuse.toml, line 4"


def test_without_the_file_nothing_is_shared() -> None:
    (entry,) = run_json("compare", *SMALLEST, TILES, "--format", "json")["kernels"]
    assert entry["policies"]["dataflow"]["arena_bytes"] == 8_192
    assert "mylib_load_tile" in str(entry["policies"]["dataflow"]["hoped"])


def with_the_file() -> None:
    shutil.copy(FIXTURE / "smemreuse.toml", "smemreuse.toml")


def test_with_it_bytes_are_shared_and_the_verdict_says_on_whose_word() -> None:
    with_the_file()
    (entry,) = run_json("compare", *SMALLEST, TILES, "--format", "json")["kernels"]
    found = entry["policies"]["dataflow"]
    assert (found["arena_bytes"], found["verdict"]) == (4_096, "sound")
    assert TOLD in found["assumptions"]
    # What shares nothing rests on nobody's word.
    assert entry["policies"]["outer"]["assumptions"] == []


def test_check_lint_and_explain_say_so_too() -> None:
    with_the_file()
    Path("plan.json").write_text(run("plan", *SMALLEST, TILES, "--format", "json").stdout)
    (entry,) = run_json("check", TILES, "--plan", "plan.json", "--format", "json")["kernels"]
    assert TOLD in entry["assumptions"]
    assert TOLD in entry["rests_on"]["assumptions"]
    assert not entry["rests_on"]["proved"]
    assert TOLD in " ".join(run("check", TILES, "--plan", "plan.json").stdout.split())
    assert TOLD in " ".join(run("explain", TILES, "tile", "result").stdout.split())
    (kernel,) = read(TILES)
    assert TOLD in lint(kernel).assumptions


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("barriers_inside = false", ""),
        ("", "its declaration does not say"),
        ("barriers_inside = true", "it has some, by its declaration, and they are not followed"),
    ],
)
def test_a_declaration_says_whether_there_are_barriers_inside_or_the_answer_says_that_it_does_not(
    line: str, told: str
) -> None:
    with_the_file()
    file = Path("smemreuse.toml")
    file.write_text(re.sub("barriers_inside = false.*", line, file.read_text()))
    (entry,) = run_json("compare", *SMALLEST, TILES, "--format", "json")["kernels"]
    assumed = [
        one for one in entry["policies"]["dataflow"]["assumptions"] if "barrier inside" in one
    ]
    assert assumed == ([f"`mylib_load_tile` has no barrier inside ({told})"] if told else [])


def test_the_file_may_be_named_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plugins.VARIABLE, "")
    (entry,) = run_json(
        "--config", FIXTURE / "smemreuse.toml", "plan", *SMALLEST, TILES, "--format", "json"
    )["kernels"]
    assert entry["arena_bytes"] == 4_096
    missing = run("--config", "none.toml", "plan", TILES)
    assert missing.exit_code == 2
    assert "none.toml: cannot be read: No such file or directory" in missing.stderr


# Adversaries ------------------------------------------------------------------------------------

LOAD = {
    "arguments": [
        {"access": "write", "elements_in": 2, "surely": "block"},
        {"access": "read", "elements_in": 2},
        "value",
    ],
    "asynchronous": False,
    "escapes": False,
    "barrier_at_end": True,
}


def arena_with(text: str | None = None, **changed: Any) -> int:
    """The bytes of the plan that would be applied, where the function is declared so."""
    declare(declaration("mylib_load_tile", {**LOAD, **changed}, "a test"))
    return plan_kernel(kernel_of(text), SCOPE).arena_bytes


def kernel_of(text: str | None = None) -> Kernel:
    (kernel,) = parse_dump(text or TILES.read_text()).kernels
    return kernel


def test_as_declared() -> None:
    assert arena_with() == 4_096


@pytest.mark.parametrize(
    "changed",
    [
        {"asynchronous": True, "arguments": ["write", "read", "value"]},
        {"escapes": True},
        {"barrier_at_end": False, "arguments": ["write", "read", "value"]},
        # Not surely all of it: the rest may be carried round the loop.
        {"arguments": ["write", "read", "value"]},
        {"arguments": [{"access": "write", "elements_in": 2}, "read", "value"]},
        {
            "arguments": [
                {"access": "read-write", "elements_in": 2, "surely": "block"},
                "read",
                "value",
            ]
        },
        # The wrong way round, against what the kernel's own pointers say; and of nothing.
        {"arguments": ["read", "write", "value"]},
        {"arguments": ["unknown", "read", "value"]},
        {"arguments": ["value", "read", "value"]},
        # Another number of arguments than it is called with.
        {"arguments": ["write", "read"]},
        {"arguments": ["write", "read", "value", "value"]},
        {"arguments": []},
    ],
    ids=str,
)
def test_whatever_is_said_less_proves_less(changed: dict[str, Any]) -> None:
    assert arena_with(**changed) == 8_192


def test_another_number_of_arguments_is_named() -> None:
    declare(declaration("mylib_load_tile", {**LOAD, "arguments": ["write", "read"]}, "a test"))
    (reason,) = {
        access.uncovered
        for found in _accesses(kernel_of()).values()
        for access in found
        if access.uncovered
    }
    assert reason == "`mylib_load_tile` is called with 3 arguments, and a test declares 2"


def _accesses(kernel: Kernel) -> Any:
    from smemreuse.facts import facts_of

    return facts_of(kernel).accesses


def test_a_size_that_is_no_constant_is_anywhere() -> None:
    text = TILES.read_text().replace("X, k * 1024, 1024, 1), 1024)", "X, k * 1024, 1024, 1), k)")
    assert text != TILES.read_text()
    assert arena_with(text) == 8_192


def test_an_offset_leaves_bytes_unwritten() -> None:
    text = TILES.read_text().replace("tile.data, 0, 1024, 2", "tile.data, 1, 1024, 2")
    assert arena_with(text) == 8_192


def test_a_kept_pointer_is_followed_nowhere() -> None:
    """What escapes is live throughout, though the function alone would not say so."""
    declare(declaration("mylib_load_tile", {**LOAD, "escapes": True}, "a test"))
    plan = plan_kernel(kernel_of(), SCOPE)
    (tile,) = (one for one in plan.buffers if one.name == "tile")
    assert plan.live[tile].begin == 0
    assert plan.live[tile].end == len(plan.entries)


def test_only_the_function_that_is_called_counts() -> None:
    text = TILES.read_text().replace('"mylib_load_tile"', '"mylib_load_tiles"')
    assert arena_with(text) == 8_192
    named = TILES.read_text().replace('"mylib_load_tile"', '"::mylib_load_tile<float, 4>"')
    assert plan_kernel(kernel_of(named), SCOPE).arena_bytes == 4_096


def test_its_result_is_each_threads_own() -> None:
    """A branch on it is one that threads may take differently."""
    from smemreuse.ir.kernel import walk_statements
    from smemreuse.semantics.effects import Answer
    from smemreuse.semantics.table import calls_of, effect_of

    declare(declaration("mylib_load_tile", LOAD, "a test"))
    calls = [call for stmt in walk_statements(kernel_of().body) for call in calls_of(stmt)]
    (effect,) = [effect_of(call) for call in calls if call.op == "call_extern"]
    assert effect.answer is Answer.VARIES
    assert effect.follows
    assert effect.handed_on


COUNTED = """
bx = T.launch_thread("blockIdx.x", 1)
As = T.alloc_buffer((256,), "int32", scope="shared.dyn")
Bs = T.alloc_buffer((256,), "int32", scope="shared.dyn")
where = T.alloc_buffer((1,), "int32", scope="local")
tx = T.launch_thread("threadIdx.x", 128)
where[0] = 0
T.call_extern("handle", "mylib_next", where[0])
As[tx] = tx
where[0] = As[127 - tx]
Bs[tx] = where[0]
T.call_extern("handle", "mylib_next", As[tx])
where[0] = Bs[127 - tx]
"""


@pytest.mark.parametrize(
    ("access", "how"), [("value", {"read"}), ("unknown", {"read-write"}), ("read", {"read"})]
)
def test_an_element_of_which_nothing_is_known_may_be_taken_by_reference(
    access: str, how: set[str]
) -> None:
    """From there all of its buffer is in reach: as a value it is read there, and no more."""
    no = {"asynchronous": False, "escapes": False, "barrier_at_end": False}
    declare(declaration("mylib_next", {"arguments": [access], **no}, "a test"))
    *_, found = (
        found
        for stmt, found in _accesses(kernel_of(COUNTED)).items()
        if "mylib_next" in label(stmt)
    )
    assert {one.access.value for one in found if one.buffer.name == "As"} == how


@pytest.mark.parametrize(("access", "written"), [("read", False), ("write", True)])
def test_a_local_that_it_writes_is_another_then(access: str, written: bool) -> None:
    from smemreuse.ir.kernel import walk_statements
    from smemreuse.semantics.pointers import escaping

    no = {"asynchronous": False, "escapes": False, "barrier_at_end": False}
    declare(declaration("mylib_next", {"arguments": [access], **no}, "a test"))
    found = {
        one.name
        for stmt in walk_statements(kernel_of(COUNTED).body)
        for one in escaping(stmt)
        if one.name == "where"
    }
    assert bool(found) is written


PHASES = """
bx = T.launch_thread("blockIdx.x", 1)
As = T.alloc_buffer((128,), "int32", scope="shared.dyn")
Bs = T.alloc_buffer((128,), "int32", scope="shared.dyn")
own = T.alloc_buffer((1,), "int32", scope="local")
tx = T.launch_thread("threadIdx.x", 128)
T.call_extern("handle", "mylib_fill", T.address_of(As[0]))
T.tvm_storage_sync("shared.dyn")
own[0] = As[127 - tx]
T.call_extern("handle", "mylib_meet")
Bs[tx] = own[0]
T.tvm_storage_sync("shared.dyn")
own[0] = Bs[127 - tx]
"""


PLAIN = {"asynchronous": False, "escapes": False, "barrier_at_end": False}


@pytest.mark.parametrize(
    ("asynchronous", "barrier_at_end", "verdict"),
    [
        (False, True, "sound"),
        (True, True, "unproved"),  # who knows when the copy is over
        (False, False, "unsound"),  # nobody waits for the last one to have read
    ],
)
def test_order_is_as_declared(asynchronous: bool, barrier_at_end: bool, verdict: str) -> None:
    said = {**PLAIN, "asynchronous": asynchronous, "barriers_inside": False}
    meet = {**said, "arguments": [], "asynchronous": False, "barrier_at_end": barrier_at_end}
    declare(declaration("mylib_fill", {**said, "arguments": ["write"]}, "a test"))
    declare(declaration("mylib_meet", meet, "a test"))
    kernel = kernel_of(PHASES)
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    found = check_plan(kernel, SCOPE, offsets, 512, {}, assume_barriers=False)
    assert found.verdict.value == verdict


def test_who_prints_no_verdicts_in_full_says_so_on_standard_error() -> None:
    with_the_file()
    for arguments in (("plan",), ("compare",), ("apply", "-o", "merged.tir")):
        told = run(arguments[0], TILES, *arguments[1:]).stderr
        assert told.count(f"assuming, where bytes are shared, that {TOLD}") == 1


# One call, its own operands and conditions -------------------------------------------------------

ROUNDS = """
bx = T.launch_thread("blockIdx.x", 1)
seen = T.decl_buffer((4096,), "int32", data=A)
As = T.alloc_buffer((128,), "int32", scope="shared.dyn")
Bs = T.alloc_buffer((128,), "int32", scope="shared.dyn")
own = T.alloc_buffer((1,), "int32", scope="local")
tx = T.launch_thread("threadIdx.x", 128)
As[tx] = tx
T.tvm_storage_sync("shared.dyn")
for k in range(4):
    {call}
    T.tvm_storage_sync("shared.dyn")
    own[0] = As[127 - tx]
    T.tvm_storage_sync("shared.dyn")
    Bs[tx] = own[0]
    T.tvm_storage_sync("shared.dyn")
    own[0] = Bs[127 - tx]
    T.tvm_storage_sync("shared.dyn")
"""
"""A buffer that is filled in each round may share bytes with the other one, and else may not."""

SYNC = 'T.tvm_storage_sync("shared.dyn")'
WRITTEN = {"access": "write", "bytes": 4, "surely": "thread"}
MINE = "T.address_of(As[tx])"


def verdict_of(call: str, *arguments: Any, inside: bool | None = None) -> str:
    """On both buffers in one place, where `mylib_fill` has these arguments, and has barriers
    `inside` or not, or that is not said."""
    said = {} if inside is None else {"barriers_inside": inside}
    declare(declaration("mylib_fill", {**PLAIN, **said, "arguments": [*arguments]}, "a test"))
    kernel = texts.kernel_of(texts.dump(ROUNDS.format(call=call)))
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    return check_plan(kernel, SCOPE, offsets, 512, {}, assume_barriers=False).verdict.value


@pytest.mark.parametrize(
    ("size", "inside", "verdict"),
    [(4, None, "sound"), (3, False, "unsound"), (3, None, "unproved"), (3, True, "unproved")],
)
def test_what_each_round_fills_is_not_carried(size: int, inside: bool | None, verdict: str) -> None:
    """Where there may be a barrier inside, it may order what else would go wrong."""
    call = f'T.call_extern("handle", "mylib_fill", {MINE})'
    assert verdict_of(call, {**WRITTEN, "bytes": size}, inside=inside) == verdict


@pytest.mark.parametrize("arguments", [(WRITTEN, "read"), ("read", WRITTEN)], ids=str)
def test_what_it_reads_through_another_argument_may_come_first(arguments: tuple[Any, ...]) -> None:
    """In place, as `scale(to, from)` with one pointer for both."""
    call = f'T.call_extern("handle", "mylib_fill", {MINE}, {MINE})'
    assert verdict_of(call, *arguments) == "unproved"


@pytest.mark.parametrize(
    "condition",
    [
        "T.if_then_else(seen[tx] > 0, {}, 0)",
        "T.if_then_else(seen[tx] > 0, 0, {})",
        "T.Select(seen[tx] > 0, {}, 0)",
        "T.And(seen[tx] > 0, {} > 0)",
        "T.Or(seen[tx] > 0, {} > 0)",
        'T.call_extern("int32", "mylib_other", T.if_then_else(seen[tx] > 0, {}, 0))',
        "T.if_then_else(seen[tx] > 0, T.if_then_else(seen[0] > 0, {}, 0) + 1, 0)",
    ],
)
def test_a_call_under_a_condition_fills_nothing_for_sure(condition: str) -> None:
    declare(declaration("mylib_other", {**PLAIN, "arguments": ["value"]}, "a test"))
    call = condition.format(f'T.call_extern("int32", "mylib_fill", {MINE})')
    assert verdict_of(f"T.evaluate({call})", WRITTEN) == "unproved"


def test_what_the_condition_itself_calls_is_done() -> None:
    call = f'T.if_then_else(T.call_extern("int32", "mylib_fill", {MINE}) > 0, 1, 0)'
    assert verdict_of(f"T.evaluate({call})", WRITTEN) == "sound"


COUNTED_FROM = {"access": "write", "elements_in": 1, "surely": "block"}


@pytest.mark.parametrize(
    "pointer",
    ["As.data", "T.handle_add_byte_offset(As.data, 0)", "T.reinterpret(As.data, dtype='handle')"],
)
def test_elements_of_which_nobody_says_the_type_may_be_large(pointer: str) -> None:
    """Between the call and the read behind it all of `As` may be needed, and not 128 bytes."""
    declared = {**PLAIN, "arguments": [COUNTED_FROM, "value"], "barrier_at_end": True}
    declare(declaration("mylib_fill", declared, "a test"))
    body = f"""
    bx = T.launch_thread("blockIdx.x", 1)
    As = T.alloc_buffer((128,), "int32", scope="shared.dyn")
    Bs = T.alloc_buffer((32,), "int32", scope="shared.dyn")
    own = T.alloc_buffer((2,), "int32", scope="local")
    tx = T.launch_thread("threadIdx.x", 128)
    T.call_extern("handle", "mylib_fill", {pointer}, 128)
    if tx < 32:
        Bs[tx] = tx
    T.tvm_storage_sync("shared.dyn")
    own[0] = As[127 - tx]
    """
    kernel = texts.kernel_of(texts.dump(body))
    one, two = kernel.allocations(SCOPE)
    found = check_plan(kernel, SCOPE, {one: 0, two: 256}, 512, {}, assume_barriers=False)
    assert found.verdict.value != "sound"


def test_an_element_has_the_type_of_its_buffer() -> None:
    call = f'T.call_extern("handle", "mylib_fill", {MINE}, 1)'
    of_thread = {"access": "write", "elements_in": 1, "surely": "thread"}
    assert verdict_of(call, of_thread, "value") == "sound"


@pytest.mark.parametrize(("before", "verdict"), [("T.evaluate(0)", "unproved"), (SYNC, "sound")])
def test_which_thread_fills_which_byte_is_not_said(before: str, verdict: str) -> None:
    """So no race of one of them with a reader is certain: it may be that reader itself."""
    filled = {"access": "write", "bytes": 512, "surely": "block"}
    declared = {**PLAIN, "arguments": [filled], "barrier_at_end": True}
    declare(declaration("mylib_fill", declared, "a test"))
    fill = 'T.call_extern("handle", "mylib_fill", T.address_of(As[0]))'
    body = (
        PHASES.partition("T.call_extern")[0] + f"Bs[tx] = tx\nown[0] = Bs[tx]\n{before}\n{fill}\n"
    )
    kernel = kernel_of(body)
    offsets = dict.fromkeys(kernel.allocations(SCOPE), 0)
    found = check_plan(kernel, SCOPE, offsets, 512, {}, assume_barriers=False)
    assert found.verdict.value == verdict
