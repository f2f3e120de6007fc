"""The study of reads that a TMA load overtakes: which reads, and what is launched."""

from __future__ import annotations

import pytest

from smemreuse.reproduce.cuda import CROWD, QUEUE
from smemreuse.reproduce.queued import OVERTAKEN

pytestmark = pytest.mark.tilelang


def test_each_number_of_stores_is_launched_alone_and_crowded() -> None:
    from scripts.overtaken_on_gpu import STORES, hazards, variants
    from smemreuse.results.reproduction import MENDED

    ((kernel, hazard),) = hazards(("late_warps.py",))
    assert hazard.mechanism == OVERTAKEN
    made = variants(kernel, hazard)
    ways = ("alone", "crowded")
    assert [*made] == [MENDED, "0", *(f"{stores} {way}" for stores in STORES for way in ways)]
    assert made["0"] == kernel.original
    for stores in STORES:
        alone, crowded = (made[f"{stores} {way}"] for way in ways)
        assert f", {stores}, (j == 31));" in alone
        assert QUEUE in alone
        assert CROWD not in alone
        assert CROWD in crowded
