"""Hazards of what is in shared memory: read before it is written, written twice, out of bounds."""

from __future__ import annotations

import numpy as np

from smemreuse.checker.layout import ByteIndices
from smemreuse.checker.machine.agent import Agent
from smemreuse.checker.machine.events import Valuing
from smemreuse.checker.machine.memory import UNWRITTEN, Memory
from smemreuse.checker.traced import ANYONE, TracedAccess
from smemreuse.ir.access import Access
from smemreuse.ir.kernel import Buffer, Store
from smemreuse.linter import mechanisms, mends, words
from smemreuse.linter.collected import INSIDE, SAME_VALUE, WHOLE_OPERANDS, Collected
from smemreuse.linter.contention import touches_one_element
from smemreuse.linter.pairs import touching
from smemreuse.linter.undecided import Open
from smemreuse.linter.value_numbers import (
    SAME,
    UNKNOWN,
    ValueNumbering,
    stored_by,
    stores,
    writes_to_same_byte,
)
from smemreuse.results.hazards import Act, Contention, Hazard, HazardKind
from smemreuse.semantics.accesses import MemoryAccess
from smemreuse.semantics.evaluate import Threads, Value
from smemreuse.semantics.table import evaluated_effect


class ContentHazards(Collected):
    """Finds hazards of contents: reads of unwritten bytes, races within a statement, bad
    indices.
    """

    def reads(self, traced: TracedAccess, memory: Memory, own: ByteIndices | None = None) -> None:
        """Adds the hazard of a read of bytes that were never written, or may not have been."""
        where = memory.unwritten(traced)
        if own is not None and len(own):
            where = np.setdiff1d(where, own, assume_unique=True)
        if not len(where) or traced.buffer in self._known.registers:
            return
        size = self._layout.sizes[traced.buffer]
        self._known.doubtful.note_unwritten(traced.buffer, where, size)
        stmt = self._events[traced.event].stmt
        surely = where[memory.shadows[traced.buffer].held[where] == UNWRITTEN]
        effect = evaluated_effect(stmt)
        named = effect is not None and effect.reads_described
        if not traced.certain and len(where) < len(traced.where):
            self._known.assume(WHOLE_OPERANDS)
            return
        whole = named and len(surely) == len(traced.where)
        certain = (traced.certain and len(surely) > 0) or whole
        if self._is_known(HazardKind.UNINITIALISED_READ, certain, stmt, traced.buffer):
            return
        bytes_read = surely if certain else where
        name = self._layout.names[traced.buffer]
        who = self._reader(traced, int(bytes_read[0]))
        site = self._site(traced.event)
        verb = "which nothing has written" if certain else "which perhaps nothing has written"
        span = (int(bytes_read[0]), int(bytes_read[-1]))
        reads = words.does(who, "read")
        witness = f"{reads} byte {span[0]} of {name} at {site}, {verb} by then"
        self._add(
            Hazard(
                HazardKind.UNINITIALISED_READ,
                certain,
                site,
                (name,),
                witness,
                mends.initialise(name, span, site),
                bytes=span,
                agents=(who,),
                acts=(words.act(f"reads byte {span[0]} of {name}", None, traced.ids),),
                mechanism=mechanisms.of_access(stmt, writes=False),
            ),
            stmt,
            traced.buffer,
            what=self._missing_writes(traced.buffer),
        )

    def _missing_writes(self, buffer: Buffer) -> Open:
        """The writes of a buffer, and those of which it is not certain what they write."""
        writes = [
            (stmt, access)
            for stmt, found in self._known.accesses.items()
            for access in found
            if access.buffer is buffer and access.access is not Access.READ
        ]
        doubtful = [stmt for stmt, access in writes if not access.certain]
        return Open(doubtful, [stmt for stmt, _ in writes])

    def _reader(self, traced: TracedAccess, byte: int) -> str:
        """The thread that reads a byte, in words; any thread if it is not known which."""
        stmt = self._events[traced.event].stmt
        threads = touching(traced, byte)
        # Of an access that leaves its buffer any byte is taken to be read, by no known thread.
        some = None if threads is None or not len(threads) else int(threads[0])
        return words.agent(stmt, some, traced.ids)

    def written(self, traced: TracedAccess, threads: Threads, values: Valuing) -> None:
        """Adds the race of threads that write different values to one byte in one statement."""
        stmt = self._events[traced.event].stmt
        if not (stores(stmt) or traced.by_warp) or traced.buffer in self._known.registers:
            return
        if traced.atomic:  # beside what the statement itself stores
            return
        if not (traced.by_thread == ANYONE).any() or len(np.unique(traced.ids)) < 2:
            return
        numbers = ValueNumbering(threads, values, self._known.changing, self._known.uniform)
        meeting = writes_to_same_byte(traced, stored_by(stmt, numbers))
        if meeting is SAME:
            return
        if meeting is UNKNOWN:
            self._known.assume(SAME_VALUE, self._layout.names[traced.buffer], stmt.line)
            return
        name, site = self._layout.names[traced.buffer], self._site(traced.event)
        certain = meeting.differ and traced.certain and isinstance(stmt, Store)
        who = tuple(words.agent(stmt, one, traced.ids) for one in meeting.threads)
        is_one = touches_one_element(stmt, traced.buffer)
        by_data = not certain and not is_one and meeting.byte is None
        values_ = "different values" if certain else "what may be different values"
        where = (
            f"byte {meeting.byte} of {name}" if meeting.byte is not None else f"a byte of {name}"
        )
        witness = (
            f"{' and '.join(who)} write {values_} to {where} at {site}, and nothing orders them"
        )
        hazard = Hazard(
            HazardKind.RACE,
            certain,
            site,
            (name,),
            witness,
            mends.one_writer(name, site, by_data=by_data),
            other=site,
            bytes=None if meeting.byte is None else (meeting.byte, meeting.byte),
            agents=who,
            acts=tuple(words.act(f"writes {where}", one, traced.ids) for one in meeting.threads),
            mechanism=mechanisms.AT_ONCE,
            contention=Contention.ONE_ELEMENT if is_one else Contention.ELEMENTS,
        )
        self._add(hazard, stmt, traced.buffer)

    def outside(self, access: MemoryAccess, start: Value, agent: Agent, event: int) -> None:
        """Adds the hazard of an index outside of the buffer, in a thread that no guard excludes.

        An index that is not known is assumed to be inside. Registers are no shared memory.
        """
        if access.buffer in self._known.registers:
            return
        stmt, size = self._events[event].stmt, self._layout.sizes[access.buffer]
        if start is None:
            if access.footprint.start is not None or access.pointed is not None:
                self._known.assume(INSIDE, self._layout.names[access.buffer], stmt.line)
            return
        starts = np.broadcast_to(np.asarray(start), (agent.threads.count,))
        footprint = access.footprint
        reach = (footprint.count - 1) * footprint.stride
        first = starts + min(reach, 0)
        last = starts + max(reach, 0) + max(footprint.size, 1) - 1
        beyond = (first < 0) | (last >= size)
        kept = self._known.guards.allowed(stmt, access, agent.threads)
        if kept is not None:
            beyond = beyond & kept
        if not beyond.any():
            return
        at = int(np.argmax(beyond))
        certain = self._known.guards.is_certain(access) and kept is not None and not agent.partly
        name, site = self._layout.names[access.buffer], self._site(event)
        byte = int(first[at]) if first[at] < 0 else int(last[at])
        who = words.agent(stmt, int(agent.threads.ids[at]), agent.threads.ids)
        verb = "reads" if access.access is Access.READ else "writes"
        witness = f"{who} {verb} byte {byte} of {name}, which has {size:,} bytes, at {site}"
        hazard = Hazard(
            HazardKind.OUT_OF_BOUNDS,
            certain,
            site,
            (name,),
            witness,
            mends.stay_inside(name, size, site),
            bytes=(int(first[at]), int(last[at])),
            agents=(who,),
            acts=(Act(f"{verb} byte {byte} of {name}", words.runs(agent.threads.ids[[at]])),),
            mechanism=mechanisms.of_access(stmt, writes=access.access is not Access.READ),
        )
        self._add(hazard, stmt, access.buffer)
