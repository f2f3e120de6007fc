"""Random kernels as the text of a dump: statements that groups of threads can make.

A kernel is grown so that it is likely to be well defined: what a thread hands to another in one
buffer is mostly synchronized. What it does to one buffer after another mostly is not: that is where
plans go wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

from smemreuse.compilers.text.reader import parse_dump
from smemreuse.ir.kernel import Kernel
from tests.random_kernels.choices import Grower, Pick

SYNC = 'T.tvm_storage_sync("shared")\n'
FENCE = "T.fence_proxy_async()\n"
COUNTER = "c[3]"
"""A register of each thread, which counts from where a kernel sets it to 0."""
READ_WITHIN = ('T.Cast("int32", T.reinterpret("int32", {}))', 'T.reinterpret("int32", {} + 0)')
"""A value as an operand of operations that do not change it."""

_HEADER = """
bx = T.launch_thread("blockIdx.x", {blocks})
X = T.handle("int32", "global")
Y = T.handle("int32", "global")
D = T.decl_buffer((4096,), "int32", data=X)
O = T.decl_buffer((4096,), "int32", data=Y)
{buffers}
full = T.alloc_buffer((4,), "uint64", scope="shared.barrier")
empty = T.alloc_buffer((4,), "uint64", scope="shared.barrier")
behind = T.decl_buffer((3,), "uint64", data=full.data, scope="shared.barrier", elem_offset=1)
c = T.alloc_buffer((4,), "int32", scope="local.var")
da = T.alloc_buffer((4,), "uint64", scope="local.descriptor.wgmma")
acc = T.alloc_buffer((64,), "float32", scope="local")
tx = T.launch_thread("threadIdx.x", {threads})
"""


def under(header: str, body: str) -> str:
    return f"{header}:\n{indent(body, '    ')}" if body else ""


def kernel_of(text: str) -> Kernel:
    (kernel,) = parse_dump(text).kernels
    return kernel


@dataclass(frozen=True)
class Threads:
    """Some warps of a block that do something together; `barrier` is their named barrier. Each does
    what the thread `turned` behind it would do."""

    first: int
    count: int
    barrier: int = 0
    turned: int = 0

    @property
    def condition(self) -> str:
        return f"{self.first} <= tx and tx < {self.first + self.count}"

    @property
    def rank(self) -> str:
        own = f"(tx - {self.first})" if self.first else "tx"
        return f"(({own} + {self.turned}) % {self.count})" if self.turned else own


@dataclass(frozen=True)
class Tile:
    """A buffer of int32 in shared memory, or a stage of one."""

    name: str
    elements: int
    stage: str = ""

    def at(self, index: str) -> str:
        return f"{self.name}[{self.stage}{index}]"

    def staged(self, stages: int, number: str) -> Tile:
        part = self.elements // stages
        return Tile(self.name, part, f"{number} % {stages} * {part} + ")

    def pointer(self, mask: int) -> str:
        offset = self.stage.removesuffix(" + ") or "0"
        kind = 'T.type_annotation("int32")'
        return f"T.tvm_access_ptr({kind}, {self.name}.data, {offset}, {self.elements}, {mask})"


class TextGrower(Grower):
    """Grows statements; `threads` are those of a block."""

    def __init__(self, pick: Pick, threads: int = 64, blocks: int = 1) -> None:
        super().__init__(pick)
        self.all = Threads(0, threads)
        self.blocks = blocks
        self._buffers: list[str] = []
        self._used: set[str] = set()
        self.salt = 0

    def text(self, body: str) -> str:
        """The kernel."""
        buffers = "\n".join(self._buffers)
        header = _HEADER.format(blocks=self.blocks, threads=self.all.count, buffers=buffers)
        return header + body

    def tile(self, elements: int = 0) -> Tile:
        """A buffer of its own."""
        count = elements or self.one_of((32, 64, 96, 128))
        name = "ABCEFGHI"[len(self._buffers)]
        self._buffers.append(f'{name} = T.alloc_buffer(({count},), "int32", scope="shared.dyn")')
        return Tile(name, count)

    def mostly(self, text: str, one_in: int = 12) -> str:
        """The text, but for one time in so many."""
        return "" if self.chance(one_in) else text

    def number(self) -> int:
        self.salt += 37
        return self.salt

    # What a group does to a tile

    def places(self, tile: Tile, who: Threads) -> list[str]:
        """The indices with which the threads of a group reach all of a tile."""
        if tile.elements < who.count:
            return [f"({who.rank} % {tile.elements})"]
        rounds = -(-tile.elements // who.count)
        if rounds * who.count != tile.elements:
            rank = who.rank
            return [f"(({rank} + {one * who.count}) % {tile.elements})" for one in range(rounds)]
        return [f"({who.rank} + {one * who.count})" for one in range(rounds)]

    def fill(self, tile: Tile, who: Threads, varying: str = "0") -> str:
        """Writes all of a tile."""
        salt = self.number()
        found = ""
        for place in self.places(tile, who):
            value = self.one_of((f"D[{place} + {salt}]", f"{place} * 5 + {salt}"))
            found += f"{tile.at(place)} = {value} + {varying} * 1000\n"
        return found

    def read(self, tile: Tile, who: Threads, *, own: bool = False) -> str:
        """Reads a tile; with `own`, each thread what it wrote itself."""
        value = self.one_of(("{}", "{}", "{}", *READ_WITHIN))
        if own:
            places = self.places(tile, who)
            return "".join(f"O[tx] = {value.format(tile.at(one))}\n" for one in places)
        count = tile.elements
        index = self.one_of(
            (
                f"({count - 1} - {who.rank} % {count})",
                f"(({who.rank} + {self.pick(1, 40)}) % {count})",
                f"({who.rank} * 3 % {count})",
            )
        )
        return f"O[tx] = {value.format(tile.at(index))}\n"

    def sync(self, who: Threads) -> str:
        """A barrier of a group."""
        if who.count == self.all.count:
            return SYNC
        if who.count == 32 and self.chance(2):
            return "T.sync_warp()\n"
        return f'T.tvm_storage_sync("shared", {who.barrier}, {who.count})\n'

    def use(self, tile: Tile, who: Threads, varying: str = "0") -> str:
        """Fills a tile and reads it: each thread for itself, or with a barrier in between."""
        meet = self.sync(who)
        again = tile.name in self._used or varying != "0"
        before = self.mostly(meet, 40) if again else ""
        self._used.add(tile.name)
        fill = before + self.fill(tile, who, varying)
        if self.chance(3) and tile.elements >= who.count:
            return fill + self.read(tile, who, own=True)
        return fill + self.mostly(meet, 40) + self.read(tile, who)

    def uses(self, tiles: Sequence[Tile], who: Threads, varying: str = "0") -> str:
        """One tile after the other, with a barrier in between or not."""
        found = ""
        for tile in tiles:
            found += self.use(tile, who, varying)
            found += self.sync(who) if self.chance(2) else ""
        return found

    # Groups, loops, branches

    def split(self, *counts: int) -> list[Threads]:
        """Groups of so many threads, from the first on."""
        found, first = [], 0
        for number, count in enumerate(counts):
            found.append(Threads(first, count, number + 1))
            first += count
        return found

    def arms(self, parts: Sequence[tuple[Threads, str]]) -> str:
        """Each group does its own, in any order."""
        found = [under(f"if {who.condition}", body) for who, body in parts]
        if self.chance(3):
            found.reverse()
        return "".join(found)

    def one_thread(self, who: Threads, body: str) -> str:
        lane = who.first + (self.pick(0, 31) if self.chance(4) else 0)
        return under(f"if tx == {lane}", body)

    def rounds(self, name: str, count: int, one_in: int = 5) -> str:
        """The header of a loop of `count` rounds, of as many as data say, or another number in each
        block."""
        if self.chance(one_in):
            return f"for {name} in range(D[{self.pick(0, 50)}] & {self.one_of((1, 3, 7, 15))})"
        if self.chance(12) and self.on_grid():
            return f"for {name} in range({self.one_of(('bx', f'(bx + {count}) % 3'))})"
        return f"for {name} in range({count})"

    def on_grid(self) -> bool:
        """Makes the kernel one of several blocks, unless it is a cluster's."""
        if self.blocks == 1:
            self.blocks = 3
        return self.blocks == 3

    def condition(self, loop: str = "") -> str:
        """The same for all threads."""
        at = self.pick(0, 60)
        options = [f"D[{at}] > 0", f"D[{at}] % 2 == 0"]
        if loop:
            options += [f"{loop} % 2 == {self.pick(0, 1)}", f"{loop} == 0", f"D[{loop}] > 0"]
        if self.chance(12) and self.on_grid():
            return f"bx == {self.pick(0, 2)}"
        return self.one_of(options)

    def as_data_say(self, one: str, other: str = "", loop: str = "0") -> str:
        """The one where data hold, else the other: all threads alike in each round, each warp or
        each thread by itself."""
        where = self.one_of(("", "tx // 32 + ", "tx + "))
        at = f"{where}{loop} * 7 + {self.pick(0, 60)}"
        return under(f"if D[{at}] > {self.some_exceed()}", one) + under("else", other)

    def some_exceed(self) -> int:
        """What some of the inputs exceed, or nearly all, or nearly none: they are evenly spread
        from -32,768 to 32,767."""
        return self.pick(0, 10) * 6000 - 30000

    # Mbarriers

    def arrival(self, barrier: str) -> str:
        """In the usual form, or in one that is easily left out."""
        plain = f"T.ptx_arrive_barrier({barrier})"
        words = '"arrive", "relaxed", "cta", "shared::cta", "b64", ""'
        forms = (
            (12, f"{plain}\n"),
            (1, f"c[1] = {plain}\n"),
            (1, under(f"if {plain} >= 0", "c[1] = 1\n")),
            (1, f"T.ptx_cp_async_barrier_noinc({barrier})\n"),
            (1, f"T.ptx.mbarrier({barrier}, {words})\n"),
            (2, self.as_data_say(f"{plain}\n", f"{plain}\n")),
        )
        return self.weighted(forms)

    def initialize(self, counts: Sequence[tuple[str, int]]) -> str:
        body = "".join(
            f"T.ptx_init_barrier_thread_count({one}, {count})\n" for one, count in counts
        )
        return under("if tx == 0", body) + "T.ptx_fence_barrier_init()\n" + SYNC


def wait(barrier: str, parity: str) -> str:
    return f"T.mbarrier_wait_parity({barrier}, {parity})\n"


def arrive(barrier: str) -> str:
    return f"T.ptx_arrive_barrier({barrier})\n"


def tma_load(tile: Tile, barrier: str, coordinate: str, *, expects: bool = True) -> str:
    """One thread's load of a tile, with the bytes announced."""
    announced = f"T.ptx_arrive_barrier_expect_tx({barrier}, {tile.elements * 4})\n"
    load = f"T.tma_load(X, {barrier}, {tile.pointer(2)}, {coordinate})\n"
    return announced + load if expects else load


def cp_async(tile: Tile, place: str, source: str, predicate: str = "") -> str:
    """One element of each thread, for which the predicate holds."""
    kind = 'T.type_annotation("int32")'
    target = f"T.tvm_access_ptr({kind}, {tile.name}.data, {tile.stage}{place}, 1, 2)"
    where = f", {predicate}" if predicate else ""
    return f"T.ptx_cp_async({target}, T.tvm_access_ptr({kind}, X, {source}, 1, 1), 1{where})\n"
