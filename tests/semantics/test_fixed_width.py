"""Every evaluator of expressions against NumPy in the type of the text: equal, or unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemreuse.checker.values.interned import InternTable
from smemreuse.checker.values.vectors import Vectors
from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.expr import Call, Const, Expr, Var
from smemreuse.ir.kernel import Attr, Bind, For, walk_statements
from smemreuse.linter.value_numbers import ValueNumbering
from smemreuse.semantics.bounds import bounds
from smemreuse.semantics.elements import byte_offset, lane_of
from smemreuse.semantics.evaluate import Threads, Value, evaluate
from smemreuse.semantics.periodic import growth, moduli
from smemreuse.semantics.recurrences import EACH_ROUND, NoRecurrence, Recurrences
from tests.semantics.typed_expressions import ROUNDS, THREADS, TX, K, Typed, literal, typed

DIALECTS = {
    "tilelang": "# from tvm.script import tirx as T\n",
    "apache": "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n",
    "legacy": "# from tvm.script import tir as P\n",
}
NUMBERS = ("int32", "uint32", "int64", "uint8")


@dataclass(frozen=True)
class Read:
    """An expression as a reader gives it, with the variables in it."""

    expr: Expr
    tx: Var
    k: Var

    def threads(self) -> Threads:
        return Threads(np.arange(len(TX)), {self.tx: TX, self.k: K})


def read(expr: Typed, dialect: str, tx_type: str, k_type: str) -> Read:
    """The expression, written to a dump and read."""
    lanes, rounds = (
        str(count) if dtype == "int32" else f"T.{dtype}({count})"
        for count, dtype in ((THREADS, tx_type), (ROUNDS, k_type))
    )
    text = (
        "@T.prim_func\ndef main(n: T.int32):\n"
        '    S = T.alloc_buffer((64,), scope="shared.dyn")\n'
        f'    tx = T.launch_thread("threadIdx.x", {lanes})\n'
        f"    for k in T.serial({rounds}):\n"
        f"        v: T.let[T.{expr.dtype}] = {expr.text}\n"
        "        S[0] = T.float32(0.0)\n"
    )
    prefix = "P" if dialect == "legacy" else "T"
    source = DIALECTS[dialect] + text.replace("T.", f"{prefix}.")
    (kernel,) = parse_dump(source).kernels
    stmts = [*walk_statements(kernel.body)]
    (bound,) = (stmt.value for stmt in stmts if isinstance(stmt, Bind))
    (launch,) = (stmt.var for stmt in stmts if isinstance(stmt, Attr) and stmt.var is not None)
    (loop,) = (stmt.var for stmt in stmts if isinstance(stmt, For))
    return Read(bound, launch, loop)


def agrees(found: Value, expected: Typed, where: np.ndarray | None = None) -> bool:
    """Whether a value is unknown, or what NumPy says wherever C says something."""
    if found is None:
        return True
    mask = expected.defined if where is None else expected.defined & where
    values = np.broadcast_to(np.asarray(found, dtype=object), mask.shape)
    return bool(np.all(values[mask] == expected.exact[mask]))


@st.composite
def cases(draw: st.DrawFn, alike: bool = False) -> tuple[Typed, Read]:
    """Expressions of a thread and a round; if `alike`, of the type of the round."""
    tx_type, k_type = (draw(st.sampled_from(NUMBERS)) for _ in range(2))
    expr = draw(typed(tx_type, k_type, k_type if alike else ""))
    return expr, read(expr, draw(st.sampled_from([*DIALECTS])), tx_type, k_type)


@given(cases())
@settings(max_examples=200, deadline=None)
def test_threads_and_rounds_at_once(case: tuple[Typed, Read]) -> None:
    expected, found = case
    assert agrees(evaluate(found.expr, found.threads()), expected)
    assert agrees(Vectors(len(TX)).evaluate(found.expr, found.threads()), expected)


@given(cases(), st.integers(0, len(TX) - 1))
@settings(max_examples=200, deadline=None)
def test_a_form_with_numbers_given_for_its_variables(case: tuple[Typed, Read], at: int) -> None:
    expected, found = case
    table = InternTable()
    given_values = [(table(found.tx), int(TX[at])), (table(found.k), int(K[at]))]
    number = table.number(table(found.expr), given_values)
    assert agrees(number, expected, np.arange(len(TX)) == at)


@given(cases(alike=True), st.integers(0, THREADS - 1))
@settings(max_examples=200, deadline=None)
def test_what_holds_from_round_to_round(case: tuple[Typed, Read], thread: int) -> None:
    """Recurrences, moduli and growth, all of them for one thread."""
    expected, found = case
    mine = thread * ROUNDS + np.arange(ROUNDS)
    values, defined = expected.exact[mine], expected.defined[mine]
    if not defined.all():
        return

    def rows(expr: Expr, count: int) -> np.ndarray | None:
        at: dict[Var, Value] = {found.tx: thread, found.k: np.arange(count)}
        value = evaluate(expr, Threads(np.arange(count), at))
        return None if value is None else np.broadcast_to(value, (count,))

    try:
        known = Recurrences({found.k: EACH_ROUND}, rows)(found.expr)
    except NoRecurrence:
        pass
    else:
        later = values[known.first + known.period :] - values[known.first : -known.period]
        assert np.all(later == known.step)
    divisors = moduli(found.expr, lambda node: node is found.k)
    if divisors is not None:
        period = math.lcm(1, *divisors)
        assert np.all(values[period:] == values[:-period])
    changes = growth(found.expr, found.k)
    if changes is not None and expected.dtype != "bool":
        assert {*(values[1:] - values[:-1])} <= changes


@given(cases())
@settings(max_examples=200, deadline=None)
def test_ranges_and_value_numbers(case: tuple[Typed, Read]) -> None:
    expected, found = case
    values = expected.exact[expected.defined]
    within = bounds(found.expr, {found.tx: (0, THREADS - 1), found.k: (0, ROUNDS - 1)})
    if within is not None and expected.defined.all():
        assert within[0] <= values.min()
        assert values.max() <= within[1]
    threads = found.threads()
    hidden = Threads(threads.ids, {found.tx: TX})  # the round is not known, and the same for all
    number = ValueNumbering(hidden, lambda expr, asking: evaluate(expr, asking), set(), {found.k})(
        found.expr
    )
    if number is None:
        return
    for step in range(0, ROUNDS, 13):
        at = step == K
        known = expected.defined & at
        seen: dict[int, dict[int, int]] = {}
        pairs = zip(number.rest[known], number.number[known], expected.exact[known], strict=True)
        for rest, own, value in pairs:
            others = seen.setdefault(int(rest), {})
            assert others.setdefault(int(own), value) == value
        for others in seen.values():
            assert len(set(others.values())) == len(others)


@given(cases(), st.sampled_from(("float32", "float16", "uint8", "int64")))
@settings(max_examples=200, deadline=None)
def test_addresses_have_64_bits(case: tuple[Typed, Read], element: str) -> None:
    expected, found = case
    size = np.dtype(element).itemsize
    value = evaluate(byte_offset(found.expr, element), found.threads())
    if value is not None:
        places = np.broadcast_to(np.asarray(value, dtype=object), TX.shape)
        where = expected.defined
        assert np.all(places[where] == expected.exact[where] * size)


@given(st.data(), st.sampled_from(("uint32", "int32", "int64")), st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_a_lane_wraps_as_its_base(data: st.DataObject, dtype: str, lane: int) -> None:
    base = data.draw(typed("int32", "uint32", dtype, 2))
    stride = literal(data.draw(st.integers(0, 3)), dtype)
    found = read(base, "tilelang", "int32", "uint32")
    vector = Call("ramp", (found.expr, Const(int(stride.values[0]), dtype), Const(8)))
    value = evaluate(lane_of(vector, lane), found.threads())
    if value is not None:
        moved = (base.values + stride.values * np.array(lane, dtype=dtype)).astype(dtype)
        exact = base.exact + stride.exact * lane
        where = base.defined & ((exact == moved.astype(object)) | (dtype == "uint32"))
        places = np.broadcast_to(np.asarray(value, dtype=object), TX.shape)
        assert np.all(places[where] == moved.astype(object)[where])


@pytest.mark.parametrize("dialect", [*DIALECTS])
@pytest.mark.parametrize(
    ("text", "dtype", "expected"),
    [
        ("T.uint32(1) - T.uint32(2)", "uint32", 2**32 - 1),
        ("T.uint32(tx) - T.uint32(64)", "uint32", TX + 2**32 - 64),
        ("T.uint32(tx) - T.uint32(64) < T.uint32(64)", "bool", TX * 0),
        ("T.uint64(1) - T.uint64(2) < T.uint64(3)", "bool", None),
        ("T.uint8(200) + T.uint8(100)", "uint8", None),
        ("2147483647 + tx", "int32", None),
        ("T.int64(2147483647) + T.int64(tx)", "int64", TX + 2**31 - 1),
        ("T.uint32(tx) - 64 > -1", "bool", None),
        ("T.Cast('uint8', tx + 250)", "uint8", (TX + 250) % 256),
        ("T.Cast('int8', tx + 126)", "int8", (TX + 126 + 128) % 256 - 128),
        ("T.shift_left(T.uint32(3), T.uint32(31))", "uint32", 2**31),
        ("T.shift_right(T.uint32(4294967295), T.uint32(28))", "uint32", 15),
        ("T.uint32(-1)", "uint32", None),
        ("T.uint32(tx) + 4294967290", "uint32", None),  # 64 bits to C
        ("4294967290 + tx", "int64", TX + 2**32 - 6),
        ("T.uint64(18446744073709551615)", "uint64", None),
        ("~T.uint32(tx)", "uint32", 2**32 - 1 - TX),
        ("0x10 + 0b11 + 0o7 + 1_000", "int32", 1026),
    ],
)
def test_of_each_dialect(text: str, dtype: str, expected: object, dialect: str) -> None:
    found = read(Typed(text, dtype, TX, TX == TX), dialect, "int32", "int32")
    value = evaluate(found.expr, found.threads())
    if expected is None:
        assert value is None
    else:
        assert value is not None
        assert np.all(np.asarray(value) == np.asarray(expected))
