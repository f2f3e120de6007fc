"""The mechanisms that can be switched off, each with the answer that its functions give then.

A function that is off answers "not proved", "not known" or "no such candidate", so what depends on
it stays right and only proves less, or takes longer.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.ablations.lines import code_lines

ROOT = Path(__file__).parents[2]


class Stale(Exception):
    """The source has changed so that a switch does not apply."""


@dataclass(frozen=True)
class Patch:
    """A function or a constant of a module, and what stands for it while it is off.

    `off` has the same signature; a constant's `off` is a value. `shown` picks out of an answer what
    tells whether the mechanism had any effect; `raises` are exceptions that say "not known".
    """

    module: str
    attribute: str
    off: Any
    shown: Callable[[Any], Any] = lambda answer: answer
    raises: tuple[str, ...] = ()

    def place(self) -> tuple[Any, str, Any]:
        """What holds the attribute, its name there, and what it is now. Raises `Stale`."""
        try:
            holder = importlib.import_module(f"smemreuse.{self.module}")
            *outer, name = self.attribute.split(".")
            for each in outer:
                holder = getattr(holder, each)
            return holder, name, inspect.getattr_static(holder, name)
        except (ImportError, AttributeError) as error:
            raise Stale(f"{self.module}: {self.attribute} ({error})") from error


@dataclass(frozen=True)
class Switch:
    """One mechanism: the files that could go with it, relative to the package, and its patches."""

    name: str
    meaning: str
    files: tuple[str, ...]
    patches: tuple[Patch, ...]
    verbs: tuple[str, ...] = ("plan", "lint")

    @property
    def lines(self) -> int:
        """Code lines of its files. Raises `Stale`."""
        missing = [name for name in self.files if not (ROOT / "smemreuse" / name).exists()]
        if missing:
            raise Stale(f"{self.name}: no {', '.join(missing)}")
        return sum(code_lines(ROOT / "smemreuse" / name) for name in self.files)

    @contextlib.contextmanager
    def off(self) -> Iterator[None]:
        """The mechanism is off inside."""
        with contextlib.ExitStack() as stack:
            for patch in self.patches:
                holder, name, _ = patch.place()
                stack.enter_context(_replaced(holder, name, patch.off))
            yield


@contextlib.contextmanager
def probed(switches: tuple[Switch, ...]) -> Iterator[set[str]]:
    """Collects the names of the mechanisms whose answers differ from those that they give off."""
    acted: set[str] = set()
    with contextlib.ExitStack() as stack:
        for switch in switches:
            for patch in switch.patches:
                holder, name, real = patch.place()
                if callable(real):
                    stack.enter_context(
                        _replaced(holder, name, _probe(real, patch, switch.name, acted))
                    )
                else:
                    acted.add(switch.name)  # a constant: nothing tells whether it matters
        yield acted


def _probe(real: Callable[..., Any], patch: Patch, name: str, acted: set[str]) -> Any:
    @functools.wraps(real)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            found = real(*args, **kwargs)
        except Exception as error:
            acted.update([name] if type(error).__name__ not in patch.raises else [])
            raise
        if name not in acted:
            try:
                other = patch.off(*args, **kwargs)
                differs = bool(patch.shown(found) != patch.shown(other))
            except Exception:
                differs = True
            acted.update([name] if differs else [])
        return found

    return asked


@contextlib.contextmanager
def _replaced(holder: Any, name: str, value: Any) -> Iterator[None]:
    before = inspect.getattr_static(holder, name)
    setattr(holder, name, value)
    try:
        yield
    finally:
        setattr(holder, name, before)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _no(*args: Any, **kwargs: Any) -> bool:
    return False


def _unsettled(facts: Any) -> bool:
    return False


def _no_recurrence(*args: Any) -> Any:
    from smemreuse.semantics.recurrences import NoRecurrence

    raise NoRecurrence


def _no_accumulators(body: Any, known: Any) -> Any:
    from smemreuse.linter.accumulators import Accumulators

    return Accumulators({}, {})


SEARCH, PLAN = "pipeline.search", ("plan",)

SWITCHES = (
    Switch(
        "separation",
        "no pair is separated by the order of statements: the execution proves it or nothing does",
        tuple(
            f"checker/separation/{name}.py"
            for name in ("compared", "facts", "gaps", "ground", "pairs", "privacy", "reach", "tree")
        ),
        (
            Patch(
                "checker.separation.pairs",
                "Separation.remaining",
                lambda self, layout: layout,
                lambda layout: {one: set(two) for one, two in layout.partners.items()},
            ),
        ),
        PLAN,
    ),
    Switch(
        "loop runs",
        "no loop is compared with those of other blocks as a whole",
        ("checker/loops/loop_runs.py",),
        (Patch("checker.loops.loop_runs", "LoopsOfBlock.begin", _nothing),),
    ),
    Switch(
        "loops of unknown length",
        "no recurrence is known: a loop of unknown length runs to a fixpoint",
        ("checker/loops/endless.py", "semantics/recurrences.py"),
        (
            Patch(
                "semantics.recurrences",
                "Recurrences.__call__",
                _no_recurrence,
                raises=("NoRecurrence",),
            ),
        ),
    ),
    Switch(
        "cases",
        "what data decide is no case: both outcomes are joined",
        (
            "checker/values/cases.py",
            "checker/values/unknowns.py",
            "checker/loops/endless.py",
            "semantics/recurrences.py",
        ),
        (Patch("checker.execution.setting", "Setting.is_case", _no),),
    ),
    Switch(
        "loop fast-forward",
        "every iteration of a loop of known length is executed",
        (
            "checker/loops/fast_forward.py",
            "checker/loops/periods.py",
            "checker/loops/repetition.py",
        ),
        (Patch("checker.loops.periods", "Periods.window", _nothing),),
    ),
    Switch(
        "start: inner",
        "no plan begins with inner's ranges",
        ("pipeline/starts.py",),
        (Patch(SEARCH, "PlanSearch._may_gain", _no),),
        PLAN,
    ),
    Switch(
        "carried pairs",
        "inner's ranges are tried as they are, without the pairs that loops carry",
        ("pipeline/starts.py",),
        (Patch("pipeline.starts", "carried_pairs", lambda facts: frozenset()),),
        PLAN,
    ),
    Switch(
        "bounded check",
        "a plan is judged in full before it is applied",
        ("pipeline/search.py",),
        (
            Patch(
                SEARCH,
                "PlanSearch._checked",
                lambda self, candidate: candidate,
                lambda candidate: candidate.judge,
            ),
        ),
        PLAN,
    ),
    Switch(
        "optimistic check",
        "no plan is applied before it is looked at",
        ("pipeline/optimistic_check.py",),
        (Patch(SEARCH, "order_is_settled", _unsettled),),
        PLAN,
    ),
    Switch(
        "compiler's layout first",
        "the compiler's own layout is not kept before the starts are tried",
        ("pipeline/search.py",),
        (Patch(SEARCH, "PlanSearch._own_at_first", _nothing),),
        PLAN,
    ),
    Switch(
        "exact planner",
        "the best of the greedy orders is the plan",
        ("planner/exact.py", "planner/fit.py", "planner/cpsat.py"),
        (Patch("planner.exact", "within", _nothing),),
        PLAN,
    ),
    Switch(
        "predicted barriers",
        "no barrier is surely put in by a later pass",
        (
            "checker/predicted/barriers.py",
            "versions/thread_sync/candidates.py",
            "versions/thread_sync/insertion.py",
            "versions/thread_sync/collisions.py",
            "versions/thread_sync/path_conditions.py",
            "checker/predicted/prediction.py",
            "checker/machine/timestamps.py",
        ),
        (
            Patch("versions.thread_sync.collisions", "Collisions.surely", _no),
            Patch("versions.thread_sync.collisions", "Collisions.perhaps", _no),
        ),
    ),
    Switch(
        "path conditions",
        "it is not known which threads come to a statement that a later pass compares",
        ("versions/thread_sync/path_conditions.py",),
        (Patch("versions.thread_sync.path_conditions", "PathConditions.at", _nothing),),
    ),
    Switch(
        "conflicts that surely are none",
        "a later pass may put a barrier between any two accesses that it compares",
        (
            "versions/thread_sync/conflicts.py",
            "versions/thread_sync/access_ranges.py",
            "versions/thread_sync/differences.py",
        ),
        (
            Patch("versions.thread_sync.access_ranges", "AccessRanges.have_one_index", _no),
            Patch("versions.thread_sync.conflicts", "Conflicts._are_inside", _no),
            Patch("versions.thread_sync.access_ranges", "AccessRanges.lie_apart", _no),
        ),
    ),
    Switch(
        "privatization",
        "every buffer is carried round every loop that reads it",
        ("analysis/privatization.py",),
        (Patch("policies.dataflow", "is_private", _no),),
        PLAN,
    ),
    Switch(
        "matrix operands",
        "a wgmma operand is all of the buffer that its descriptor names",
        ("semantics/matrix_operands.py",),
        (Patch("linter.runs", "precise_operands", lambda body, accesses, pointers: accesses),),
        ("lint",),
    ),
    Switch(
        "accumulators",
        "registers that multiplications add to are not followed",
        ("linter/accumulators.py",),
        (Patch("linter.runs", "Accumulators.of", _no_accumulators, lambda found: found.sizes),),
        ("lint",),
    ),
    Switch(
        "discarded reads",
        "a read of unwritten bytes, or in a race, is a hazard whatever becomes of it",
        ("linter/discarded.py", "linter/doubtful.py", "linter/harmless.py", "linter/poison.py"),
        (Patch("linter.runs", "is_discarded", _no),),
        ("lint",),
    ),
    Switch(
        "inputs",
        "no inputs are tried that may show a hazard which data decide on",
        ("linter/inputs.py", "checker/values/given.py"),
        (Patch("linter.runs", "OF_INPUTS", 0),),
        ("lint",),
    ),
    Switch(
        "lint's cases",
        "a hazard that is not certain is not looked at case by case",
        ("checker/values/cases.py", "checker/values/unknowns.py"),
        (
            Patch(
                "linter.runs",
                "OF_CASES",
                0,
            ),
        ),
        ("lint",),
    ),
    Switch(
        "audit: pointers",
        "no layout is read from pointers into an arena",
        ("audit/pointers.py",),
        (Patch("audit.audit", "pointer_layout", _nothing),),
    ),
    Switch(
        "audit: views",
        "no layout is read from views of an arena",
        ("audit/views.py", "audit/same_buffer.py", "audit/reach.py", "audit/separator.py"),
        (Patch("audit.audit", "view_layout", _nothing),),
    ),
)
"""All switches, those first that other decisions wait for."""


def named(name: str) -> Switch:
    """The switch of a name. Raises `KeyError`."""
    return {one.name: one for one in SWITCHES}[name]
