"""Hazards that data decide on, and the inputs for which they come about."""

from __future__ import annotations

import pytest

from smemreuse.checker.slice import ProgramSlice
from smemreuse.checker.values.given import AffineElements
from smemreuse.linter.inputs import Deciding
from smemreuse.results.hazards import Given, HazardKind, LintStatus, hazard_sentence
from smemreuse.semantics.accesses import KernelAccesses
from tests.checker.small import COPY_A, SYNC, kernel_of, under
from tests.linter.test_linter import report_on

MINE = "As[tx] = tx\n"
READ = "O[tx] = As[tx]\n"
ACROSS = "O[tx] = As[63 - tx]\n"


def shown(body: str, elements: int = 64) -> set[tuple[str, str]]:
    """The certain hazards of a small kernel, each with its condition."""
    report = report_on(kernel_of(body, elements=elements))
    return {(str(one.kind), one.condition) for one in report.hazards if one.certain}


@pytest.mark.parametrize(
    ("body", "hazards"),
    [
        (under("if D[0] == 0", MINE) + READ, {"every element of X is 1"}),
        (under("if D[0] != 0", MINE) + READ, {"every element of X is 0"}),
        (under("if D[tx] < 0", READ), {"every element of X is -1"}),
        (under("if D[0] > 5", READ), set()),  # none of the numbers that are tried
        (under("if D[0] > D[1]", READ), set()),
        # What holds for all that is given needs no inputs.
        (READ, {""}),
        # The same data decide both, or they decide neither.
        (under("if D[0] > 0", MINE) + SYNC + under("if D[0] > 0", READ), set()),
        # Loops of a length that elements of an array tell of: each sequence begins where one ends.
        (
            under("for k in range(D[1] - D[0])", under("if D[9] > 0", MINE + ACROSS)),
            {"X[i] is 256 * i"},
        ),
        (
            under("for k in range(D[0])", under("if k == D[0] - 1", READ)),
            {"every element of X is 256"},
        ),
        (
            under("for k in range(D[0], D[1])", under("if k == 0", READ)),
            {"X[i] is 256 * i"},
        ),
    ],
)
def test_a_hazard_is_certain_for_inputs_that_show_it(body: str, hazards: set[str]) -> None:
    assert {condition for _, condition in shown(body)} == hazards


def test_what_is_certain_anyhow_is_told_without_inputs() -> None:
    body = MINE + ACROSS + under("if D[0] > 0", SYNC)
    assert shown(body) == {("race", "")}


def test_the_status_is_that_of_a_certain_hazard() -> None:
    report = report_on(kernel_of(under("if D[0] == 0", MINE) + READ))
    assert report.status is LintStatus.HAZARDS
    (hazard,) = report.hazards
    assert (hazard.certain, hazard.is_unconditional) == (True, False)
    assert hazard_sentence(hazard).startswith(
        "uninitialised-read (certain by PTX if every element of X is 1; in the source): thread 0 "
        "reads"
    )


def test_the_table_that_a_kernel_is_given_may_be_a_permutation() -> None:
    """What decides places in shared memory stays open."""
    assert shown("As[D[tx]] = tx\n" + SYNC + READ) == set()
    assert shown("As[tx] = 0\n" + SYNC + "As[D[tx] & 63] = tx\n" + SYNC + READ) == set()
    kept = 'at = T.alloc_buffer((1,), "int32", scope="local.var")\nat[0] = D[tx]\n'
    assert shown(kept + under("if at[0] > 0", "As[at[0]] = tx\n")) == set()


def test_what_the_kernel_writes_is_no_input() -> None:
    assert shown("D[0] = 1\n" + SYNC + under("if D[0] == 0", MINE) + READ) == set()


def test_a_mask_that_is_kept_in_shared_memory_is_known_where_its_source_is() -> None:
    """As in sparse attention: whether an index is one is kept, and asked by who loads."""
    mask = "Bs[tx] = T.Cast('int32', D[tx] >= 0)\n"
    filled = under("if Bs[tx] != 0", MINE) + under("else", "As[tx] = 0\n")
    assert shown(mask + filled + SYNC + ACROSS) == set()
    assert shown(mask + filled + ACROSS) == {("race", "every element of X is 0")}
    twice = mask + f"Bs[tx] = Bs[tx] + 1\n{filled}{ACROSS}"
    assert not any(condition for _, condition in shown(twice))


def test_rounds_that_differ_in_what_they_load_are_not_left_out() -> None:
    """`D[k]` is another number in each round: the hazard is in the thirtieth alone."""
    inner = under("for j in range(D[k + 1] - D[k])", "O[tx] = j\n")
    body = under("for k in range(40)", inner + under("if D[k] == 256 * 30", READ))
    assert shown(body) == {("uninitialised-read", "X[i] is 256 * i")}


def test_a_hazard_is_certain_for_the_block_that_shows_it() -> None:
    """Where the block's index decides places, each of its kinds is looked at by itself."""
    copy = COPY_A.replace("As.data, tx", "As.data, (bx % 2) * 64 + tx")
    body = copy + "T.ptx_commit_group()\n{}" + SYNC + "O[tx] = As[(bx + 1) % 2 * 64 + 63 - tx]\n"
    kernel = kernel_of(body.format("T.ptx_wait_group(0)\n"), elements=128, blocks=4)
    assert {(one.kind, one.certain) for one in report_on(kernel).hazards} == {
        (HazardKind.UNINITIALISED_READ, True)
    }


def test_arguments_and_arrays_are_told_apart() -> None:
    assert str(Given("n", 4096)) == "n is 4096"
    assert str(Given("mask", 0, is_array=True)) == "every element of mask is 0"
    assert str(Given("begin", 0, 256, is_array=True)) == "begin[i] is 256 * i"
    assert str(Given("begin", 3, 256, is_array=True)) == "begin[i] is 3 + 256 * i"


def test_the_later_of_two_lengths_is_the_larger_one() -> None:
    """The first may be where a sequence begins, the second where it ends."""
    body = under("for k in range(n, m)", MINE)
    kernel = kernel_of(body, declared="n = T.int32()\nm = T.int32()\n")
    accesses = KernelAccesses.of(kernel.body)
    shared = {one for one in kernel.allocations() if one.scope.startswith("shared")}
    deciding = Deciding(ProgramSlice(kernel.body, shared, accesses.by_statement))
    first, second = deciding.inputs()
    for inputs, length in ((first, 256), (second, 8)):
        told_ = {one.name: one.first for one in deciding.given(inputs)}
        assert told_ == {"n": length, "m": 2 * length}
    assert AffineElements(2, 3) == (2, 3)
