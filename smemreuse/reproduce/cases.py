"""One finding in one kernel: its variants, its files, and what launching them showed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from smemreuse.errors import BackendError
from smemreuse.reproduce.arguments import Argument
from smemreuse.reproduce.attempts import ZEROS, Attempt, attempts_of
from smemreuse.reproduce.cuda import require_original
from smemreuse.reproduce.running import Launching, Told, outcome_of
from smemreuse.reproduce.standalone import Standalone
from smemreuse.results.accepted import Identity
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.hazards import Hazard
from smemreuse.results.mending import Mending
from smemreuse.results.reproduction import (
    AS_IT_IS,
    DELAYED,
    MENDED,
    MENDED_DELAYED,
    ZEROED,
    Reproduction,
    Shown,
    shown_by,
)

PLAIN = Attempt("nothing is delayed")


class Reproducible(Protocol):
    """What a compiler's room knows of a kernel that a program has compiled."""

    @property
    def original(self) -> str:
        """Its CUDA."""

    @property
    def elaboration(self) -> Elaboration:
        """What made it."""

    @property
    def arguments(self) -> Sequence[Argument] | None:
        """With what it can be launched; None where that is not known."""

    @property
    def mendings(self) -> Sequence[Mending]:
        """What came of mending it."""

    @property
    def has_mends(self) -> bool:
        """Whether anything mends it."""

    @property
    def func(self) -> str:
        """The function that it comes from, as TVM writes it."""

    @property
    def target(self) -> Mapping[str, str]:
        """What it is compiled for."""

    @property
    def pass_configs(self) -> Mapping[str, Any]:
        """With which options."""

    def source(self, attempt: Attempt, *, mended: bool = False) -> str:
        """The CUDA with an attempt in it. Raises `BackendError` where it cannot be written."""


@dataclass(eq=False)
class Case:
    """A finding of a kernel, and the attempts that can be written into it.

    Lowering is not for several threads at once: `prepare` does all of it.
    """

    file: str
    kernel: Reproducible
    hazard: Hazard
    identity: Identity
    launching: Launching
    environment: Mapping[str, str]

    def prepare(self) -> None:
        """Makes all variants. Raises nothing: what cannot be written is in `refused`."""
        assert self.variants is not None

    @cached_property
    def variants(self) -> list[tuple[Attempt, dict[str, str]]]:
        """For each attempt that can be written the CUDA of the variants."""
        found = []
        for attempt in attempts_of(self.hazard):
            try:
                found.append((attempt, self._variants(attempt)))
            except BackendError as error:
                self.refused.append(f"{attempt.words}: {error}")
        return found

    @cached_property
    def refused(self) -> list[str]:
        """The attempts that cannot be written, and why."""
        return []

    @property
    def reference(self) -> str:
        """Which variant the others are held against: the mended kernel, where there is one."""
        if any(attempt.fill is not None for attempt in attempts_of(self.hazard)):
            return ZEROED
        return MENDED if self.kernel.has_mends else AS_IT_IS

    def _variants(self, attempt: Attempt) -> dict[str, str]:
        kernel = self.kernel
        found = {AS_IT_IS: kernel.original}
        if not attempt.is_plain:
            found[DELAYED] = kernel.source(attempt)
            require_original(found[DELAYED], kernel.original)
        if attempt.fill is not None:
            found[ZEROED] = kernel.source(replace(attempt, fill=ZEROS))
            require_original(found[ZEROED], kernel.original)
        elif kernel.has_mends:
            found[MENDED] = kernel.source(PLAIN, mended=True)
            if not attempt.is_plain:
                found[MENDED_DELAYED] = kernel.source(attempt, mended=True)
                require_original(found[MENDED_DELAYED], found[MENDED])
        return found

    # What is told of it -------------------------------------------------------------------------

    @property
    def unlaunched(self) -> Reproduction:
        """What is known without a launch."""
        kernel = self.kernel
        sentences = tuple(
            one.brief_sentence for mending in kernel.mendings for one in mending.mends
        )
        mended = kernel.source(PLAIN, mended=True) if kernel.has_mends else kernel.original
        return Reproduction(
            self.file,
            self.identity.kernel,
            self.identity.short,
            self.hazard,
            kernel.elaboration,
            reference=self.reference,
            mends=sentences,
            mend_diff=_diff(kernel.original, mended, "kernel.cu", "kernel.fixed.cu"),
            diff_of="the generated CUDA",
            environment=self.environment,
        )

    def standalone(self, attempt: Attempt, variants: Mapping[str, str]) -> Standalone:
        """The file that shows it by an attempt. Raises `BackendError` where the sizes of a launch
        are not known."""
        kernel = self.kernel
        if kernel.arguments is None:
            raise BackendError(
                "with what it is launched is not known: the program launched nothing"
            )
        return Standalone(
            kernel.func,
            kernel.original,
            kernel.target,
            kernel.pass_configs,
            kernel.arguments,
            variants,
            self.reference,
        )

    def reproduced(self, script: Path, heading: Callable[[Reproduction], str]) -> Reproduction:
        """Launches the variants, attempt by attempt until one shows it.

        `script` is the file of the last attempt then, or of the first one if none shows it;
        `heading` makes the text that it begins with.
        """
        return self._search(script, heading).result()

    def written(
        self, script: Path, heading: Callable[[Reproduction], str], why: str
    ) -> Reproduction:
        """The file alone, of the first attempt, without a launch."""
        return self._search(script, heading).unlaunched(why)

    def _search(self, script: Path, heading: Callable[[Reproduction], str]) -> _Search:
        return _Search(self, script, heading)


@dataclass(eq=False)
class _Search:
    """The attempts of a case, launched one after the other."""

    case: Case
    script: Path
    heading: Callable[[Reproduction], str]
    told: dict[str, Told] = field(default_factory=dict)

    def unlaunched(self, why: str) -> Reproduction:
        found = self.case.unlaunched
        if not self.case.variants:
            return replace(found, why="; ".join(self.case.refused) or why)
        attempt, variants = self.case.variants[0]
        found = self._of(found, attempt, variants, Shown.NOT_RUN)
        try:
            self._write(found, attempt, variants)
        except BackendError as error:
            return replace(found, why=str(error), script=None)
        return replace(found, why=why)

    def result(self) -> Reproduction:
        first = found = self.unlaunched("")
        if found.script is None:
            return found
        tried = []
        for attempt, variants in self.case.variants:
            found = self._launched(found, attempt, variants)
            first = found if not tried else first
            tried.append(attempt.words)
            if found.shown.is_shown:
                return replace(found, tried=tuple(tried))
        self._write(first, *self.case.variants[0])
        return replace(first, tried=tuple(tried))

    def _launched(
        self, before: Reproduction, attempt: Attempt, variants: Mapping[str, str]
    ) -> Reproduction:
        """What an attempt shows. What it has in common with earlier ones is not run again."""
        self._write(before, attempt, variants)
        reference = self.case.reference
        for delayed in (DELAYED, MENDED_DELAYED):
            self.told.pop(delayed, None)
        for variant in (reference, AS_IT_IS, DELAYED, MENDED, MENDED_DELAYED):
            if variant in variants and variant not in self.told:
                self.told[variant] = self.case.launching.told(self.script, variant)
        must = self.told.get(reference, {})
        outcomes = {
            variant: outcome_of(self.told[variant], must)
            for variant in variants
            if variant in self.told
        }
        found = self._of(before, attempt, variants, shown_by(outcomes, reference))
        found = replace(found, outcomes=outcomes)
        self._write(found, attempt, variants)
        return found

    def _of(
        self,
        found: Reproduction,
        attempt: Attempt,
        variants: Mapping[str, str],
        shown: Shown,
    ) -> Reproduction:
        delayed = variants.get(DELAYED, variants[AS_IT_IS])
        return replace(
            found,
            shown=shown,
            attempt=attempt.words,
            delay_diff=_diff(variants[AS_IT_IS], delayed, "kernel.cu", "kernel.delayed.cu"),
            script=self.script.name,
        )

    def _write(self, found: Reproduction, attempt: Attempt, variants: Mapping[str, str]) -> None:
        text = self.case.standalone(attempt, variants).text(self.heading(found))
        self.script.write_text(text)


def _diff(one: str, two: str, old: str, new: str) -> str:
    """A unified diff of two texts; empty where they are the same."""
    lines: Iterator[str] = difflib.unified_diff(
        one.splitlines(), two.splitlines(), old, new, lineterm=""
    )
    return "\n".join(lines)
