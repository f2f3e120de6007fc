"""Cards: units against data sheets, and cards of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from smemreuse.errors import InputError, PlanError
from smemreuse.targets.architectures import ARCHITECTURES
from smemreuse.targets.card_fields import TENSOR_TYPES
from smemreuse.targets.cards import CARDS, H200, Card, card, card_for, family, read_card

SHEETS: Mapping[str, Mapping[str, float]] = {
    "v100": {"float16": 125, "float32": 15.7},
    "xavier": {"float16": 11, "int8": 22, "float32": 1.41},
    "t4": {"float16": 65, "int8": 130, "int4": 260, "float32": 8.1},
    "a100": {"float16": 312, "tfloat32": 156, "int8": 624, "int4": 1248, "float32": 19.5},
    "a100-40gb": {"float16": 312, "bfloat16": 312, "float32": 19.5},
    "a10": {"float16": 125, "tfloat32": 62.5, "int8": 250, "int4": 500, "float32": 31.2},
    "rtx3090": {"float16": 71, "int8": 284, "float32": 35.6},
    "orin": {"int8": 85, "float32": 5.3},
    "l4": {"float16": 121, "float8": 242.5, "float32": 30.3},
    "l40s": {"float16": 362.05, "float8": 733, "float32": 91.6},
    "rtx4090": {"float16": 165.2, "float8": 330.3, "int8": 660.6, "float32": 82.6},
    "h100": {"float16": 989.4, "tfloat32": 494.7, "float8": 1978.9, "float32": 66.9},
    "h100-pcie": {"float16": 756, "float8": 1513, "float32": 51.2},
    "h200": {"float16": 989, "int8": 1979, "float32": 67},
    "b200": {"float16": 2250, "float8": 4500, "float4": 9000, "float32": 75},
    "b300": {"float16": 2250, "float8": 4500, "float4": 13500, "float32": 75},
    "thor": {"float8": 517, "float4": 1035, "float32": 8.064},
    "rtx5090": {"float16": 209.5, "float8": 419, "int8": 838, "float4": 1676, "float32": 104.8},
    "rtxpro6000": {"float16": 503.8, "float8": 1007.6, "float4": 2015.2, "float32": 126},
    "gb10": {"float4": 500, "float32": 31},
}
"""Dense TFLOPS as NVIDIA's data sheets and white papers print them; sparse ones halved."""


@pytest.mark.parametrize("name", CARDS)
def test_peaks_come_to_what_the_data_sheet_says(name: str) -> None:
    """Flops of an SM in a cycle x SMs x cycles a second, within 3 %."""
    for dtype, tera in SHEETS[name].items():
        assert CARDS[name].peak(dtype) == pytest.approx(tera * 1e12, rel=0.03), dtype


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_has_a_card(arch: str) -> None:
    assert card_for(arch).arch == arch
    assert card_for(arch).architecture is ARCHITECTURES[arch]
    assert card_for(arch, H200) is card_for(arch, "H200") is H200


@pytest.mark.parametrize("found", CARDS.values(), ids=CARDS)
def test_units(found: Card) -> None:
    """A slip by a factor of 1,000, or bytes for bits, would show."""
    assert 1e9 < found.clock < 3e9
    assert 0.8 < (found.tensor_clock or found.clock) / found.clock <= 1
    assert 1e11 < found.dram < 1e13
    assert found.dram < found.l2 < found.shared_bandwidth
    assert found.l2 / found.sms / found.clock <= 64, "what the port of an SM takes in a cycle"
    assert found.l2_bytes < 2**28 < 2**33 < found.dram_bytes < 2**39
    assert found.l2_latency < found.dram_latency < 1000
    assert set(found.tensor) <= set(TENSOR_TYPES)
    assert found.ridge("float16") == found.peak("float16") / found.dram
    assert found.rate("float16") <= found.tensor["float16"]
    assert found.rate("float32") == 2 * found.fma


@pytest.mark.parametrize("found", CARDS.values(), ids=CARDS)
def test_every_card_says_where_its_numbers_are_from(found: Card) -> None:
    assert "NVIDIA" in found.source
    assert set(found.assumed) <= {one.name for one in fields(Card)}
    told = " by " in found.source or "as half" in found.source or "come to" in found.source
    assert told or not found.assumed


@pytest.mark.parametrize("written", ["h200", "H200", "H 2_0-0"])
def test_names_however_they_are_written(written: str) -> None:
    assert card(written) is H200 is CARDS["h200"]
    assert card("RTX PRO 6000").arch == "sm_120"


def test_an_unknown_card_is_named() -> None:
    with pytest.raises(PlanError, match=r"unknown card 'h300'; choose one of v100, .* JSON file"):
        card("h300")


def test_types_of_one_peak() -> None:
    for dtype in ("float8", "float8_e4m3", "float8_e4m3fn", "float8_e5m2"):
        assert H200.peak(dtype) == H200.peak("int8") == H200.peak("uint8")
    assert family("float4_e2m1fn") == "float4"
    assert not card("a100").has_tensor_cores_for("float8_e4m3")
    assert card("a100").peak("float8_e4m3") == 2 * card("a100").lanes


# Cards of one's own ---------------------------------------------------------------------------


def written(tmp_path: Path, given: object) -> str:
    path = tmp_path / "mine.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given))
    return str(path)


@pytest.mark.parametrize("found", CARDS.values(), ids=CARDS)
def test_what_is_written_is_read(found: Card, tmp_path: Path) -> None:
    assert read_card(written(tmp_path, asdict(found))) == found


def test_a_card_like_another(tmp_path: Path) -> None:
    mine = read_card(written(tmp_path, {"like": "h200", "name": "slow", "clock": 1e9}))
    assert (mine.name, mine.clock, mine.sms) == ("slow", 1e9, H200.sms)
    assert mine.source.startswith("its owner; what is not given is the H200 SXM's: NVIDIA")
    given = {"like": "h200", "dram_latency": 600, "assumed": []}
    path = written(tmp_path, given)
    assert read_card(path).assumed == ()
    assert card_for("sm_80", path) == read_card(path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "mine.json:1: not JSON"),
        ("[" * 100_000, "not a card"),
        ("1" * 5000, "not a card"),
        ([], "not a card; write a JSON object"),
        ({}, "name, arch, source, sms, dram_bytes"),
        ({"like": "h300"}, "unknown card 'h300'"),
        ({"like": 3}, 'like is 3; name a card, such as "h200"'),
        ({"like": "h200", "clocks": 1e9}, "there is no key 'clocks'; did you mean clock?"),
        ({"like": "h200", "colour": "red"}, "there is no key 'colour'; keys are name"),
        ({"like": "h200", "arch": "sm_60"}, "arch is 'sm_60'; choose one of sm_70"),
        ({"like": "h200", "name": " "}, "name is ' '; write a text"),
        ({"like": "h200", "sms": 1.5}, "sms is 1.5; write a whole number"),
        ({"like": "h200", "sms": 0}, "sms is 0; it must be 1 to"),
        ({"like": "h200", "sms": True}, "sms is True; write a number"),
        ({"like": "h200", "clock": "fast"}, "clock is 'fast'; write a number"),
        ('{"like": "h200", "dram": Infinity}', "dram is inf; it must be"),
        ('{"like": "h200", "dram": NaN}', "dram is nan; it must be"),
        ({"like": "h200", "mma": 2}, "mma is 2; it must be 0.01 to 1"),
        ({"like": "h200", "dram": -1}, "dram is -1; it must be"),
        ({"like": "h200", "tensor": 4096}, 'such as {"float16": 4096}'),
        ({"like": "h200", "tensor": {"fp16": 1}}, "tensor has no type 'fp16'; choose of float16"),
        ({"like": "h200", "tensor": {"int8": "x"}}, "tensor.int8 is 'x'; write a number"),
        ({"like": "h200", "assumed": ["speed"]}, "assumed is ['speed']; write a list of keys"),
    ],
)
def test_what_is_wrong_with_a_card_is_told_with_its_mend(
    given: object, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read_card(written(tmp_path, given))
    assert words in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "mine.json"))
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_card(str(tmp_path / "none.json"))
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_card(str(tmp_path / "bytes.json"))
