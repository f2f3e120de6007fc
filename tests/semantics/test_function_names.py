"""C++ names with template arguments, in their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smemreuse.semantics.rows.function_names import FunctionName, parse_name


@pytest.mark.parametrize(
    ("text", "path", "arguments"),
    [
        ("atomicAdd", "atomicAdd", ()),
        ("::tl::fill", "tl::fill", ()),
        ("tl::cp_async_wait<0>", "tl::cp_async_wait", ("0",)),
        ("tl::f< 1, (a > b), x<y, z> >", "tl::f", ("1", "(a > b)", "x<y, z>")),
        ("tl::f<>", "tl::f", ()),
        (
            "tl::AllReduce<tl::MaxOp, 4, 1, 128, tl::NamedBarrier<128>>::run",
            "tl::AllReduce::run",
            ("tl::MaxOp", "4", "1", "128", "tl::NamedBarrier<128>"),
        ),
        ("a<1>::b<2>", "a::b", ("1", "2")),
        ("a<1>::template b<2>", "a::b", ("1", "2")),
    ],
)
def test_a_name_is_its_path_and_its_arguments(
    text: str, path: str, arguments: tuple[str, ...]
) -> None:
    assert parse_name(text) == FunctionName(path, arguments)


@pytest.mark.parametrize(
    "text", ["", "1", "a b", "a<1", "a<1>>", "a::", "a<(1>)", "a->b", "a()", "a<1>b", "operator+"]
)
def test_what_is_no_name_is_none(text: str) -> None:
    assert parse_name(text) is None


@given(st.text(alphabet="ab:<>(), 1", max_size=12))
def test_any_text_is_a_name_or_none(text: str) -> None:
    found = parse_name(text)
    assert found is None or all(part.isidentifier() for part in found.path.split("::"))


def test_a_template_argument_may_be_a_number() -> None:
    name = FunctionName("f", ("12", "-1", "true"))
    assert [name.number(at) for at in (0, 1, 2, 3, -1, -2)] == [12, -1, None, None, None, -1]
