"""Imports programs so that no statement of theirs can end them.

TileLang's examples check and time their kernels on a GPU. Here there is none: what a kernel would
have computed is unknown, and whatever is done with it may fail. A statement that fails gives its
names the value `Anything()`, and the program goes on to the next kernel. Functions that TileLang
reads for itself are left as they are.
"""

from __future__ import annotations

import ast
import importlib.machinery
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

LEFT_ALONE = ("jit", "prim_func", "macro", "autotune")
MOST_ITERATIONS = 48
NOTE, ANYTHING, LIMITED, TRUTH = "__note__", "__anything__", "__limited__", "__truth__"


class Anything:
    """A value of which nothing is known: it takes part in everything and is 1 where it must be."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Anything()

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return 1

    def __index__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return Anything()


def _operator(self: Any, *others: Any) -> Any:
    return Anything()


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
]:
    setattr(Anything, f"__{_name}__", _operator)
    setattr(Anything, f"__r{_name}__", _operator)
for _name in ("neg", "abs", "invert"):
    setattr(Anything, f"__{_name}__", _operator)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Anything, f"__{_name}__", lambda self, other: True)


class _Lenient(ast.NodeTransformer):
    """Puts each statement outside of a kernel into a `try`."""

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [made for each in statements for made in self._made(each)]

    def _made(self, stmt: ast.stmt) -> list[ast.stmt]:
        made = self.visit(stmt)
        return made if isinstance(made, list) else [made]

    def visit_Module(self, node: ast.Module) -> ast.Module:
        futures = [each for each in node.body if _is_preamble(each)]
        node.body = futures + self.body([each for each in node.body if each not in futures])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        decorators = " ".join(ast.unparse(each) for each in node.decorator_list)
        if any(word in decorators for word in LEFT_ALONE):
            return node
        node.body = self.body(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                self.visit_FunctionDef(each)
        return node

    def _block(self, node: Any) -> Any:
        for name in ("body", "orelse", "finalbody"):
            if getattr(node, name, None):
                setattr(node, name, self.body(getattr(node, name)))
        for handler in getattr(node, "handlers", []):
            handler.body = self.body(handler.body)
        return node

    visit_Try = visit_With = _block

    def visit_If(self, node: ast.If) -> Any:
        if not any(isinstance(each, ast.NamedExpr) for each in ast.walk(node.test)):
            empty = ast.arguments([], [], None, [], [], None, [])
            node.test = _call(TRUTH, ast.Lambda(empty, node.test))
        return _at(self._block(node), node)

    def visit_For(self, node: ast.For) -> Any:
        node.iter = _call(LIMITED, node.iter)
        return _guarded(self._block(node), [])

    def visit_While(self, node: ast.While) -> Any:
        return self._block(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return _guarded(node, node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return _guarded(node, [node.target]) if node.value is not None else node

    def _simple(self, node: Any) -> Any:
        return _guarded(node, [])

    visit_Expr = visit_Assert = visit_AugAssign = visit_Delete = _simple

    def visit_Return(self, node: ast.Return) -> Any:
        made = _guarded(node, [])
        made.handlers[0].body.append(_at(ast.Return(_call(ANYTHING)), node))
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return node


def _is_preamble(stmt: ast.stmt) -> bool:
    docstring = isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
    return docstring or (isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__")


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _at(made: Any, origin: ast.stmt) -> Any:
    ast.copy_location(made, origin)
    return ast.fix_missing_locations(made)


def _guarded(stmt: ast.stmt, targets: Iterable[ast.expr]) -> ast.Try:
    names = [
        each.id
        for target in targets
        for each in ast.walk(target)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]
    handler: list[ast.stmt] = [ast.Expr(_call(NOTE))]
    handler += [ast.Assign([ast.Name(name, ast.Store())], _call(ANYTHING)) for name in names]
    caught = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, handler)
    made: ast.Try = _at(ast.Try([stmt], [caught], [], []), stmt)
    return made


failures: list[str] = []


def _note() -> None:
    error = sys.exc_info()[1]
    frame = sys._getframe(1)
    where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
    failures.append(f"{where}: {type(error).__name__}: {str(error).strip()[:300]}")


def _limited(values: Iterable[Any]) -> Iterator[Any]:
    return itertools.islice(iter(values), MOST_ITERATIONS)


def _truth(condition: Any) -> bool:
    try:
        return bool(condition())
    except Exception:
        _note()
        return True


NAMES = {NOTE: _note, ANYTHING: Anything, LIMITED: _limited, TRUTH: _truth}


def compiled(source: str, path: str) -> CodeType:
    """The code of a program none of whose statements ends it; `NAMES` are what it calls."""
    return compile(_Lenient().visit(ast.parse(source, path)), path, "exec", dont_inherit=True)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads the modules that lie beside a program as leniently as the program itself."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compiled(Path(path).read_text(), path)

    def exec_module(self, module: Any) -> None:
        vars(module).update(NAMES)
        super().exec_module(module)


class _MissingModule(Anything):
    """A module that is not installed here."""

    __path__: list[str] = []
    __file__ = "missing"
    __spec__ = None

    def __getattr__(self, name: str) -> Any:
        return "3.0.0" if name == "__version__" else super().__getattr__(name)


class Finder:
    """Finds the modules of a tree, leniently, and stands in for those that are missing."""

    def __init__(self, tree: Path, missing: Iterable[str]):
        self.tree = tree
        self.missing = frozenset(missing)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] in self.missing:
            loader: Any = self
            return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)
        for folder in map(Path, path if path is not None else sys.path):
            if not folder.is_relative_to(self.tree):
                continue
            stem = folder / fullname.rpartition(".")[2]
            for file, package in ((stem / "__init__.py", True), (stem.with_suffix(".py"), False)):
                if file.is_file():
                    spec = importlib.machinery.ModuleSpec(
                        fullname, Loader(fullname, str(file)), origin=str(file), is_package=package
                    )
                    spec.has_location = True
                    if package:
                        spec.submodule_search_locations = [str(stem)]
                    return spec
        return None

    def create_module(self, spec: Any) -> Any:
        return _MissingModule()

    def exec_module(self, module: Any) -> None:
        pass
