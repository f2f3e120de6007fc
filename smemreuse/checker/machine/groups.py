"""Groups of asynchronous accesses: issued, committed, waited for (rule 5)."""

from __future__ import annotations

from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.state import State
from smemreuse.checker.values.evaluation import Values
from smemreuse.ir.expr import Call
from smemreuse.semantics.effects import Engine, Wait
from smemreuse.semantics.evaluate import Value


class Groups:
    """What commits and waits do to the state."""

    def __init__(self, state: State, values: Values):
        self._state = state
        self._values = values
        self._operations = values.program_slice.operations

    def commit(self, engine: Engine, agent: Agent) -> None:
        """Closes a group, for each thread its own.

        Where only an unknown subset acts, this is the state of that subset; a join adds the rest.
        """
        self._state.engines.commit(engine, agent.threads.ids)

    def wait(self, call: Call, wait: Wait, agent: Agent) -> None:
        """Retires the oldest groups, if it is known how many, and for which threads. If it is not
        known how many, any of them may be over."""
        operands = call.args
        keep: Value = wait.left
        if wait.keep is not None and wait.keep < len(operands):
            keep = self._values.decide(operands[wait.keep], agent.threads)
        if agent.partly:
            return
        engines, ids = self._state.engines, agent.threads.ids
        if not isinstance(keep, int) or keep < 0:
            engines.may_be_over(wait.engine, ids, lambda closed: closed > 0)
            return
        if not keep and wait.of_no_group and self._operations.waits_for_uncommitted:
            engines.may_be_over(wait.engine, ids, lambda closed: closed == 0)
        order = self._state.order
        for traced, whole in engines.wait(wait.engine, keep, ids):
            self._state.history.note(traced, order, whole.bit)
            self._state.proxies.note(traced, order)
