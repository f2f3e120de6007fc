"""Names that a dump defines outside of a function's body: symbolic sizes, as Apache TVM prints
them, and constants."""

from __future__ import annotations

import pytest

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.errors import InputError
from smemreuse.ir.expr import Const, Expr, Var, walk
from smemreuse.ir.kernel import THREAD_EXTENT, Attr, Kernel, expressions_of, walk_statements
from smemreuse.ir.launch import UnknownThreads, thread_axes
from tests.compilers.text.texts import kernel_of

IMPORTS = "# from tvm.script import tirx as T\n"
FUNCTION = """\
@T.prim_func(s_tir=True)
def main({signature}):
    {first}
    bx = T.launch_thread("blockIdx.x", n)
    tx = T.launch_thread("threadIdx.x", 32)
    As = T.alloc_buffer((64,), scope="shared.dyn")
    Bs = T.alloc_buffer((n,), scope="shared.dyn")
    As[tx] = A[0, n - 1]
"""


def function(signature: str = 'A: T.Buffer((4, n), "float32")', first: str = "pass") -> str:
    return FUNCTION.format(signature=signature, first=first)


def sizes_of(kernel: Kernel) -> set[Expr]:
    """The variables that are called n, wherever they stand."""
    used = [expr for stmt in walk_statements(kernel.body) for expr in expressions_of(stmt)]
    shapes = [extent for buffer in kernel.allocations() for extent in buffer.shape]
    found = (node for expr in (*used, *shapes) for node in walk(expr))
    return {one for one in found if isinstance(one, Var) and one.name == "n"}


@pytest.mark.parametrize(
    ("outside", "signature", "first"),
    [
        ('n = TypeVar("n")\n', 'A: T.Buffer((4, n), "float32")', "pass"),
        ("n = T.int64()\n", 'A: T.Buffer((4, n), "float32")', "pass"),
        ("", 'A: T.Buffer((4, "n"), "float32")', "n = T.int32()"),
        ("", 'A: T.Buffer((1, "n")), B: T.Buffer((n, 4))', "n = T.int32()"),
        ("", 'A: T.Buffer((4, n), "float32")', "pass"),
        ("", 'A: T.Buffer((4, T.int64(2) * n), "float32")', "pass"),
        ("", "A: T.Buffer((4, n)), n: T.int32", "pass"),
        ("", "n: T.int32, A: T.Buffer((4, n))", "pass"),
        ("", "A: T.Buffer[(4, n), 'float32']", "pass"),
    ],
)
def test_a_symbolic_size_is_one_variable(outside: str, signature: str, first: str) -> None:
    source = IMPORTS + outside + function(signature, first)
    kernel = kernel_of(source)
    assert len(sizes_of(kernel)) == 1
    assert [buffer.size for buffer in kernel.allocations()] == [256, None]


def test_a_name_that_is_defined_outside_is_the_same_in_a_class() -> None:
    inside = "".join(f"    {line}\n" for line in function().splitlines())
    kernel = kernel_of(f'{IMPORTS}n = TypeVar("n")\n@I.ir_module\nclass Module:\n{inside}')
    assert len(sizes_of(kernel)) == 1


def test_a_number_that_is_defined_outside_is_that_number() -> None:
    kernel = kernel_of(f"{IMPORTS}n = 16\n{function()}")
    assert [buffer.size for buffer in kernel.allocations()] == [256, 64]


def test_a_variable_in_a_fragment_is_one_too() -> None:
    kernel = kernel_of(
        f'{IMPORTS}n = TypeVar("n")\nAs = T.alloc_buffer((n,), scope="shared.dyn")\nAs[n - 1] = 1\n'
    )
    assert len(sizes_of(kernel)) == 1
    assert [buffer.size for buffer in kernel.allocations()] == [None]


@pytest.mark.parametrize(
    ("outside", "signature", "line", "said"),
    [
        ("n = size_of(3)\n", "A: T.Buffer((4, 4))", 6, "which line 2 makes of `size_of(3)`"),
        ("", "A: T.Buffer((4, 4))", 5, "'n' is used but never defined"),
        ("", 'A: T.Buffer((4, "n + 1"))', 3, "the size 'n + 1' is neither a number nor a name"),
    ],
)
def test_what_is_not_known_is_refused_in_its_line(
    outside: str, signature: str, line: int, said: str
) -> None:
    with pytest.raises(InputError) as refused:
        parse_dump(IMPORTS + outside + function(signature), "k.tir")
    assert str(refused.value).startswith(f"k.tir:{line}: ")
    assert said in str(refused.value)


def attributes(body: str) -> list[tuple[str, Expr]]:
    launch = '    T.launch_thread("threadIdx.x", 1)\n'
    kernel = kernel_of(f"{IMPORTS}@T.prim_func\ndef f():\n{launch}{body}")
    return [
        (stmt.key, stmt.value)
        for stmt in walk_statements(kernel.body)
        if isinstance(stmt, Attr) and stmt.key != THREAD_EXTENT
    ]


def test_attributes_in_a_dictionary_are_nested_in_order() -> None:
    """As Apache TVM prints those of no node."""
    both = '{"async_wait_queue_scope": 0, "async_wait_inflight_count": 2}'
    for body in (
        f"    with T.attr({both}):\n        T.evaluate(0)\n",
        f"    T.attr({both})\n    T.evaluate(0)\n",
    ):
        assert attributes(body) == [
            ("async_wait_queue_scope", Const(0)),
            ("async_wait_inflight_count", Const(2)),
        ]


@pytest.mark.parametrize("given", ["T.attr({})", "T.attr({1: 2})", 'T.attr("key")', "T.attr()"])
def test_attributes_that_say_nothing_are_refused(given: str) -> None:
    with pytest.raises(InputError):
        attributes(f"    {given}\n    T.evaluate(0)\n")


AXIS = 'T.iter_var(threadIdx_y, T.Range(0, 8), "ThreadIndex", "threadIdx.y")'
LAUNCHES = (
    "T.launch_thread(threadIdx_y, 8)",
    'T.attr(threadIdx_y, "thread_extent", 8)',
    f'T.attr({AXIS}, "thread_extent", 8)',
)
BUFFER = 'As = T.alloc_buffer((64,), scope="shared.dyn")\n'


@pytest.mark.parametrize("launch", LAUNCHES)
def test_an_axis_is_known_by_its_variable(launch: str) -> None:
    """A fragment does not show where the variable was made an axis; its name tells."""
    source = f"{IMPORTS}{launch}\n{BUFFER}As[threadIdx_y] = 1\n"
    assert thread_axes(kernel_of(source).body) == {"threadIdx.y": 8}


def test_an_axis_of_any_other_name_may_be_any() -> None:
    source = f"{IMPORTS}T.launch_thread(t, 8)\n{BUFFER}As[0] = 1\n"
    with pytest.raises(UnknownThreads, match="which axis of the launch t is"):
        thread_axes(kernel_of(source).body)
