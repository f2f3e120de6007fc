"""What came of making a finding show on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from smemreuse.results.elaboration import Elaboration
from smemreuse.results.hazards import Hazard, HazardKind

AS_IT_IS, DELAYED, MENDED = "as it is", "delayed", "fixed"
MENDED_DELAYED, ZEROED = "fixed, delayed", "filled with zeros"
ALONE = "others fixed, delayed"
"""The variants of a kernel that are launched."""

EXPECTED = "expected"
"""No variant: what a Python function says that must come out."""


_MOST = 80
"""Characters of an error in a few words."""


class Shown(str, Enum):
    """Whether a finding was seen; the value is the word for it, in JSON too."""

    BY_ITSELF = "shown by itself"
    DELAYED = "shown"
    ONE_OF_SEVERAL = "one of several shows"
    NOT_SHOWN = "not shown"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"

    def __str__(self) -> str:
        return self.value

    @property
    def is_shown(self) -> bool:
        return self in (Shown.BY_ITSELF, Shown.DELAYED, Shown.ONE_OF_SEVERAL)


@dataclass(frozen=True, slots=True)
class VariantOutcome:
    """What the launches of one variant gave.

    `differing` launches gave other bits than the reference on the same inputs, `unsteady` ones
    other bits when they were repeated. `hangs` where a launch did not end; `error` says why there
    is nothing to tell. So many tensors were `left_out` as the reference does not give the same bits
    of them twice.
    """

    launches: int = 0
    differing: int = 0
    unsteady: int = 0
    hangs: bool = False
    error: str = ""
    left_out: int = 0

    @property
    def is_wrong(self) -> bool:
        return self.hangs or self.differing > 0

    @property
    def words(self) -> str:
        """In a few words."""
        if self.error:
            return f"failed: {self.error[:_MOST]}"
        if self.hangs:
            return "hangs"
        unsteady = f", {self.unsteady} not the same twice" if self.unsteady else ""
        left_out = f", {self.left_out} tensors left out" if self.left_out else ""
        return f"{self.differing} of {self.launches} launches differ{unsteady}{left_out}"


@dataclass(frozen=True)
class Reproduction:
    """One finding: what was done to make it show, and what it then did.

    `finding` is what people are shown in brackets. `attempt` says what was delayed, `reference`
    which variant the others are held against, `outcomes` what each of them gave, `tried` all
    attempts that came to their launches. `why` says why it was not run. `mends` are sentences on
    what makes the kernel clean, `mend_diff` that as a unified diff of what `diff_of` names, and
    `delay_diff` the attempt. `report` and `script` are the files that were written, if any.
    """

    file: str
    kernel: str
    finding: str
    hazard: Hazard
    elaboration: Elaboration = field(default_factory=Elaboration)
    shown: Shown = Shown.NOT_RUN
    why: str = ""
    attempt: str = ""
    reference: str = AS_IT_IS
    outcomes: Mapping[str, VariantOutcome] = field(default_factory=dict)
    tried: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()
    mend_diff: str = ""
    diff_of: str = ""
    delay_diff: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    report: str | None = None
    script: str | None = None


A_DUMP = "a dump has no host code to launch it"
"""Why nothing of a dump is launched."""

HANGS = (HazardKind.MISSED_PHASE, HazardKind.BARRIER_DEADLOCK)
"""What shows by a launch that does not end, and by nothing else."""


def shown_by(
    outcomes: Mapping[str, VariantOutcome], reference: str, kind: HazardKind, *, several: bool
) -> Shown:
    """Whether what was launched shows a finding of a kind, in a kernel that has `several`.

    What a kernel does of which all other findings are fixed is of this one. Without that a kernel
    of several tells only that one of them shows. Bits say nothing where the reference itself is not
    the same twice; what is expected does. What could not be launched shows nothing either way.
    """
    must = outcomes.get(reference)
    steady = reference == EXPECTED or (
        must is not None and not (must.error or must.hangs or must.unsteady)
    )
    own: tuple[tuple[str, Shown], ...] = (
        (AS_IT_IS, Shown.BY_ITSELF),
        (DELAYED, Shown.DELAYED),
    )
    if ALONE in outcomes:
        own = ((ALONE, Shown.DELAYED),)
    elif several:
        own = tuple((variant, Shown.ONE_OF_SEVERAL) for variant, _ in own)
    for variant, shown in own:
        found = outcomes.get(variant)
        if found is not None and (
            found.hangs or (kind not in HANGS and steady and found.differing)
        ):
            return shown
    if not was_launched(outcomes):
        return Shown.NOT_COMPARABLE
    return Shown.NOT_SHOWN if steady or kind in HANGS else Shown.NOT_COMPARABLE


def was_launched(outcomes: Mapping[str, VariantOutcome]) -> bool:
    """Whether the variant that tells of a finding came to its launches."""
    name = next((one for one in (ALONE, DELAYED, AS_IT_IS) if one in outcomes), None)
    return name is not None and not outcomes[name].error
