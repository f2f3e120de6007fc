"""Kernels that a program compiles, and the same lowered once more with delays in them, or mended.

What is put in is put into the function that has all its barriers, shortly before code is generated.
So the CUDA that comes of it is the kernel's own, with these lines and no others.
"""

from __future__ import annotations

import linecache
import runpy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import tilelang
import torch
from tilelang import tvm
from tilelang.jit import JITKernel
from tilelang.transform.pass_config import normalize_pass_configs

from smemreuse._version import __version__
from smemreuse.compilers.active import activated, confined
from smemreuse.compilers.records import Recorder
from smemreuse.compilers.tilelang.arguments import arguments_of, noted_arguments
from smemreuse.compilers.tilelang.hooks import install
from smemreuse.compilers.tilelang.looking import LookingSession
from smemreuse.compilers.tilelang.lower_only import lowering_only
from smemreuse.compilers.tilelang.mending import MendWriter, Synchronized
from smemreuse.compilers.tilelang.visitor import tirx
from smemreuse.errors import BackendError
from smemreuse.ir.kernel import Block, For, Kernel, Stmt
from smemreuse.ir.tree import StatementTree
from smemreuse.linter import Apart, counterparts, lint_apart, taken_apart
from smemreuse.pipeline.options import checked_options
from smemreuse.reproduce.arguments import LaunchArgument
from smemreuse.reproduce.cuda import FILL, with_definitions, with_products, without_delays
from smemreuse.reproduce.delays import Attempt, Delay
from smemreuse.reproduce.snippet import Snippet, snippet_of
from smemreuse.results.elaboration import Elaboration
from smemreuse.results.hazards import LintReport
from smemreuse.results.mending import Edit, Mended, Mending

# What a program compiles --------------------------------------------------------------------------


@dataclass(eq=False)
class CompiledKernel:
    """A `JITKernel` as a program made it: what it was lowered from and for, and its CUDA.

    `arguments` say with what it can be launched, as `arguments_of` has it; None where that is not
    known.
    """

    func: Any
    target: Any
    pass_configs: Mapping[str, Any]
    source: str
    functions: Sequence[Synchronized]
    elaboration: Elaboration
    arguments: Sequence[LaunchArgument] | None = None

    @property
    def name(self) -> str:
        return str(self.func.attrs["global_symbol"])

    @cached_property
    def launches(self) -> list[LaunchedKernel]:
        """The kernels that it launches."""
        return [
            LaunchedKernel(self, function, number)
            for function in self.functions
            for number in range(len(function.kernels))
        ]

    @cached_property
    def as_json(self) -> str | None:
        """The function as TVM writes it; None where what TVM reads back is another one, as with
        layouts that a program annotates."""
        text = str(tvm.ir.save_json(self.func))
        again = tvm.ir.load_json(text)
        if tvm.ir.structural_equal(self.func, again):
            return text
        try:
            return text if self.lowered({}, again) == self.source else None
        except Exception:  # TVM's and TileLang's own, of whatever type
            return None

    @cached_property
    def snippet(self) -> Snippet | None:
        """The Python that makes the function, if it stands by itself: TileLang makes the same CUDA
        of what it gives."""
        source = self.elaboration.source
        if source is None:
            return None
        text = "\n".join(map(str.rstrip, linecache.getlines(source.file)))
        found = snippet_of(text, self.elaboration)
        if found is None:
            return None
        with TemporaryDirectory() as folder:
            path = Path(folder, f"{self.name}.py")  # TileLang reads the text of what it elaborates
            path.write_text(found.text)
            try:
                func = eval(found.expression, runpy.run_path(str(path)))
                return found if self.lowered({}, func) == self.source else None
            except Exception:  # whatever the program's own code raises without the rest of it
                return None

    def lowered(self, replaced: Mapping[str, Any], func: Any = None) -> str:
        """The CUDA of the same function, or another, with other device functions in it."""
        func = self.func if func is None else func
        session = LookingSession.of(checked_options("dataflow", "best", "speed", strict=False))
        session.replaced = replaced
        return lowered_in(session, func, self.target, self.pass_configs)


def lowered_in(session: Any, func: Any, target: Any, pass_configs: Mapping[str, Any]) -> str:
    """The CUDA of a function, lowered in a session."""
    config = normalize_pass_configs(dict(pass_configs))
    with confined(session), tvm.transform.PassContext(opt_level=3, config=config), target:
        lowered = tilelang.lower(func, target=target)
    return str(lowered.kernel_source)


@contextmanager
def collecting(*, lower_only: bool, arch: str | None) -> Iterator[list[CompiledKernel]]:
    """Inside, what a program compiles is added to the list, in order.

    With `lower_only` nothing is compiled, and a launch raises `LoweredOnlyError`.
    """
    install()
    session = LookingSession.of(checked_options("dataflow", "best", "speed", strict=False))
    session.lower_only = lower_only
    found: list[CompiledKernel] = []
    by_kernel: dict[int, CompiledKernel] = {}

    def compiling(stock: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stock)
        def compiled(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
            session.looked.functions = []
            adapter = stock(self, func, *args, **kwargs)
            if session.looked.functions:
                functions, elaborations = zip(*session.looked.functions, strict=True)
                made = CompiledKernel(
                    func,
                    self.target,
                    _pass_configs(self),
                    str(adapter.get_kernel_source(kernel_only=True)),
                    functions,
                    elaborations[0],
                    arguments_of(adapter.params),
                )
                by_kernel[id(self)] = made
                found.append(made)
            return adapter

        return compiled

    def calling(stock: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stock)
        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            made = by_kernel.pop(id(self), None)  # the first launch is as good as any other
            if made is not None:
                made.arguments = noted_arguments(self.adapter, args) or made.arguments
            return stock(self, *args, **kwargs)

        return called

    with ExitStack() as stack:
        if lower_only:
            folder = stack.enter_context(TemporaryDirectory())
            stack.enter_context(lowering_only(Recorder(Path(folder)), arch))
        for name, wrapper in (
            ("_compile_and_create_adapter", compiling),
            ("__call__", calling),
        ):
            wrapped = wrapper(getattr(JITKernel, name))
            stack.enter_context(patch.object(JITKernel, name, wrapped))
        stack.enter_context(activated(session))
        yield found


def _pass_configs(kernel: Any) -> dict[str, Any]:
    """What a kernel is compiled with, flags of the device compiler among it."""
    found = {str(getattr(key, "value", key)): of for key, of in (kernel.pass_configs or {}).items()}
    if kernel.compile_flags:
        found.setdefault("tl.device_compile_flags", list(kernel.compile_flags))
    return found


# One of its kernels, with delays in it ------------------------------------------------------------


MOST_LOWERINGS = 8
"""TileLang may give two workspaces of one kernel their names in either order, by where in memory
its objects are: a kernel is lowered again until its names are those of the original."""

_PLAIN = Attempt("")
_LOWERING = threading.RLock()
"""TileLang's lowering has global state, what is known of a kernel is found once, and neither takes
less time in several threads."""


@dataclass(eq=False)
class LaunchedKernel:
    """One kernel of a function that has its barriers, its hazards, and what it becomes."""

    made: CompiledKernel
    function: Synchronized
    number: int
    _sources: dict[object, str] = field(default_factory=dict)

    @property
    def kernel(self) -> Kernel:
        return self.function.kernels[self.number]

    @cached_property
    def _apart(self) -> Apart:
        return taken_apart(self.kernel)

    @cached_property
    def report(self) -> LintReport:
        """Its hazards, with their statements."""
        return lint_apart(self._apart, follow=False)

    @cached_property
    def mendings(self) -> tuple[Mending, ...]:
        """What came of mending its function."""
        return self.function.mended()[1]

    @property
    def body(self) -> Block:
        """The statements that its hazards name."""
        return self._apart.kernel.body

    @property
    def mends(self) -> tuple[Mended, ...]:
        with _LOWERING:
            return tuple(mended for one in self.mendings for mended in one.mends)

    @property
    def unfixed(self) -> frozenset[str]:
        with _LOWERING:
            left = [one.after for one in self.mendings]
        return frozenset(one.fingerprint(of.kernel) for of in left for one in of.hazards)

    @property
    def original(self) -> str:
        return self.made.source

    @property
    def base(self) -> str:
        return self.made.source

    @property
    def apart(self) -> str | None:
        return None

    @property
    def elaboration(self) -> Elaboration:
        return self.made.elaboration

    @property
    def arguments(self) -> Sequence[LaunchArgument] | None:
        return self.made.arguments

    @property
    def func(self) -> str | None:
        with _LOWERING:
            return self.made.as_json

    @property
    def snippet(self) -> Snippet | None:
        with _LOWERING:
            return self.made.snippet

    @property
    def target(self) -> Mapping[str, str]:
        return {"kind": "cuda", "arch": str(self.made.target.attrs["arch"])}

    @property
    def pass_configs(self) -> Mapping[str, Any]:
        return self.made.pass_configs

    def source(self, attempt: Attempt, edits: Sequence[Edit] = ()) -> str:
        """The CUDA of its function with an attempt and with edits in it.

        Raises `BackendError` where these cannot be written. Threads may call it, one lowers.
        """
        with _LOWERING:
            key = (attempt.delays, attempt.fill, tuple(edits))
            if key not in self._sources:
                self._sources[key] = self._lowered_alike(attempt, edits)
            return self._sources[key]

    def _lowered_alike(self, attempt: Attempt, edits: Sequence[Edit]) -> str:
        """The CUDA with the names of what it has without the attempt, if TileLang gives them."""
        found = self._source(attempt, edits)
        if attempt.is_plain:
            return found
        must = self.source(_PLAIN, edits)
        for _ in range(MOST_LOWERINGS - 1):
            if without_delays(found) == must:
                break
            found = self._source(attempt, edits)
        return found

    def _source(self, attempt: Attempt, edits: Sequence[Edit]) -> str:
        if attempt.is_plain and not edits:
            return self.made.source
        writer = MendWriter(self.function.func, self.function.reader)
        more: dict[tuple[int, bool], list[Any]] = {}
        for delay in attempt.delays:
            stmt = self._live(delay.stmt)
            call = self._delay(writer, stmt, delay)
            more.setdefault((writer.place(stmt), delay.after), []).append(call)
        prologues = None
        if attempt.fill is not None:
            filled = _call(FILL, tirx.IntImm("uint32", attempt.fill))
            prologues = [[filled] for _ in self.function.kernels]
        func = writer.written(edits, more, prologues)
        lowered = self.made.lowered({self.function.name: func})
        return with_definitions(with_products(lowered))

    def _live(self, stmt: Stmt) -> Stmt:
        """The kernel's own statement, where lint has taken its buffers apart."""
        if self._apart.kernel is self.kernel:
            return stmt
        found = (counterparts(self._apart.kernel, self.kernel) or {}).get(stmt)
        if found is None:
            raise BackendError("the statement's place in the merged kernel is not known")
        return found

    def _delay(self, writer: MendWriter, stmt: Stmt, delay: Delay) -> Any:
        path = StatementTree(self.kernel.body).path(stmt)
        loops = {one.stmt.var.name: one.stmt.var for one in path if isinstance(one.stmt, For)}
        rounds = []
        for name, value in delay.loops:
            if name not in loops:
                raise BackendError(f"there is no loop {name} around the statement")
            rounds.append(tirx.EQ(writer.variable(loops[name]), tirx.IntImm("int32", value)))
        now = reduce(tirx.And, rounds) if rounds else tirx.IntImm("bool", 1)
        numbers = (delay.first, delay.end, delay.count)
        return _call(delay.what, *(tirx.IntImm("int32", one) for one in numbers), now)


def _call(name: str, *operands: Any) -> Any:
    """A statement that calls a device function of ours."""
    return tirx.Evaluate(tirx.call_extern("int32", name, *operands))


def has_gpu() -> bool:
    """Whether PyTorch sees a GPU here."""
    return bool(torch.cuda.is_available())


def environment(made: CompiledKernel) -> dict[str, str]:
    """What a kernel was compiled by and for, and what it can be launched on here."""
    found = {
        "tilelang": str(tilelang.__version__),
        "smemreuse": __version__,
        "torch": str(torch.__version__),
        "arch": str(made.target.attrs["arch"]),
    }
    if has_gpu():
        found |= {"card": str(torch.cuda.get_device_name()), "cuda": str(torch.version.cuda)}
    return found
