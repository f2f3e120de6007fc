"""What one execution did: what threads came to, and which way they took where there are two."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from tests.soundness.model.expressions import Fn
    from tests.soundness.model.program import Ids

Ways: TypeAlias = "list[tuple[Ids, np.ndarray]]"
"""Each time that a condition was asked: of which threads, and for which of them it held."""


@dataclass(eq=False)
class Record:
    reached: set[int] = field(default_factory=set)
    """Places of the program where threads have been."""
    ways: dict[Fn, Ways] = field(default_factory=lambda: defaultdict(list))
    """By condition: of branches, of loops, of predicates and inside expressions."""
