"""What a GPU can do in a cycle and in a second: the terms of a roofline, by card.

`Architecture` says what a block may have; a `Card` how fast what it does can go. Peaks are those of
dense operands; each card names where its numbers are from. The table is `cards.json`, in the form
that a card of one's own has, too (`read_card`).

Latencies are those of an idle card, by pointer chasing; under load they are longer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from smemreuse.errors import InputError, PlanError
from smemreuse.targets.architectures import Architecture, architecture
from smemreuse.targets.card_fields import checked_fields


@dataclass(frozen=True)
class Card:
    """Rates of one GPU. `clock` in Hz, rates in bytes or operations of one SM in a cycle.

    `tensor` is flops (a multiplication and an addition are two) of dense tensor operations by type
    of the operands, with sums of 32 bits; `fma` counts 32-bit multiply-adds of the CUDA cores,
    `special` what the special function units do (exp2, rsqrt). `dram` and `l2` are bytes a second
    of the whole card, `latency` cycles from a load's issue to its data, from DRAM and from L2.
    `port` is bytes that an SM gets from L2 in a cycle at most, `mma` what part of `tensor` the
    warp-wide instructions (`mma.sync`) reach. `tensor_clock` is the boost clock of tensor
    operations where it is another one, or 0. `assumed` names the fields that are not measured or
    published for this card, but for a neighbour.
    """

    name: str
    arch: str
    sms: int
    clock: float
    dram: float
    dram_bytes: int
    l2: float
    l2_bytes: int
    tensor: Mapping[str, float]
    source: str
    fma: int = 128
    special: int = 16
    shared: int = 128
    dram_latency: int = 800
    l2_latency: int = 280
    port: int = 64
    mma: float = 1.0
    tensor_clock: float = 0.0
    assumed: tuple[str, ...] = ()

    @cached_property
    def architecture(self) -> Architecture:
        """What its blocks may have."""
        return architecture(self.arch)

    def has_tensor_cores_for(self, dtype: str) -> bool:
        """Whether tensor operations take operands of this type."""
        return family(dtype) in self.tensor

    def peak(self, dtype: str) -> float:
        """Flops a second of tensor operations on `dtype`; of CUDA cores where there are none."""
        return self.rate(dtype) * self.sms * self.clock

    def rate(self, dtype: str) -> float:
        """Flops of one SM in a cycle of `clock`: fewer than `tensor` where that clock is lower."""
        of_an_sm = self.tensor.get(family(dtype))
        if of_an_sm is None:
            return 2.0 * self.fma
        return of_an_sm * (self.tensor_clock or self.clock) / self.clock

    def ridge(self, dtype: str) -> float:
        """Flops for each byte from DRAM from which on a kernel is not bound by that."""
        return self.peak(dtype) / self.dram

    @property
    def lanes(self) -> float:
        """Instructions of CUDA-core lanes a second, a multiply-add being one."""
        return self.fma * self.sms * self.clock

    @property
    def specials(self) -> float:
        """Special functions (exp2, rsqrt) a second."""
        return self.special * self.sms * self.clock

    @property
    def shared_bandwidth(self) -> float:
        """Bytes a second between the SMs' shared memory and themselves, all SMs together."""
        return self.shared * self.sms * self.clock


def family(dtype: str) -> str:
    """The type by whose name `Card.tensor` has its peak: `float8` for `float8_e4m3fn`."""
    for short in ("float8", "float4"):
        if dtype.startswith(short):
            return short
    return "int8" if dtype == "uint8" else dtype


def _card(given: Mapping[str, object]) -> Card:
    """Of fields that were checked."""
    return Card(**{**given, "assumed": tuple(given.get("assumed", ()))})  # type: ignore[arg-type]


def _shipped() -> dict[str, Card]:
    text = (files("smemreuse.targets") / "cards.json").read_text(encoding="utf-8")
    return {name: _card(checked_fields(given)) for name, given in json.loads(text).items()}


CARDS: Mapping[str, Card] = _shipped()
"""By name. The first of an architecture is the one meant where only that is named."""
H200 = CARDS["h200"]


def card(name: str) -> Card:
    """By its name in the table, however it is written: `H100-PCIe`, `rtx 5090`.

    Raises `PlanError` for one that is not there.
    """
    known = {_plain(one): found for one, found in CARDS.items()}
    found = known.get(_plain(name))
    if found is None:
        raise PlanError(
            f"unknown card {name!r}; choose one of {', '.join(CARDS)}, or name a JSON file"
        )
    return found


def _plain(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


def card_for(arch: str, wanted: Card | str | None = None) -> Card:
    """The card that is wanted, by itself, by name or in a file; else the first of an architecture.

    Each architecture in the table has one. Raises `PlanError` for a name that is not known, and
    `InputError` for a file that has no card.
    """
    if isinstance(wanted, Card):
        return wanted
    if wanted is not None:
        is_file = wanted.endswith(".json") or Path(wanted).is_file()
        return read_card(wanted) if is_file else card(wanted)
    return next(one for one in CARDS.values() if one.arch == arch)


def read_card(file: str) -> Card:
    """A card of one's own: a JSON object with the fields of `Card`.

    With `"like": "h200"` it takes from that card what it does not say itself. Raises `InputError`
    with the file, the key and the fix.
    """
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text; give a card in JSON", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", file=file, line=error.lineno) from None
    except (RecursionError, ValueError):
        raise InputError("not a card: nested too deeply, or a number too long", file=file) from None
    try:
        return _card(checked_fields(_filled(given)))
    except (InputError, PlanError) as error:
        raise InputError(error.message, file=file) from None


def _filled(given: object) -> object:
    """With what the card that it is `like` has."""
    if not isinstance(given, dict) or "like" not in given:
        return given
    like = given["like"]
    if not isinstance(like, str):
        raise InputError(f'like is {like!r}; name a card, such as "h200"')
    model = card(like)
    taken = {one.name: getattr(model, one.name) for one in fields(Card)}
    own = {key: value for key, value in given.items() if key != "like"}
    source = f"its owner; what is not given is the {model.name}'s: {model.source}"
    return {**taken, "source": source, "assumed": list(model.assumed), **own}
