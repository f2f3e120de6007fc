"""Mutants of the table of effects, and of what is derived from it."""

from __future__ import annotations

from scripts.mutants.mutation import Mutation

TABLE = "semantics/table.py"
EFFECTS = "semantics/effects.py"
SEMANTIC_ACCESSES = "semantics/accesses.py"
FOREIGN = "semantics/foreign.py"
EVALUATE = "semantics/evaluate.py"
SEMANTIC_OPERANDS = "semantics/operands.py"

TESTS = ("tests/semantics", "tests/checker")

NOTHING = (
    *("commits=None", "waits=None", "mbarrier=None", "meeting=None", "describes=None"),
    *("leaves=None", "fence=False", "reads_described=False", "remote=False"),
    *("writes_locals=()", "address=False", "engine=Engine.THREAD", "answer=Answer.SAME"),
    "proxy=type(effect.proxy).GENERIC",
)
"""Columns of the table, each as it is for an operation that has no such effect."""


def _without(column: str) -> Mutation:
    """No row has this column."""
    return Mutation(
        f"table: {column}",
        TABLE,
        "return _in_this_form(call, effect)",
        f"return _in_this_form(call, replace(effect, {column}))",
    )


MUTATIONS = (
    Mutation(
        "table: what has no row is over when the thread goes on",
        EFFECTS,
        "        engine=Engine.UNKNOWN_ASYNC,\n",
        "",
    ),
    Mutation(
        "table: what has no row is covered",
        EFFECTS,
        "        unknown=reason,\n    )\n",
        "    )\n",
    ),
    Mutation(
        "table: any number of operands is a form that is known",
        TABLE,
        "    if effect.arity is None or len(call.args) in effect.arity:\n",
        "    if True:\n",
    ),
    Mutation(
        "accesses: what an operation is handed is not gone to",
        SEMANTIC_ACCESSES,
        "    if not effect.hands_on:\n",
        "    if True:\n",
    ),
    Mutation(
        "accesses: conditions of certainty hold",
        SEMANTIC_OPERANDS,
        "    return at < len(operands) and constant(operands[at]) == operand.certain.value\n",
        "    return True\n",
    ),
    Mutation(
        "evaluate: unsigned differences do not wrap",
        EVALUATE,
        "    return _wrapped(_plain(_BINARY[op](a, b)), bits), bits, None if bits else most\n",
        "    return _plain(_BINARY[op](a, b)), bits, None if bits else most\n",
    ),
    Mutation(
        "foreign: an element is handed over by value",
        FOREIGN,
        "        by_reference=not takes_values(call),\n",
        "",
    ),
    *map(_without, NOTHING),
    Mutation(
        "foreign: what a function is handed it does not go to",
        FOREIGN,
        "        handed_on=True,\n",
        "",
    ),
    Mutation(
        "foreign: addresses that are kept are nobody's",
        FOREIGN,
        "        follows=True,\n",
        "",
    ),
    Mutation(
        "foreign: nothing is swizzled",
        FOREIGN,
        "        swizzles=names_instructions(call),\n",
        "",
    ),
)
