"""Threads that stay together."""

from __future__ import annotations

import numpy as np
import pytest

from smemreuse.checker.machine.agent import Agent
from smemreuse.semantics.evaluate import Threads

ALL, SOME = Threads(np.arange(4)), Threads(np.arange(2))


def test_some_of_the_threads_are_in_the_same_loops_and_in_the_same_doubt() -> None:
    part = Agent(ALL, (("k", 3),), partly=True).of(SOME)
    assert (part.threads, part.loops, part.partly) == (SOME, (("k", 3),), True)


def test_inside_an_arm_of_an_unknown_few_no_write_is_sure_whatever_stands_in_it() -> None:
    agent = Agent(ALL)
    with agent.in_part(True):
        assert agent.partly
        with agent.in_part(False):
            assert agent.partly
    assert not agent.partly
    with agent.in_part(False):
        assert not agent.partly


def test_the_doubt_ends_with_the_arm_even_if_it_is_given_up() -> None:
    agent = Agent(ALL)
    with pytest.raises(ValueError, match="given up"), agent.in_part(True):
        raise ValueError("given up")
    assert not agent.partly
