"""The lines beside a map: a kernel's own part of its dump, and where its steps stand in it."""

from __future__ import annotations

from typing import Any

from smemreuse.report.page.listing import DUMP, STEPS, listing_of
from tests.report.made import entry

SOURCE = """\
@I.ir_module
class Module:
    @T.prim_func
    def host(A: T.handle):
        Module.gemm_kernel(A)

    @T.prim_func(private=True)
    def gemm_kernel(A: T.handle,
                    B: T.handle,
    ):
        for b in range(4):
            As[0] = 1
            Bs[0] = 1
            for k in range(8):
                acc[0] = As[0] + Bs[0]
            sync()
            Cs[0] = acc[0]
            out[0] = Cs[0]
        print("over")

    @T.prim_func
    def other(A: T.handle):
        pass
"""


def test_the_kernel_alone_of_its_file() -> None:
    found = listing_of(entry(source=SOURCE))
    assert (found.kind, found.first) == (DUMP, 7)
    assert found.lines[0] == "    @T.prim_func(private=True)"
    assert found.lines[-1] == '        print("over")'
    assert found.at == [11, 12, 13, 14, 15, 15, 17, 18, 18], "ends are at the last line inside"


def test_the_last_function_goes_to_the_end() -> None:
    whole = SOURCE[: SOURCE.index("\n    @T.prim_func\n    def other")]
    assert listing_of(entry(source=whole)).lines[-1] == '        print("over")'


def test_a_scope_without_a_block_of_its_own_ends_with_the_one_around_it() -> None:
    source = "def kernel():\n    tx = T.launch_thread(1)\n    As[0] = 1\n    Bs[0] = 1\nrest = 1\n"
    step = {"text": "", "depth": 0, "is_end": False, "touches": {}}
    steps = [{**step, "line": 2}, {**step, "line": 3}, {**step, "line": 2, "is_end": True}]
    assert listing_of({"source": source, "steps": steps}).at == [2, 3, 4]


def test_steps_are_listed_where_there_is_no_dump() -> None:
    given: dict[str, Any] = entry()
    for step in given["steps"]:
        step["line"] = None
    for source in ("", SOURCE):
        found = listing_of({**given, "source": source})
        assert (found.kind, found.first, [*found.at]) == (STEPS, 0, [*range(9)])
        assert found.lines[0] == "for b in serial(4)"
        assert found.lines[4] == "        acc[0] = As[0] + Bs[0]"


def test_a_source_that_is_not_the_dump_is_not_listed() -> None:
    assert listing_of(entry(source="def kernel():\n    pass\n")).kind == STEPS
