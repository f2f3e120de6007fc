"""What came of making a finding show on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from smemreuse.results.elaboration import Elaboration
from smemreuse.results.hazards import Hazard

AS_IT_IS, DELAYED, MENDED = "as it is", "delayed", "fixed"
MENDED_DELAYED, ZEROED = "fixed, delayed", "filled with zeros"
"""The variants of a kernel that are launched."""


class Shown(str, Enum):
    """Whether a finding was seen; the value is the word for it, in JSON too."""

    BY_ITSELF = "shown by itself"
    DELAYED = "shown"
    NOT_SHOWN = "not shown"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"

    def __str__(self) -> str:
        return self.value

    @property
    def is_shown(self) -> bool:
        return self in (Shown.BY_ITSELF, Shown.DELAYED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the launches of one variant gave.

    `differing` launches gave other bits than the reference on the same inputs, `unsteady` ones
    other bits when they were repeated. `hangs` where a launch did not end; `error` says why there
    is nothing to tell.
    """

    launches: int = 0
    differing: int = 0
    unsteady: int = 0
    hangs: bool = False
    error: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.hangs or self.differing > 0

    @property
    def words(self) -> str:
        """In a few words."""
        if self.error:
            return f"failed: {self.error}"
        if self.hangs:
            return "hangs"
        unsteady = f", {self.unsteady} not the same twice" if self.unsteady else ""
        return f"{self.differing} of {self.launches} launches differ{unsteady}"


@dataclass(frozen=True)
class Reproduction:
    """One finding: what was done to make it show, and what it then did.

    `finding` is what people are shown in brackets. `attempt` says what was delayed, `reference`
    which variant the others are held against, `outcomes` what each of them gave. `why` says why it
    was not run. `mend_diff` is what mends the kernel, as a unified diff of what `diff_of` names, and
    `mends` are sentences on it. `report` and `script` are the files that were written, if any.
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
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    tried: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()
    mend_diff: str = ""
    diff_of: str = ""
    delay_diff: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    report: str | None = None
    script: str | None = None


def shown_by(outcomes: Mapping[str, Outcome], reference: str) -> Shown:
    """Whether what was launched shows the finding.

    Nothing does where the reference itself is not the same twice: then bits say nothing.
    """
    must = outcomes.get(reference)
    for variant, shown in ((AS_IT_IS, Shown.BY_ITSELF), (DELAYED, Shown.DELAYED)):
        if variant in outcomes and outcomes[variant].hangs:
            return shown
    if must is None or must.error or must.hangs:
        return Shown.NOT_COMPARABLE
    if must.unsteady:
        return Shown.NOT_COMPARABLE
    for variant, shown in ((AS_IT_IS, Shown.BY_ITSELF), (DELAYED, Shown.DELAYED)):
        if variant in outcomes and outcomes[variant].is_wrong:
            return shown
    return Shown.NOT_SHOWN
