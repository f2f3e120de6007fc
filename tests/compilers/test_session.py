"""What all doors have in common, without a compiler."""

from __future__ import annotations

import gc

import pytest

from smemreuse.compilers.session import collector_paused


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_rests_and_is_left_as_it_was(was_on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
        with pytest.raises(KeyError):
            _fail_within()
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()


def _fail_within() -> None:
    with collector_paused():
        raise KeyError
