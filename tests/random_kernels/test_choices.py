"""Seeds give the same choices again, and a failing check comes back with fewer of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.random_kernels.choices import Pick, Recorder, run_seed, shrink, source_of


def numbers(pick: Pick) -> list[int]:
    return [pick(0, 9) for _ in range(pick(0, 40))]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_seed_gives_the_same_choices_again(seed: int) -> None:
    assert numbers(source_of(seed)) == numbers(source_of(seed))
    assert numbers(source_of(seed)) != numbers(source_of(seed + 2))


def test_odd_seeds_prefer_low_choices_and_make_all() -> None:
    for seed, is_even in ((2, True), (3, False)):
        pick = source_of(seed)
        made = [pick(1, 3) for _ in range(3000)]
        assert {*made} == {1, 2, 3}
        assert (made.count(1) < 1.2 * made.count(3)) is is_even


def test_what_was_recorded_is_made_again() -> None:
    recorder = Recorder(source_of(4))
    assert numbers(recorder.pick) == numbers(Recorder(given=recorder.made).pick)
    assert Recorder(given=[50, -1]).pick(0, 9) == 9, "a choice keeps within its bounds"


def test_shrinking_keeps_what_fails() -> None:
    assert shrink([3, 7, 1, 7, 2], lambda choices: 7 in choices) == [7]


def failing(sevens: int) -> Callable[[Pick], None]:
    def check(pick: Pick) -> None:
        found = numbers(pick)
        if found.count(7) >= sevens:
            raise ValueError(f"sevens\n{found}")
        if found.count(7) > 0:
            raise KeyError

    return check


def test_a_failure_comes_back_as_small_as_it_fails_in_the_same_way() -> None:
    seed = next(s for s in range(0, 100, 2) if numbers(source_of(s)).count(7) >= 4)
    with pytest.raises(ValueError, match="sevens") as raised:
        run_seed(seed, failing(2))
    smaller = str(raised.value).splitlines()[1]
    assert smaller == "[7, 7]"


def test_a_check_that_holds_runs_once() -> None:
    seen: list[int] = []
    run_seed(0, lambda pick: seen.append(pick(0, 9)))
    assert len(seen) == 1
