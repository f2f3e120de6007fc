"""What TileLang's tuner is given to tune, without a GPU."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from fixtures.spaces import SPACES
from scripts.tune_on_gpu import DEFAULT_SPACES, factory, listed

pytestmark = pytest.mark.tilelang


@pytest.mark.parametrize("space", DEFAULT_SPACES)
def test_the_tuner_finds_the_parameters_and_only_words_enclosed(space: str) -> None:
    family, shape = space.split(":")
    assert SPACES[family].is_held_out(shape)
    config = SPACES[family].configs(SPACES[family].shapes[shape])[0]
    kernel = factory(family, shape, list(config))
    assert list(inspect.signature(kernel).parameters) == list(config)
    assert all(isinstance(cell.cell_contents, str) for cell in kernel.__closure__ or ())
    assert (
        kernel(**config).attrs["global_symbol"]
        == SPACES[family].make(**SPACES[family].shapes[shape], **config).attrs["global_symbol"]
    )


def test_a_file_names_the_configurations_of_its_spaces(tmp_path: Path) -> None:
    path = tmp_path / "best.json"
    path.write_text(json.dumps({"gemm:square": [{"block_M": 64}]}))
    assert listed(path, "gemm:square") == [{"block_M": 64}]
    assert listed(path, "gemm:tall") is None
    assert listed(None, "gemm:square") is None
