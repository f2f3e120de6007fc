"""Mutants of the rows that users declare: each believes more than was said."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

DECLARATIONS = "semantics/declarations.py"
TABLES = "plugins/tables.py"
ACCESSES = "semantics/accesses.py"
OPERANDS = "semantics/operands.py"

TESTS = ("tests/plugins",)

MUTATIONS = (
    Mutation(
        "declared: any number of arguments will do",
        DECLARATIONS,
        "        if parameters != len(self.arguments):\n",
        "        if False:\n",
    ),
    Mutation(
        "declared: what escapes is followed",
        DECLARATIONS,
        "followed = () if self.escapes else self.arguments",
        "followed = self.arguments",
    ),
    Mutation(
        "declared: what escapes is kept nowhere",
        DECLARATIONS,
        "            keeps=self.escapes,\n",
        "",
    ),
    Mutation(
        "declared: what is asynchronous is over at the return",
        DECLARATIONS,
        "Engine.UNKNOWN_ASYNC if self.asynchronous else Engine.THREAD",
        "Engine.THREAD",
    ),
    Mutation(
        "declared: whatever is accessed is surely so",
        DECLARATIONS,
        "                    one.surely is not None,\n",
        "                    True,\n",
    ),
    Mutation(
        "declared: each thread fills all that the block fills",
        DECLARATIONS,
        'by_warp=one.surely == "block"',
        "by_warp=False",
    ),
    Mutation(
        "declared: operands are accessed in the order of the arguments",
        ACCESSES,
        "sorted(own, key=lambda access: access.access is Access.WRITE)",
        "own",
    ),
    Mutation(
        "declared: a call under a condition is carried out",
        OPERANDS,
        "    return place > 0 and call.op in _LAZY\n",
        "    return False\n",
    ),
    Mutation(
        "declared: elements of no known type are bytes",
        OPERANDS,
        " if has_elements(argument) else (None, True)",
        "",
    ),
    Mutation(
        "declared: every function ends with a barrier",
        DECLARATIONS,
        "Meeting(Group.BLOCK) if self.barrier_at_end else None",
        "Meeting(Group.BLOCK)",
    ),
    Mutation(
        "declared: an argument of which nothing is known is a value",
        DECLARATIONS,
        "by_reference=self.escapes or not all(one.known for one in self.arguments)",
        "by_reference=self.escapes",
    ),
    Mutation(
        "declared: a local that it writes keeps its value",
        DECLARATIONS,
        "writes_locals=tuple(at for at, one in listed if one.access is not Access.READ)",
        "writes_locals=()",
    ),
    Mutation(
        "declared: a known function may be declared again",
        DECLARATIONS,
        "    if name in FUNCTIONS or name in TABLE or inside(name) or elsewhere(name):\n",
        "    if False:\n",
    ),
    Mutation(
        "declared: on whose word a proof rests is not told",
        "checker/verdict/check.py",
        "(*following, *declared_in(kernel.body))",
        "following",
    ),
    Mutation(
        "declared: against what the kernel's own pointers say",
        "semantics/accesses.py",
        "    if effect.declared and Access.READ_WRITE not in (access, mask_of(argument)):\n",
        "    if False:\n",
    ),
    Mutation(
        "declared: together is so without a barrier",
        TABLES,
        '        if one.surely == "block" and not table["barrier_at_end"]:\n',
        "        if False:\n",
    ),
    Mutation(
        "declared: what is not said is taken for false",
        TABLES,
        "        if key not in table:\n            raise",
        "        if False:\n            raise",
    ),
)
