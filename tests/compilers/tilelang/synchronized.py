"""Small kernels as text, with plans of any kind, judged on the dump and behind the real passes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

from tilelang import tvm
from tvm.script import ir, tirx

from smemreuse.audit import BarrierStage
from smemreuse.compilers.functions import DeviceFunction
from smemreuse.compilers.tilelang.rewrite import apply_plans
from smemreuse.compilers.tilelang.verify import with_barriers
from smemreuse.compilers.tilelang.visitor import TirVisitor
from smemreuse.ir.kernel import Kernel
from smemreuse.linter import lint
from smemreuse.pipeline.judging import judge, judge_with_barriers
from smemreuse.pipeline.planning import plan_kernel
from smemreuse.results.hazards import Hazard, HazardKind
from smemreuse.results.plan import Plan
from smemreuse.results.verdict import Verdict

_HEADER = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def main(X: T.handle("float32", "global"), Y: T.handle("float32", "global"),
             Z: T.handle("int32", "global"), n: T.int32):
        T.func_attr({{"target": T.target({{"arch": "sm_90a", "keys": ["cuda", "gpu"],
            "kind": "cuda", "max_num_threads": 1024, "tag": "", "thread_warp_size": 32}}),
            "tirx.is_global_func": True, "tirx.noalias": True}})
        D = T.decl_buffer((65536,), "float32", data=X)
        O = T.decl_buffer((65536,), "float32", data=Y)
        L = T.decl_buffer((65536,), "int32", data=Z)
        bx = T.launch_thread("blockIdx.x", {blocks})
{buffers}
        c = T.alloc_buffer((4,), "int32", scope="local")
        r = T.alloc_buffer((8,), "int32", scope="local")
        da = T.alloc_buffer((1,), "uint64", scope="local.descriptor.wgmma")
        acc = T.alloc_buffer((64,), "float32", scope="local")
        tx = T.launch_thread("threadIdx.x", {threads})
        ty = T.launch_thread("threadIdx.y", 1)
        tz = T.launch_thread("threadIdx.z", 1)
"""

THREADS = 64
_OPERATIONS = (
    "ptx_ldmatrix",
    "ptx_stmatrix",
    "initialize_wgmma_descriptor",
    "ptx_wgmma_ss",
    "warpgroup_arrive",
    "warpgroup_commit_batch",
    "warpgroup_wait",
)


@dataclass(frozen=True)
class Shared:
    """A buffer of the dynamic scope: how many elements of which type, and where a plan puts it."""

    name: str
    dtype: str
    elements: int
    offset: int = 0


def text_of(
    buffers: tuple[Shared, ...], body: str, threads: int = THREADS, blocks: str = "4"
) -> str:
    """A module with one device kernel: D and L are global inputs, O the output, n is a number."""
    declared = "".join(
        f"        {one.name} = "
        f'T.alloc_buffer(({one.elements},), "{one.dtype}", scope="shared.dyn")\n'
        for one in buffers
    )
    header = _HEADER.format(buffers=declared, threads=threads, blocks=blocks)
    return header + indent(body, "        ")


def verdicts(
    buffers: tuple[Shared, ...], body: str, threads: int = THREADS, blocks: str = "4"
) -> tuple[Verdict, Verdict]:
    """What is said of the plan on the dump, and behind the passes that insert fences and barriers
    into the kernel under that same plan."""
    kernel, plan, behind = synchronized(buffers, body, threads, blocks)
    return judge(kernel, plan), judge_with_barriers([behind], [[plan]])[0]


def synchronized(
    buffers: tuple[Shared, ...], body: str, threads: int = THREADS, blocks: str = "4"
) -> tuple[Kernel, Plan, Kernel]:
    """A kernel, a plan with its buffers where these say, and the kernel behind the passes."""
    known: dict[str, Any] = {"T": tirx, "I": ir}
    known |= {name: tvm.ir.Op.get(f"tl.{name}") for name in _OPERATIONS}
    known["storage_sync"] = tvm.ir.Op.get("tirx.tvm_storage_sync")  # with a number
    func = tvm.script.from_source(text_of(buffers, body, threads, blocks), extra_vars=known)["main"]
    function = DeviceFunction("main", func, TirVisitor())
    (kernel,) = function.kernels
    scope = "shared.dyn"
    plan = plan_kernel(kernel, scope, policy="outer", objective="none")
    places: Mapping[str, int] = {one.name: one.offset for one in buffers}
    used = {one: places[one.name] for one in kernel.allocations(scope) if one in plan.offsets}
    arena = max((at + (one.size or 0) for one, at in used.items()), default=0)
    plan = replace(plan, offsets=used, arena_bytes=arena, alignments=dict.fromkeys(used, 1))
    merged = with_barriers("main", apply_plans(func, function.visitor, [[plan]]))
    (behind,) = function.visitor.again().kernels("main", merged)
    return kernel, plan, behind


# Random kernels -----------------------------------------------------------------------------------

_TYPES = {"float32": 4, "float16": 2, "int8": 1}


class Random:
    """Makes one kernel; the same seed makes the same."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        pick = self._random
        self.buffers = tuple(
            Shared(name, dtype, 256 // _TYPES[dtype], pick.choice((0, 0, 0, 64, 128)))
            for name, dtype in zip(
                "ABCD"[: pick.choice((2, 2, 3))], pick.choices(list(_TYPES), k=4), strict=False
            )
        )
        self._names = 0
        self.body = "".join(self._block(0, ()))

    def _block(self, depth: int, loops: tuple[str, ...]) -> Iterator[str]:
        for _ in range(self._random.randint(2, 4)):
            yield self._statement(depth, loops)

    def _statement(self, depth: int, loops: tuple[str, ...]) -> str:
        pick = self._random.random()
        if depth < 3 and pick < 0.16:
            name = self._fresh("k")
            inside = "".join(self._block(depth + 1, (*loops, name)))
            kind = self._random.choice(("range", "range", "T.unroll"))
            count = self._random.choice((*map(str, range(1, 6)), "bx + 1", "bx % 3"))
            kind = kind if count.isdigit() else "range"
            return f"for {name} in {kind}({count}):\n{indent(inside, '    ')}"
        if depth < 3 and pick < 0.30:
            inside = "".join(self._block(depth + 1, loops))
            text = f"if {self._condition(loops)}:\n{indent(inside, '    ')}"
            if self._random.random() < 0.3:
                text += f"else:\n{indent(''.join(self._block(depth + 1, loops)), '    ')}"
            return text
        if pick < 0.33 and not depth:
            return 'T.tvm_storage_sync("shared")\n'
        if pick < 0.36 and depth < 2:
            inside = "".join(self._block(depth + 1, loops)) + "c[0] = c[0] + 1\n"
            return f"c[0] = 0\nwhile c[0] < 3:\n{indent(inside, '    ')}"
        return self._access(loops)

    def _fresh(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def _condition(self, loops: tuple[str, ...]) -> str:
        found = ["tx < 32", "32 <= tx", "L[0] < 3", "bx == 0", "0 < bx", "bx % 2 == 1"]
        found += [f"{loop} % 2 == 0" for loop in loops] + [f"{loop} < 2" for loop in loops]
        return self._random.choice(found)

    def _access(self, loops: tuple[str, ...]) -> str:
        one = self._random.choice(self.buffers)
        pick = self._random.random()
        if pick < 0.1:
            mask, call = self._random.choice(((1, "ldmatrix"), (2, "stmatrix")))
            at = self._random.choice(("0", "tx * 2 % 32", "tx % 8 * 4"))
            if loops and self._random.random() < 0.4:
                loop, stages = self._random.choice(loops), self._random.choice((2, 3))
                at = f"{at} + ({loop} + {self._random.randint(0, 2)}) % {stages} * 16"
            size = _TYPES[one.dtype]
            pointer = (
                f'T.tvm_access_ptr(T.type_annotation("{one.dtype}"), {one.name}.data, {at}, '
                f"{max(16 // size, 1)}, {mask})"
            )
            if call == "ldmatrix":
                target = 'T.tvm_access_ptr(T.type_annotation("int32"), r.data, 0, 4, 2)'
                operands = f"T.bool(False), 4, {pointer}, {target}"
                return f'T.evaluate(T.call_intrin("int32", ptx_ldmatrix, {operands}))\n'
            operands = f'0, 4, {pointer}, r[0], r[1], r[2], r[3], "m8n8"'
            return f'T.evaluate(T.call_intrin("int32", ptx_stmatrix, {operands}))\n'
        index = self._index(one, loops)
        text = ""
        if self._random.random() < 0.12:
            name = self._fresh("v")
            text, index = f"{name}: T.int32 = {index}\n", name
        elif self._random.random() < 0.06:
            text, index = f"c[1] = {index}\n", "c[1]"
        if pick < 0.5:
            value = self._random.choice(("D[tx]", "D[tx + 1]"))
            cast = value if one.dtype == "float32" else f'T.Cast("{one.dtype}", {value})'
            return f"{text}{one.name}[{index}] = {cast}\n"
        load = f"{one.name}[{index}]"
        load = load if one.dtype == "float32" else f'T.Cast("float32", {load})'
        return f"{text}O[tx] = {load}\n"

    def _index(self, one: Shared, loops: tuple[str, ...]) -> str:
        size, most = one.elements, THREADS
        base = self._random.choice(
            (
                "tx",
                "tx",
                f"{most - 1} - tx",
                "tx % 32",
                "tx // 2",
                "(tx + 1) % 64",
                "tx % 8 * 8",
                "5",
            )
        )
        if loops and self._random.random() < 0.5:
            loop = self._random.choice(loops)
            step = self._random.choice((1, 2, 8, 16, 32, 64))
            wrap = self._random.choice(("", " % 2", " % 3"))
            base = f"{base} + {loop}{wrap} * {step}"
        return f"({base}) % {size}"


def random_verdicts(seed: int) -> tuple[Verdict, Verdict, str]:
    """Those of a random kernel and plan, and its text."""
    made = Random(seed)
    dump, behind = verdicts(made.buffers, made.body)
    return dump, behind, f"{made.buffers}\n{made.body}"


def random_races(seed: int) -> tuple[list[Hazard], list[Hazard], str]:
    """What `lint` says of the order of accesses in a random kernel, each buffer at a place of its
    own: of the dump, and behind the passes. And its text."""
    made, end = Random(seed), 0
    buffers = []
    for one in made.buffers:
        buffers.append(replace(one, offset=end))
        end += one.elements * _TYPES[one.dtype]
    kernel, _, behind = synchronized(tuple(buffers), made.body)
    reports = lint(kernel, BarrierStage.LATER), lint(behind, BarrierStage.PRESENT)
    races = [[one for one in report.hazards if one.kind is HazardKind.RACE] for report in reports]
    return races[0], races[1], f"{made.buffers}\n{made.body}"
