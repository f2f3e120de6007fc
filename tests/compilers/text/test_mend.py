"""`mend_text`: lines are put in, nothing else changes, and what comes out is clean."""

from __future__ import annotations

import difflib

import pytest

from smemreuse.audit import BarrierStage
from smemreuse.compilers.text import mend as written
from smemreuse.compilers.text.mend import MendedText, mend_text
from smemreuse.compilers.text.reader import parse_dump, read_dump
from smemreuse.compilers.text.rewrite import merge_text
from smemreuse.linter import lint
from smemreuse.results.hazards import LintReport
from tests.compilers.text.test_round_trip import outer
from tests.conftest import DUMPS, ROOT

FIXTURES = ROOT / "fixtures" / "lint"
PRESENT = BarrierStage.PRESENT

SAME_AS_THE_FIXTURE = (
    *("race_between_threads", "race_round_the_loop", "race_of_two_types"),
    *("refilled_without_fence", "stored_without_fence", "tma_store_not_waited_for"),
)


def source_of(name: str) -> str:
    return (FIXTURES / f"{name}.tir").read_text()


def mended(source: str, stage: BarrierStage = PRESENT) -> MendedText:
    return mend_text(parse_dump(source), stage)


def added(before: str, after: str) -> list[str]:
    """The lines that were put in; none may be taken out."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    assert not [line for line in lines if line.startswith("- ")]
    return [line[2:] for line in lines if line.startswith("+ ")]


@pytest.mark.parametrize("name", SAME_AS_THE_FIXTURE)
def test_it_is_what_the_fixture_beside_it_has(name: str) -> None:
    assert mended(source_of(name)).dump.source == source_of(f"{name}.mended")


def test_a_clean_dump_stays_as_it_is() -> None:
    dump = read_dump(DUMPS / "gemm.sm_80.tir")
    found = mend_text(dump)
    assert found.dump is dump
    assert [mending.mends for mending in found.mendings] == [()]


def test_the_indentation_is_that_of_the_block() -> None:
    source = source_of("refilled_without_fence")
    assert added(source, mended(source).dump.source) == [" " * 16 + "T.fence_proxy_async()"]


def test_a_wait_is_written_once_more_as_it_stands() -> None:
    source = source_of("tma_load_not_waited_for")
    (line,) = added(source, mended(source).dump.source)
    assert line.strip() == "T.mbarrier_wait_parity(mbarrier_1[0], 0)"


def test_a_phase_that_nobody_waits_for_is_written_by_its_mbarrier() -> None:
    source = source_of("tma_load_not_waited_for")
    source = source.replace("        T.mbarrier_wait_parity(mbarrier_1[0], 0)\n", "")
    found = mended(source)
    (line,) = added(source, found.dump.source)
    assert line.strip() == "T.mbarrier_wait_parity(mbarrier_1[0], 0)"
    assert [one.after.clean for one in found.mendings] == [True]


def test_the_name_of_the_script_is_that_of_the_file() -> None:
    source = source_of("stored_without_fence").replace("T.", "tirx.").replace(" as T", "")
    (line,) = added(source, mended(source).dump.source)
    assert line.strip() == "tirx.fence_proxy_async()"


def test_line_ends_are_those_of_the_file() -> None:
    source = source_of("stored_without_fence").replace("\n", "\r\n")
    assert mended(source).dump.source == source_of("stored_without_fence.mended").replace(
        "\n", "\r\n"
    )


def test_a_file_may_end_without_a_line_end() -> None:
    source = source_of("race_round_the_loop").rstrip("\n")
    found = mended(source).dump.source
    assert found == source_of("race_round_the_loop.mended").rstrip("\n") + "\n"


def test_a_merged_dump_is_mended_too() -> None:
    """Its buffers are taken apart to be looked at, and stay merged."""
    merged = merge_text(parse_dump(source_of("refilled_without_fence")), outer).source
    found = mended(merged)
    assert [line.strip() for line in added(merged, found.dump.source)] == ["T.fence_proxy_async()"]
    (kernel,) = found.dump.kernels
    assert lint(kernel, PRESENT).clean


def test_what_cannot_be_written_is_not_put_in() -> None:
    source = source_of("tma_load_not_waited_for").replace(
        "T.mbarrier_wait_parity(mbarrier_1[0], 0)", "T.mbarrier_wait_parity(mbarrier_1[0],\n  0)"
    )
    found = mended(source)
    assert found.dump.source == source
    (mending,) = found.mendings
    assert mending.mends == ()
    assert "has several lines" in mending.doubt
    assert [one.why for one in mending.unmended] == [mending.doubt]


def test_what_is_not_found_again_in_the_text_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the text had come out otherwise than it was meant."""
    source = source_of("stored_without_fence")

    def doubting(kernel: object, stage: object) -> LintReport:
        return LintReport("kernel", barriers_follow=False, unknown=("who knows",))

    monkeypatch.setattr(written, "lint", doubting)
    found = mended(source)
    assert found.dump.source == source
    assert (
        found.mendings[0].doubt
        == "lint finds unknown, not clean, in the text after the fixes were inserted"
    )


def test_of_two_kernels_the_one_is_mended_that_needs_it() -> None:
    one = source_of("stored_without_fence").rstrip("\n")
    body = one[one.index("    @T.prim_func") :].replace("def kernel", "def second")
    clean = body.replace(
        "        T.tvm_storage_sync",
        "        T.fence_proxy_async()\n        T.tvm_storage_sync",
        1,
    )
    source = f"{one}\n\n{clean}\n"
    found = mended(source)
    assert [len(mending.mends) for mending in found.mendings] == [1, 0]
    assert len(added(source, found.dump.source)) == 1
