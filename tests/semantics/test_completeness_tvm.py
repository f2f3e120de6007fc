"""The table has a row, or a written reason, for all that the installed Apache TVM has.

For every operation that it registers; and every form of an instruction in its table of PTX is
understood as that table says it works.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import tvm
from tvm.backend.cuda.ptx import table
from tvm.tirx.script.builder import ir as builder

from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.semantics.effects import Effect, Engine
from smemreuse.semantics.rows import lookup
from smemreuse.semantics.rows.positions import positions
from tests.semantics.element_types import by_code, by_name, custom, of_another_size
from tests.semantics.registries import beyond_the_operands, without_a_row

pytestmark = pytest.mark.tvm


def test_every_operation_of_apache_tvm_has_a_row() -> None:
    assert len(tvm.ir.Op.list_op_names()) > 900
    assert without_a_row(tvm.ir.Op) == []


def test_rows_name_operands_that_apache_tvm_s_operations_have() -> None:
    assert beyond_the_operands(tvm.ir.Op) == []


def test_every_element_type_of_apache_tvm_has_a_size() -> None:
    names = [*by_code(tvm), *by_name(tvm, builder.__all__), *custom(tvm)]
    assert len(set(names)) > 200
    assert of_another_size(tvm, names) == {}


def _forms() -> Iterator[tuple[Any, dict[str, str], tuple[str, ...]]]:
    """The entries of Apache TVM's table of PTX, and forms of each.

    Of tens of thousands, the first few, and those that differ from one of them in one or two words.
    """
    for entry in table.TABLE.values():

        def is_legal(words: tuple[str, ...], entry: Any = entry) -> bool:
            return entry.check is None or not entry.check(table.mods(entry, words))

        choices = [(*([""] if slot.optional else []), *slot.choices) for slot in entry.slots]
        some = list(itertools.islice(filter(is_legal, itertools.product(*choices)), 3))
        near = [other for words in some for other in _near(words, choices)]
        nearer = [other for words in near[:20] for other in _near(words, choices)]
        for words in filter(is_legal, dict.fromkeys([*some, *near, *nearer])):
            yield entry, table.mods(entry, words), words


def _near(words: tuple[str, ...], choices: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """The forms with another word in one place."""
    for at, choice in enumerate(choices):
        for word in choice:
            yield (*words[:at], word, *words[at + 1 :])


def _called(entry: Any, words: dict[str, str], *, pred: bool = False) -> Call:
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


def test_every_form_of_a_ptx_instruction_is_understood() -> None:
    count = 0
    for entry, words, texts in _forms():
        count += 1
        for pred in (False, True):
            call = _called(entry, words, pred=pred)
            effect = _effect(call)
            assert effect is not None, (entry.name, texts)
            assert all(at < len(call.args) for at in positions(effect)), (entry.name, texts)
    assert count > 5000


def test_what_a_ptx_instruction_writes_is_in_its_row() -> None:
    """Destinations are locals that are written; an address is never taken for one."""
    for entry, words, texts in _forms():
        effect = _effect(_called(entry, words))
        assert effect is not None
        for slot, first, lanes in table.operand_layout(entry, words):
            places = set(range(first, first + lanes))
            if slot.kind == "reg" and slot.rw != "r":
                assert places <= set(effect.writes_locals), (entry.name, texts)
            if slot.kind == "addr" and entry.family not in _OF_SEVERAL_FORMS:
                assert not places & set(effect.writes_locals), (entry.name, texts)


# A state may come in front of the address or a count behind it, and nothing tells which.
_OF_SEVERAL_FORMS = ("mbarrier",)


def test_what_a_ptx_instruction_has_the_shared_address_of_it_accesses() -> None:
    for entry, words, texts in _forms():
        effect = _effect(_called(entry, words))
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


def test_a_ptx_instruction_that_orders_says_how_or_why_not() -> None:
    for entry, words, texts in _forms():
        effect = _effect(_called(entry, words))
        assert effect is not None
        if entry.orders_memory:
            says = (effect.meeting, effect.mbarrier, effect.waits, effect.commits)
            touches = bool(effect.operands)
            fences = effect.fence or effect.fences_mbarriers
            assert any(says) or fences or effect.words or touches, (entry.name, texts)


def test_a_ptx_instruction_that_goes_on_behind_its_call_is_of_an_engine() -> None:
    """What reads or writes shared memory asynchronously, or in another block."""
    names = ("async", "mma_async")
    for entry, words, texts in _forms():
        effect = _effect(_called(entry, words))
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
