"""What is told of a ranked space."""

import io
import json

from rich.console import Console

from smemreuse.report.ranking import ranking_data, ranking_lines
from tests.results.test_ranking import FOUND


def told() -> str:
    out = Console(file=io.StringIO(), width=140)
    for line in ranking_lines(out, "matmul", FOUND):
        out.print(line)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_first_few_in_their_order_and_what_became_of_the_others() -> None:
    text = told()
    places = [text.index(f"tile={tile}") for tile in (3, 2, 4)]
    assert places == sorted(places)
    assert "tile=1" not in text
    assert "4 launch; 1 ask for too much shared memory; 1 cannot be lowered" in text
    assert "of too much shared memory, the least is 300,000 of 232,448 bytes" in text
    assert "tile=4 (by reuse)" in text
    assert "1 not lowered: ValueError: no layout" in text
    assert "uncalibrated" in text
    assert "compiling all 6 takes about 19.2 s of a processor, the first 3 about 9.6 s" in text


def test_json_has_all_of_it() -> None:
    data = json.loads(json.dumps(ranking_data("matmul", FOUND), allow_nan=False))
    assert [one["config"]["tile"] for one in data["ranked"]] == [3, 2, 4, 1]
    assert data["too_large"] == [{"config": {"tile": 5}, "bytes": 300_000, "limit_bytes": 232_448}]
    assert data["failed"] == [{"config": {"tile": 6}, "error": "ValueError: no layout"}]
    (kernel,) = data["ranked"][0]["kernels"]
    assert kernel["bound_by"] == "tensor cores"
    assert kernel["terms_seconds"]["tensor cores"] == 1e-5
