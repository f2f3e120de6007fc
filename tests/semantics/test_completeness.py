"""The table of effects has a row, or a written reason, for all that the compilers have.

Against the compilers that are installed: every operation that they register, every function of
TileLang's device headers, and every form of every instruction in Apache TVM's table of PTX.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.rows import elsewhere, lookup
from smemreuse.semantics.rows.device_functions import FUNCTIONS, inside
from smemreuse.semantics.rows.positions import positions
from tests.semantics.device_headers import device_functions


def _has_apache_tvm() -> bool:
    """TileLang has a package called `tvm` too, so the distribution counts."""
    try:
        importlib.metadata.distribution("apache-tvm")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


needs_apache_tvm = pytest.mark.skipif(not _has_apache_tvm(), reason="Apache TVM is not installed")


def _registered(op_class: Any) -> Iterator[tuple[str, str, int]]:
    """Registered names without the namespace, names as printed, and numbers of operands."""
    for full in op_class.list_op_names():
        op = op_class.get(full)
        name = full if full.startswith("relax.") else full.partition(".")[2]
        type_first = op.get_attr("TScriptDtypePrintLocation") in (1, 2)
        count = -1 if op.num_inputs < 0 else op.num_inputs + type_first
        yield name, str(op.get_attr("TScriptPrinterName") or name), count


def _without_a_row(op_class: Any) -> list[str]:
    return [
        printed
        for name, printed, _ in _registered(op_class)
        if elsewhere(name) is None and lookup(printed) is None
    ]


def _beyond_the_operands(op_class: Any) -> list[str]:
    """Rows that name an operand which the registered operation does not have."""
    return [
        printed
        for name, printed, count in _registered(op_class)
        if elsewhere(name) is None and count >= 0
        for row in [lookup(printed)]
        if isinstance(row, Effect) and any(at >= count for at in positions(row) if at > 0)
    ]


# TileLang ---------------------------------------------------------------------------------------

# Registered with one operand; they have two.
_MISCOUNTED = {"all_of", "any_of"}


@pytest.mark.tilelang
def test_every_operation_of_tilelang_has_a_row() -> None:
    from tilelang import tvm

    assert len(tvm.ir.Op.list_op_names()) > 600
    assert _without_a_row(tvm.ir.Op) == []


@pytest.mark.tilelang
def test_rows_name_operands_that_tilelang_s_operations_have() -> None:
    from tilelang import tvm

    assert set(_beyond_the_operands(tvm.ir.Op)) == _MISCOUNTED


def _headers() -> list[Path]:
    import tilelang

    folder = Path(tilelang.__file__).parent / "src" / "tl_templates" / "cuda"
    return sorted(path for path in folder.rglob("*") if path.suffix in (".h", ".cuh", ".hpp"))


@pytest.mark.tilelang
def test_every_device_function_of_tilelang_has_a_row() -> None:
    found = {
        name: f"{path.name}:{line}" for path in _headers() for name, line in device_functions(path)
    }
    assert len(found) > 350
    missing = {
        name: place
        for name, place in found.items()
        if name not in FUNCTIONS and inside(name) is None
    }
    assert missing == {}


@pytest.mark.tilelang
def test_the_scan_finds_as_many_functions_as_the_headers_mark() -> None:
    text = "".join(path.read_text() for path in _headers())
    marks = text.count("TL_DEVICE ") + text.count("__device__ __forceinline__")
    found = sum(1 for path in _headers() for _ in device_functions(path))
    assert 0.95 * marks < found


@pytest.mark.tilelang
def test_every_function_of_the_library_that_has_a_row_is_there_or_was_once() -> None:
    """So a function that is renamed does not leave its row behind unseen."""
    found = {name for path in _headers() for name, _ in device_functions(path)}
    gone = {name for name in FUNCTIONS if name.startswith("tl::") and name not in found}
    once = {f"tl::gemm_{kind}" for kind in ("ss", "rs", "sr", "sp_ss", "sp_rs", "sp_sr")}
    once.add("tl::AllReduce::run_hopper")
    shapes = {name for name in gone if name.startswith(("tl::ptx_stmatrix_", "tl::load_shared_"))}
    shapes |= {name for name in gone if name.startswith("tl::store_shared_")}
    assert gone - once - shapes == set()


# Apache TVM -------------------------------------------------------------------------------------


@pytest.mark.tvm
@needs_apache_tvm
def test_every_operation_of_apache_tvm_has_a_row() -> None:
    import tvm

    assert len(tvm.ir.Op.list_op_names()) > 900
    assert _without_a_row(tvm.ir.Op) == []


@pytest.mark.tvm
@needs_apache_tvm
def test_rows_name_operands_that_apache_tvm_s_operations_have() -> None:
    import tvm

    assert _beyond_the_operands(tvm.ir.Op) == []


def _forms() -> Iterator[tuple[Any, Any, dict[str, str], tuple[str, ...]]]:
    """Apache TVM's table of PTX, its entries, and forms of each.

    Of tens of thousands, the first few, and those that differ from one of them in one or two words.
    """
    from tvm.backend.cuda.ptx import table

    for entry in table.TABLE.values():

        def is_legal(words: tuple[str, ...], entry: Any = entry) -> bool:
            return entry.check is None or not entry.check(table.mods(entry, words))

        choices = [(*([""] if slot.optional else []), *slot.choices) for slot in entry.slots]
        some = list(itertools.islice(filter(is_legal, itertools.product(*choices)), 3))
        near = [other for words in some for other in _near(words, choices)]
        nearer = [other for words in near[:20] for other in _near(words, choices)]
        for words in filter(is_legal, dict.fromkeys([*some, *near, *nearer])):
            yield table, entry, table.mods(entry, words), words


def _near(words: tuple[str, ...], choices: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """The forms with another word in one place."""
    for at, choice in enumerate(choices):
        for word in choice:
            yield (*words[:at], word, *words[at + 1 :])


def _called(table: Any, entry: Any, words: dict[str, str], *, pred: bool = False) -> Call:
    """An instruction as it is printed, with a variable for each operand."""
    count = sum(lanes for _, _, lanes in table.operand_layout(entry, words))
    operands: list[Expr] = [Var(f"x{at}") for at in range(count + pred)]
    texts = [Const(word) for word in words.values()]
    return Call(f"ptx.{table.escape_token(entry.family)}", (*operands, *texts, _marks(pred)))


def _marks(pred: bool) -> Const:
    return Const("pred" if pred else "")


def _effect(call: Call) -> Effect | None:
    row = lookup(call.op)
    return row(call) if callable(row) else row


@pytest.mark.tvm
@needs_apache_tvm
def test_every_form_of_a_ptx_instruction_is_understood() -> None:
    count = 0
    for table, entry, words, texts in _forms():
        count += 1
        for pred in (False, True):
            call = _called(table, entry, words, pred=pred)
            effect = _effect(call)
            assert effect is not None, (entry.name, texts)
            assert all(at < len(call.args) for at in positions(effect)), (entry.name, texts)
    assert count > 5000


@pytest.mark.tvm
@needs_apache_tvm
def test_what_a_ptx_instruction_writes_is_in_its_row() -> None:
    """Destinations are locals that are written; an address is never taken for one."""
    for table, entry, words, texts in _forms():
        effect = _effect(_called(table, entry, words))
        assert effect is not None
        for slot, first, lanes in table.operand_layout(entry, words):
            places = set(range(first, first + lanes))
            if slot.kind == "reg" and slot.rw != "r":
                assert places <= set(effect.writes_locals), (entry.name, texts)
            if slot.kind == "addr" and entry.family not in _OF_SEVERAL_FORMS:
                assert not places & set(effect.writes_locals), (entry.name, texts)


# A state may come in front of the address or a count behind it, and nothing tells which.
_OF_SEVERAL_FORMS = ("mbarrier",)


@pytest.mark.tvm
@needs_apache_tvm
def test_what_a_ptx_instruction_has_the_shared_address_of_it_accesses() -> None:
    for table, entry, words, texts in _forms():
        effect = _effect(_called(table, entry, words))
        assert effect is not None
        listed = {operand.at for operand in effect.operands}
        for slot, first, _ in table.operand_layout(entry, words):
            if slot.kind != "addr" or table.operand_space(slot, words) in _NO_SHARED_SPACE:
                continue
            known = first in listed or effect.handed_on or (slot.space or "") == "global"
            assert known or entry.family in _ADVICE, (entry.name, texts)


# In none of these is shared memory, but for addresses that do not say where they are.
_NO_SHARED_SPACE = ("global", "tmem", "local", "const", "param")
# Advice on caches, and fences that name an address.
_ADVICE = ("applypriority", "createpolicy", "discard", "fence", "prefetch", "prefetchu")


@pytest.mark.tvm
@needs_apache_tvm
def test_a_ptx_instruction_that_orders_says_how_or_why_not() -> None:
    for table, entry, words, texts in _forms():
        effect = _effect(_called(table, entry, words))
        assert effect is not None
        if entry.orders_memory:
            says = (effect.meeting, effect.mbarrier, effect.waits, effect.commits)
            touches = bool(effect.operands)
            assert any(says) or effect.fence or effect.words or touches, (entry.name, texts)


@pytest.mark.tvm
@needs_apache_tvm
def test_a_ptx_instruction_that_goes_on_behind_its_call_is_of_an_engine() -> None:
    """What reads or writes shared memory asynchronously, or in another block."""
    names = ("async", "mma_async")
    for table, entry, words, texts in _forms():
        effect = _effect(_called(table, entry, words))
        assert effect is not None
        spaces = {
            table.operand_space(slot, words)
            for slot, _, _ in table.operand_layout(entry, words)
            if slot.kind == "addr"
        }
        shared = any(space.startswith("shared") for space in spaces)
        if any(word in names for word in texts) and (shared or "mma_async" in texts):
            signals_only = bool(effect.mbarrier) and "mbarrier" in texts
            assert effect.engine is not Engine.THREAD or signals_only, (entry.name, texts)
        if any(word.startswith("multicast::cluster") for word in texts):
            assert effect.remote, (entry.name, texts)
