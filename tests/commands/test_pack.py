"""`smemreuse pack`: the planner alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.commands.running import assert_one_line_error, run

# Three ranges that are all live at once in pairs; a fourth fits beneath.
ROWS = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"

# The first greedy order takes 14 bytes, another one 13.
SLACK = "id,lower,upper,size\na,1,4,4\nb,3,5,6\nc,1,2,1\nd,0,2,4\ne,1,3,4\n"


def table(tmp_path: Path, text: str, name: str = "ranges.csv") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def offsets(text: str) -> dict[str, int]:
    return {row["id"]: int(row["offset"]) for row in csv.DictReader(io.StringIO(text))}


def test_the_same_rows_with_offsets(tmp_path: Path) -> None:
    result = run("pack", table(tmp_path, ROWS))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert [line.rsplit(",", 1)[0] for line in lines[1:]] == ROWS.splitlines()[1:]
    found = offsets(result.stdout)
    assert max(found.values()) == 8
    assert found["b1"] == found["b2"]
    assert "5 ranges in 12 bytes, lower bound 12: proved smallest" in result.stderr


def test_columns_in_any_order_and_others_are_kept(tmp_path: Path) -> None:
    text = "size,note,id,alignment,upper,lower\n5,first,a,16,2,0\n3,second,b,16,2,0\n"
    result = run("pack", table(tmp_path, text))
    assert result.stdout.splitlines()[0] == "size,note,id,alignment,upper,lower,offset"
    assert sorted(offsets(result.stdout).values()) == [0, 16]
    assert "proved smallest" in result.stderr


def test_packed_again(tmp_path: Path) -> None:
    first = run("pack", table(tmp_path, ROWS))
    again = run("pack", table(tmp_path, first.stdout, "again.csv"))
    assert again.stdout == first.stdout


@pytest.mark.parametrize(
    ("capacity", "code", "words"),
    [
        (12, 0, "proved smallest"),
        (20, 0, "12 bytes"),
        (11, 1, "does not fit into 11 bytes (proved)"),
    ],
)
def test_a_capacity(tmp_path: Path, capacity: int, code: int, words: str) -> None:
    result = run("pack", table(tmp_path, ROWS), "--capacity", str(capacity))
    assert result.exit_code == code
    assert words in result.stderr
    assert len(offsets(result.stdout)) == 5


def test_what_is_not_proved_is_said(tmp_path: Path) -> None:
    """Sixty ranges that no greedy order packs to the bound, and no time to search."""
    rows = ["id,lower,upper,size"]
    for number in range(60):
        lower = number * 7 % 50
        rows.append(f"r{number},{lower},{lower + 3 + number % 11},{5 + number * 13 % 17}")
    path = table(tmp_path, "\n".join(rows) + "\n")
    result = run("pack", path, "--seconds", "0")
    assert (result.exit_code, "not proved smallest" in result.stderr) == (0, True)
    bound = result.stderr.split("lower bound ")[1].split(":")[0]
    tight = run("pack", path, "--seconds", "0", "--capacity", bound)
    assert tight.exit_code == 1
    assert f"no packing of {bound} bytes was found in " in tight.stderr
    assert "it is not proved that there is none" in tight.stderr


def test_what_was_proved_goes_without_time(tmp_path: Path) -> None:
    """The bound, and a search of all of a few."""
    few = "id,lower,upper,size,alignment\na,0,1,4,6\nb,0,1,4,6\nc,0,1,4,6\n"
    for capacity, words in ((11, "proved"), (15, "(proved)"), (16, "16 bytes")):
        result = run("pack", table(tmp_path, few), "--capacity", str(capacity))
        assert (result.exit_code, words in result.stderr) == (int(capacity < 16), True)


def test_a_capacity_that_fits_is_minimized_when_asked(tmp_path: Path) -> None:
    first = run("pack", table(tmp_path, SLACK), "--capacity", "20")
    assert (first.exit_code, "in 14 bytes" in first.stderr) == (0, True)
    smaller = run("pack", table(tmp_path, SLACK), "--capacity", "20", "--minimize")
    assert (smaller.exit_code, "proved smallest" in smaller.stderr) == (0, True)


def test_seconds_are_a_number_and_may_be_without_end(tmp_path: Path) -> None:
    path = table(tmp_path, ROWS)
    refused = run("pack", path, "--seconds", "nan")
    assert_one_line_error(refused.exit_code, refused.stdout, refused.stderr)
    assert "--seconds is nan; give a number" in refused.stderr
    assert "proved smallest" in run("pack", path, "--seconds", "inf").stderr


def test_an_output_file_is_not_overwritten(tmp_path: Path) -> None:
    path, out = table(tmp_path, ROWS), tmp_path / "out.csv"
    assert run("pack", path, "-o", str(out)).exit_code == 0
    assert run("pack", path, "-o", str(out)).exit_code == 2
    assert run("pack", path, "-o", str(out), "--force").exit_code == 0
    assert len(offsets(out.read_text())) == 5


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no column id, lower, upper, size"),
        ("id,lower,upper\n", 1, "no column size"),
        ("id,lower,upper,size,size\n", 1, "two columns are called 'size'"),
        ("id,lower,upper,size\na,0,1\n", 2, "3 fields for 4 columns"),
        ("id,lower,upper,size\na,0,1,x\n", 2, "size is 'x'; write a whole number"),
        ("id,lower,upper,size\na,0,1,-4\n", 2, "size is -4"),
        ("id,lower,upper,size\na,0,1,1e3\n", 2, "write a whole number"),
        ("id,lower,upper,size\na,3,1,4\n", 2, "upper is 1, before lower 3"),
        ("id,lower,upper,size\na,0,1,4\n\na,1,2,4\n", 4, "the id 'a' is that of line 2 too"),
        ("id,lower,upper,size,alignment\na,0,1,4,0\n", 2, "alignment is 0"),
        ("id,lower,upper,size\na,0,1,99999999999999999999999999\n", 2, "it must be 0 to"),
        ('id,lower,upper,size\n"a,0,1,4\n', 2, "not CSV"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, line: int, words: str) -> None:
    result = run("pack", table(tmp_path, text))
    assert result.exit_code == 2
    assert words in result.stderr
    assert f"ranges.csv:{line}: " in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_no_file_and_no_text(tmp_path: Path) -> None:
    assert run("pack", str(tmp_path / "none.csv")).exit_code == 2
    path = tmp_path / "binary.csv"
    path.write_bytes(b"\xff\xfe\x00")
    result = run("pack", str(path))
    assert (result.exit_code, "not UTF-8" in result.stderr) == (2, True)


def test_no_rows(tmp_path: Path) -> None:
    result = run("pack", table(tmp_path, "id,lower,upper,size\n"))
    assert (result.exit_code, result.stdout) == (0, "id,lower,upper,size,offset\n")
