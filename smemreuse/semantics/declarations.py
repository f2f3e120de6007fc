"""Rows that users declare for device functions of their own.

They are rows of the same table, in the same columns, and beside those of this package: a function
that has one already is refused. What a declaration does not say stays unknown, and whatever is
proved with its help says whose word it takes. Rows are there for the whole process, and only ever
added: a kernel that was read before has fewer of them, which proves less and nothing wrong.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Literal

from smemreuse.errors import InputError
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Block, walk_statements
from smemreuse.semantics.effects import (
    UNSAID,
    Answer,
    Effect,
    Engine,
    Extent,
    Group,
    Meeting,
    Operand,
    Size,
    unknown_effect,
)
from smemreuse.semantics.foreign import function_of
from smemreuse.semantics.rows import TABLE, elsewhere
from smemreuse.semantics.rows.device_functions import DECLARED, FUNCTIONS, inside
from smemreuse.semantics.rows.function_names import FunctionName, parse_name
from smemreuse.semantics.table import calls_of, effect_of


@dataclass(frozen=True, slots=True)
class Argument:
    """What a function does with one of its arguments.

    `access` None means a plain value. `surely` says who has certainly accessed all of the bytes at
    return: each calling `thread`, or the threads of the `block` together; None if unknown. With
    `known` False nothing is known of the argument.
    """

    access: Access | None = None
    size: Size = Extent.WHOLE
    surely: Literal["thread", "block"] | None = None
    swizzled: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class Declaration:
    """One function: what it does with each argument, and besides.

    - `asynchronous`: some of its accesses are not those of the calling threads, or may outlast the
      call. If not, they are plain loads and stores, over when it returns, in this block's memory.
    - `escapes`: an address that it is handed may be kept in memory, or be in what it returns.
    - `barrier_at_end`: it ends with a barrier of all threads of the block, after its accesses.
    - `barriers_inside`: it has other barriers, of whomever, or a thread waits in it for another.
      None if that is not said.
    - `source`: the file, and the line if it is known.
    """

    name: str
    arguments: tuple[Argument, ...]
    asynchronous: bool
    escapes: bool
    barrier_at_end: bool
    source: str
    barriers_inside: bool | None = None

    def row(self, name: FunctionName, parameters: int) -> Effect:
        """The effect of a call with so many `parameters`, in positions of these."""
        words = f"`{name.path}` does as declared by {self.source}"
        if parameters != len(self.arguments):
            reason = (
                f"`{name.path}` is called with {parameters} arguments, and {self.source} declares "
                f"{len(self.arguments)}"
            )
            unknown = unknown_effect(reason)
            return replace(unknown, by_reference=True, keeps=True, declared=words)
        # A function that keeps an address may use it in any call, in any order.
        followed = () if self.escapes else self.arguments
        listed = [(at, one) for at, one in enumerate(followed) if one.access is not None]
        return Effect(
            operands=tuple(
                Operand(
                    at,
                    one.access,
                    one.size,
                    one.surely is not None,
                    one.swizzled,
                    by_warp=one.surely == "block",  # which thread does which is not known
                )
                for at, one in listed
            ),
            handed_on=True,
            by_reference=self.escapes or not all(one.known for one in self.arguments),
            follows=True,
            engine=Engine.UNKNOWN_ASYNC if self.asynchronous else Engine.THREAD,
            meeting=Meeting(Group.BLOCK) if self.barrier_at_end else None,
            writes_locals=tuple(at for at, one in listed if one.access is not Access.READ),
            answer=Answer.VARIES,
            address=self.escapes,
            keeps=self.escapes,
            declared=words,
            may_meet=_MAY_MEET[self.barriers_inside],
            may_wait=self.asynchronous,
        )


_MAY_MEET = {
    None: UNSAID,
    True: "it has some, by its declaration, and they are not followed",
    False: "",
}

_known: dict[str, Declaration] = {}
_lock = threading.Lock()


def may_be_declared(function: str) -> str | None:
    """What a function that is called so would be declared as; None where that is no C++ name, or
    is one of which rows are not to be changed."""
    parsed = parse_name(function)
    return None if parsed is None or _is_taken(parsed.path) else parsed.path


def _is_taken(name: str) -> bool:
    return bool(name in FUNCTIONS or name in TABLE or inside(name) or elsewhere(name))


def declare(declaration: Declaration) -> None:
    """Adds a row. Raises `InputError` for an invalid name, or a function that has a row already."""
    name = declaration.name
    parsed = parse_name(name)
    if parsed is None or parsed.path != name:
        raise InputError(f"{name!r} is no C++ function's name without template arguments")
    if _is_taken(name):
        raise InputError(f"{name} is known already, and its row is not to be changed")
    with _lock:
        other = _known.setdefault(name, declaration)
        if other != declaration:
            raise InputError(f"{name} is declared already, by {other.source}")
        DECLARED[name] = declaration.row


def taken_on_trust(block: Block) -> tuple[str, ...]:
    """What an answer about a block takes on trust of the functions that it calls, a clause each.

    For each declared function, on whose word it stands; and of each that may have a barrier inside,
    that it has none that not all threads come to: it counts as if it had none.
    """
    found: dict[str, None] = {}
    for call in (call for stmt in walk_statements(block) for call in calls_of(stmt)):
        effect = effect_of(call)
        if effect.declared:
            found[effect.declared] = None
        if effect.may_meet:
            found[f"`{function_of(call)}` has no barrier inside ({effect.may_meet})"] = None
    return tuple(found)
