"""What the processes of one run note of their kernels, in a folder that they share.

Each process has a file of its own and appends one JSON line for each thing that happens, written
at once, so that a process that crashes or is killed costs no more than its last line. Several lines
describe one kernel: it was lowered, then judged, then compiled; its key joins them, and those of
other processes that lowered the same.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from smemreuse.results.elaboration import Elaboration
from smemreuse.results.serialized import as_data, fields_from_data, from_data
from smemreuse.results.suite import TROUBLES, Suite, SuiteKernel, Trouble

_APPENDED = os.O_WRONLY | os.O_APPEND | os.O_CREAT

NO_POLICY = "none"
"""Nothing is changed; the merges of the compiler are judged."""


@dataclass(frozen=True)
class Settings:
    """One run: the folder of its records, and what is done to each kernel.

    `dump` is the folder for what merges receive; `arch` what is lowered for where there is no GPU,
    if `lower_only`. With `drawn` what a page needs is put there too, with `linted` the hazards of
    the kernels themselves are noted.
    """

    folder: str = ""
    policy: str = "dataflow"
    packer: str = "best"
    objective: str = "speed"
    strict: bool = False
    mend: bool = False
    dump: str | None = None
    lower_only: bool = False
    arch: str | None = None
    drawn: bool = False
    linted: bool = False

    @property
    def audits_only(self) -> bool:
        return self.policy == NO_POLICY

    def received(self, function: str) -> Path:
        """The file with what a merge received, by what distinguishes it from others."""
        return Path(self.folder, f"{function}.tir")

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Settings:
        """What `as_text` gave."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Recorder:
    """Appends to the file of the process that it is in; forked ones have their own."""

    folder: Path

    def note(self, event: str, **data: Any) -> None:
        """One line. What cannot be written, as after the end of the run, is dropped."""
        pid, thread = os.getpid(), threading.get_ident()
        found = {"event": event, "pid": pid, "thread": thread, **data}
        line = json.dumps(found).encode() + b"\n"
        with suppress(OSError):
            place = os.open(self.folder / f"{pid}.jsonl", _APPENDED, 0o666)
            try:
                os.write(place, line)
            finally:
                os.close(place)

    def lowered(self, key: str, elaboration: Elaboration | None = None, **fields: Any) -> None:
        """A kernel was lowered once more, by a call of Python that is known or not; `fields` as for
        `known`, its footprint among them."""
        self.note("lowered", key=key, elaboration=as_data(elaboration), fields=as_data(fields))

    def known(self, key: str, **fields: Any) -> None:
        """What is known of a kernel that was lowered, by the names of `SuiteKernel`'s fields."""
        self.note("known", key=key, fields=as_data(fields))


def read_suite(folder: Path) -> Suite:
    """What all processes of a run have noted in its folder."""
    suite, kernels = Suite(), dict[str, SuiteKernel]()
    lowered, reloaded = set[str](), dict[str, str]()
    for file in sorted(folder.glob("*.jsonl")):
        begun = dict[int, str]()
        for line in file.read_bytes().splitlines(keepends=True):
            try:
                found = json.loads(line)
                _take(suite, kernels, found)
                begun.pop(found.get("thread"), None)
                if found["event"] == "received":
                    begun[found["thread"]] = found["name"]
                if found["event"] == "compiling":
                    lowered.add(found["source"])
                elif found["event"] == "reloaded":
                    reloaded[found["source"]] = found["name"]
            except (ValueError, KeyError, TypeError):  # it was cut short, or what it builds on was
                suite.lost += 1
        suite.unfinished += begun.values()
    suite.reloaded = sorted(name for source, name in reloaded.items() if source not in lowered)
    suite.kernels = sorted(kernels.values(), key=lambda each: (each.name, -_bytes(each)))
    return suite


def _take(suite: Suite, kernels: dict[str, SuiteKernel], found: dict[str, Any]) -> None:
    """Takes one note in, whatever came before it."""
    event = found["event"]
    if event in ("lowered", "known"):
        key, known = found["key"], fields_from_data(SuiteKernel, found["fields"])
        if event == "lowered":
            kernel = kernels.setdefault(key, SuiteKernel(known["footprint"], key=key))
            kernel.lowered += 1
            kernel.processes.add(found["pid"])
            _add_elaboration(kernel, found.get("elaboration"))
        for name, value in known.items():
            setattr(kernels[key], name, value)
    elif event == "stopped":
        suite.stopped += 1
    elif event in TROUBLES:
        getattr(suite, event)[Trouble(found["name"], found["why"])] += 1
    elif event == "blind":
        suite.blind.append(Trouble(found["name"], found["why"]))
        suite.unhooked += bool(found.get("unhooked"))


def _add_elaboration(kernel: SuiteKernel, data: Mapping[str, Any] | None) -> None:
    """One more call that made a kernel, if it is another one."""
    found = from_data(Elaboration, data) if data is not None else Elaboration()
    if found.is_known and found not in kernel.elaborations:
        kernel.elaborations.append(found)


def _bytes(kernel: SuiteKernel) -> int:
    return kernel.footprint.bytes_before or 0


def dumped(folder: Path, name: str, text: str) -> str:
    """The file of a folder that has `text`, a kernel as its merge receives it.

    It is written whole or not at all, and never over another: where a different kernel of that name
    is there, a number is added. Several processes may write at once.
    """
    draft = folder / f".{name}.{os.getpid()}.{id(text):x}"
    draft.write_text(text)
    try:
        for file in _free_names(folder, name):
            try:
                os.link(draft, file)
            except FileExistsError:
                if file.read_text() != text:
                    continue
            return file.name
    finally:
        draft.unlink()
    raise AssertionError("numbers do not end")


def _free_names(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}.tir"
    number = 2
    while True:
        yield folder / f"{name}-{number}.tir"
        number += 1
