"""Arms that groups of threads go through at the same time."""

from __future__ import annotations

import pytest

from smemreuse.explainer.timeline import timeline_of
from smemreuse.ir.access import Access
from smemreuse.results.timeline import Timeline
from tests.compilers.text.texts import BUFFERS, LAUNCH, dump, kernel_of

THREADS = 'tx = T.launch_thread("threadIdx.x", 128)\n'


def timeline(body: str) -> Timeline:
    return timeline_of(kernel_of(dump(LAUNCH + BUFFERS + THREADS + body)), "shared.dyn")


def branch(condition: str, indent: str = "") -> str:
    loop = "    for i in range(4):\n        As[i] = T.float32(0.0)\n"
    lines = f"if {condition}:\n{loop}".splitlines(keepends=True)
    return "".join(indent + line for line in lines)


ELSE = branch("tx < 32") + branch("tx >= 32").replace("if tx >= 32:", "else:")
SYNC = 'T.tvm_storage_sync("shared.dyn")\n'


@pytest.mark.parametrize(
    ("body", "arms"),
    [
        (ELSE, [("threads 0-31", 0), ("threads 32-127", 0)]),
        (
            branch("tx < 32") + branch("tx >= 64"),
            [("threads 0-31", 0), ("threads 64-127", 0)],
        ),
        (branch("tx < 64") + branch("tx >= 32"), []),
        (branch("tx < 32") + SYNC + branch("tx >= 32"), []),
        (branch("tx < 32"), []),
        (branch("As[0] < T.float32(1.0)") + branch("tx >= 32"), []),
        (
            "for k in range(4):\n" + "".join(f"    {line}\n" for line in ELSE.splitlines()),
            [("threads 0-31", 0), ("threads 32-127", 0)],
        ),
        (
            "if tx < 32:\n    for i in range(4):\n        As[i] = T.float32(0.0)\nelse:\n"
            + branch("tx < 64", "    ")
            + branch("tx >= 64", "    "),
            [
                ("threads 0-31", 0),
                ("threads 32-127", 0),
                ("threads 32-63", 1),
                ("threads 64-127", 1),
            ],
        ),
    ],
    ids=["else", "beside", "overlap", "barrier", "alone", "unknown", "loop", "nested"],
)
def test_arms_of_disjoint_threads_with_no_barrier_between(
    body: str, arms: list[tuple[str, int]]
) -> None:
    assert [(arm.threads, arm.depth) for arm in timeline(body).arms] == arms


def test_arms_stand_where_their_statements_do() -> None:
    found = timeline(branch("tx < 32") + branch("tx >= 64"))
    loops = [(band.begin, band.end) for band in found.bands if band.kind == "loop"]
    assert [(arm.begin, arm.end) for arm in found.arms] == loops


def test_what_threads_exchange_in_one_call_is_written_and_read() -> None:
    reduce = 'T.call_extern("float32", "tl::AllReduce<tl::SumOp, 128, 1>::run", v, {})'
    pointer = 'T.tvm_access_ptr(T.type_annotation("float32"), As.data, 0, 128, 3)'
    body = f"v: T.float32 = T.float32(0.0)\nT.evaluate({reduce.format(pointer)})\n"
    touches = [access for step in timeline(body).steps for access in step.touches.values()]
    assert touches == [Access.READ_WRITE]
