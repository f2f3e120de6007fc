"""One finding in one kernel: its variants, its files, and what launching them showed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from smemreuse.errors import BackendError
from smemreuse.ir.kernel import Block
from smemreuse.reproduce.arguments import LaunchArgument
from smemreuse.reproduce.attempts import attempts_of
from smemreuse.reproduce.cuda import require_original
from smemreuse.reproduce.delays import ZEROS, Attempt
from smemreuse.reproduce.running import Launching, Told, outcome_of
from smemreuse.reproduce.snippet import Snippet
from smemreuse.reproduce.standalone import Standalone
from smemreuse.results.accepted import Identity
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.hazards import Hazard
from smemreuse.results.mending import Edit, Mended
from smemreuse.results.reproduction import (
    ALONE,
    AS_IT_IS,
    DELAYED,
    EXPECTED,
    MENDED,
    MENDED_DELAYED,
    ZEROED,
    Reproduction,
    Shown,
    shown_by,
    was_launched,
)

PLAIN = Attempt("nothing is delayed")
ALL_TRIED = "all there is to try was tried before"


class Reproducible(Protocol):
    """What a compiler's room knows of a kernel that a program has compiled."""

    @property
    def original(self) -> str:
        """Its CUDA."""

    @property
    def base(self) -> str:
        """The CUDA that TileLang makes by itself, of which a file makes the others."""

    @property
    def apart(self) -> str | None:
        """Of a kernel that is merged by a plan the CUDA in which nothing shares bytes."""

    @property
    def body(self) -> Block:
        """The statements that its hazards name."""

    @property
    def elaboration(self) -> Elaboration:
        """What made it."""

    @property
    def arguments(self) -> Sequence[LaunchArgument] | None:
        """With what it can be launched; None where that is not known."""

    @property
    def mends(self) -> Sequence[Mended]:
        """What makes it clean, as far as anything does."""

    @property
    def unfixed(self) -> Set[str]:
        """The fingerprints of the hazards that it has with its mends, too."""

    @property
    def func(self) -> str | None:
        """The function that it comes from, as TVM writes it; None where TVM does not read that."""

    @property
    def snippet(self) -> Snippet | None:
        """The Python that makes that, if it stands by itself."""

    @property
    def target(self) -> Mapping[str, str]:
        """What it is compiled for."""

    @property
    def pass_configs(self) -> Mapping[str, Any]:
        """With which options."""

    def source(self, attempt: Attempt, edits: Sequence[Edit] = ()) -> str:
        """The CUDA with an attempt and edits in it. Raises `BackendError` where these cannot be
        written."""


@dataclass(eq=False)
class ReproductionCase:
    """A finding of a kernel, of which there may be `several`, and its variants; what must come out
    is `expected`, the text of a Python function, if that is known. Attempts that an earlier run has
    `tried`, by their words, are left out."""

    file: str
    kernel: Reproducible
    hazard: Hazard
    identity: Identity
    launching: Launching
    environment: Mapping[str, str]
    several: bool = False
    expected: str | None = None
    tried: Set[str] = frozenset()

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """The ways to try."""
        return tuple(one for one in self._ways if one.words not in self.tried)

    @cached_property
    def _ways(self) -> tuple[Attempt, ...]:
        """Those that were `tried` before, too."""
        return attempts_of(self.hazard, self.kernel.body)

    @property
    def reference(self) -> str:
        """Which variant the others are held against: the mended kernel, where there is one; unless
        it is known what must come out."""
        if self.expected is not None:
            return EXPECTED
        if any(attempt.fill is not None for attempt in self._ways):
            return ZEROED
        return MENDED if self._mends or self.kernel.apart is not None else AS_IT_IS

    @property
    def _mends(self) -> Sequence[Mended]:
        """What fixes this finding, others of the kernel perhaps too; none if it has it still."""
        return () if self.identity.fingerprint in self.kernel.unfixed else self.kernel.mends

    @property
    def _fixed(self) -> list[Edit]:
        return [one.edit for one in self._mends]

    @cached_property
    def _others_fixed(self) -> list[Edit] | None:
        """What mends the other findings alone; None where one statement mends this one, too, or
        nothing does."""
        name, finding = self.identity.kernel, self.identity.fingerprint
        others = [one.edit for one in self.kernel.mends if one.hazard.fingerprint(name) != finding]
        return others if 0 < len(others) < len(self._fixed) else None

    def variants(self, attempt: Attempt) -> dict[str, str]:
        """The CUDA of all variants. Raises `BackendError` where the attempt cannot be written."""
        kernel = self.kernel
        found = {AS_IT_IS: kernel.original}
        if not attempt.is_plain:
            found[DELAYED] = kernel.source(attempt)
            require_original(found[DELAYED], kernel.original)
        if attempt.fill is not None:
            found[ZEROED] = kernel.source(Attempt(attempt.words, fill=ZEROS))
            require_original(found[ZEROED], kernel.original)
        elif kernel.apart is not None:
            found[MENDED] = kernel.apart
        elif self._fixed:
            found[MENDED] = kernel.source(PLAIN, self._fixed)
            if not attempt.is_plain:
                found[MENDED_DELAYED] = kernel.source(attempt, self._fixed)
                require_original(found[MENDED_DELAYED], found[MENDED])
            if self.several and self._others_fixed is not None:
                found[ALONE] = kernel.source(attempt, self._others_fixed)
        return found

    # What is told of it -------------------------------------------------------------------------

    @property
    def unlaunched(self) -> Reproduction:
        """What is known without a launch."""
        kernel = self.kernel
        sentences = tuple(one.brief_sentence for one in self._mends)
        if kernel.apart is not None:
            sentences = (self.hazard.mend.sentence,)
        mended = kernel.apart or kernel.source(PLAIN, self._fixed)
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
        if kernel.func is None and kernel.snippet is None:
            raise BackendError(
                "its function cannot be written into a file: define it at the top of the script, "
                "with @T.prim_func or @tilelang.jit"
            )
        return Standalone(
            kernel.func,
            kernel.snippet,
            kernel.base,
            kernel.target,
            kernel.pass_configs,
            kernel.arguments,
            variants,
            self.reference,
            self.expected,
        )

    def reproduced(self, script: Path, heading: Callable[[Reproduction], str]) -> Reproduction:
        """Launches the variants, attempt by attempt until one shows it.

        `script` is the file of the last attempt then, or of the first one if none shows it;
        `heading` makes the text that it begins with.
        """
        with self.launching.turn:
            return _AttemptSearch(self, script, heading).result()

    def written(
        self, script: Path, heading: Callable[[Reproduction], str], why: str
    ) -> Reproduction:
        """The file alone, of the first attempt, without a launch."""
        with self.launching.turn:
            return _AttemptSearch(self, script, heading).unlaunched(why)


@dataclass(eq=False)
class _AttemptSearch:
    """The attempts of a case, launched one after the other."""

    case: ReproductionCase
    script: Path
    heading: Callable[[Reproduction], str]
    told: dict[str, Told] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def unlaunched(self, why: str) -> Reproduction:
        """The file of the first attempt that can be written."""
        found = self.case.unlaunched
        for attempt, variants in self._written():
            found = self._of(found, attempt, variants, Shown.NOT_RUN)
            try:
                self._write(found, attempt, variants)
            except BackendError as error:
                return replace(found, why=str(error), script=None)
            return replace(found, why=why)
        return replace(found, why="; ".join(self.refused))

    def result(self) -> Reproduction:
        """What the first attempt that shows it gave, or the first of all."""
        before, rounds = self.case.unlaunched, list[tuple[Reproduction, Attempt]]()
        for attempt, variants in self._written():
            try:
                found = self._launched(before, attempt, variants)
            except BackendError as error:  # with what it is launched is not known
                return self.unlaunched(str(error))
            rounds.append((found, attempt))
            must = found.outcomes.get(self.case.reference)
            if found.shown.is_shown or (must is not None and must.error):
                break
        if not rounds:
            return replace(before, why="; ".join(self.refused) or ALL_TRIED)
        tried = tuple(one.attempt for one, _ in rounds if was_launched(one.outcomes))
        found, attempt = rounds[-1] if rounds[-1][0].shown.is_shown else rounds[0]
        self._write(found, attempt, self.case.variants(attempt))
        return replace(found, tried=tried)

    def _written(self) -> Iterator[tuple[Attempt, dict[str, str]]]:
        """The attempts that can be written into the kernel."""
        for attempt in self.case.attempts:
            try:
                yield attempt, self.case.variants(attempt)
            except BackendError as error:
                self.refused.append(f"{attempt.words}: {error}")

    def _launched(
        self, before: Reproduction, attempt: Attempt, variants: Mapping[str, str]
    ) -> Reproduction:
        """What an attempt shows. What it has in common with earlier ones is not run again."""
        self._write(before, attempt, variants)
        reference = self.case.reference
        for delayed in (DELAYED, MENDED_DELAYED, ALONE):
            self.told.pop(delayed, None)
        wanted = [variant for variant in variants if variant not in self.told]
        with self.case.launching.waiting():
            told = self.case.launching.all_told(self.script, wanted)
        self.told |= told
        must = self.told.get(reference, {})
        outcomes = {variant: outcome_of(self.told[variant], must) for variant in variants}
        case = self.case
        shown = shown_by(outcomes, reference, case.hazard.kind, several=case.several)
        found = self._of(before, attempt, variants, shown)
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
