"""TileLang functions as text, and back.

TVM's JSON keeps all of a function but one thing: the layouts that a program asks for are written in
variables that each process of TileLang has its own of, and that are known by identity.
"""

from __future__ import annotations

from typing import Any

from tilelang import tvm
from tilelang.layout import Fragment, Layout

FIRST = ord("i")


def text_of(func: Any) -> str:
    """A function as TVM's JSON."""
    return str(tvm.ir.save_json(func))


def function_of(text: str) -> Any:
    """The function of a text, as good as the one that it was made of."""
    func = tvm.ir.load_json(text)
    body = tvm.tirx.stmt_functor.ir_transform(
        func.body, None, _with_own_layouts, ["tirx.SBlock", "tirx.For", "tirx.AttrStmt"]
    )
    return func.with_body(body)


def _with_own_layouts(stmt: Any) -> Any:
    annotations = getattr(stmt, "annotations", None)
    if not annotations or "layout_map" not in annotations:
        return stmt
    layouts = {var: _own(layout) for var, layout in annotations["layout_map"].items()}
    return tvm.tirx.SBlock(
        stmt.iter_vars,
        stmt.reads,
        stmt.writes,
        stmt.name_hint,
        stmt.body,
        stmt.init,
        stmt.alloc_buffers,
        stmt.match_buffers,
        {**annotations, "layout_map": layouts},
    )


def _own(layout: Any) -> Any:
    """A layout in the variables of this process."""
    shape = list(layout.input_size)

    def in_terms_of(variables: tuple[Any, ...], expr: Any) -> Any:
        known: dict[Any, Any] = {}
        tvm.tirx.stmt_functor.post_order_visit(
            expr, lambda node: known.update(_place(node, variables))
        )
        return tvm.tirx.stmt_functor.substitute(expr, known)

    def index(*own: Any) -> Any:
        return tvm.runtime.convert([in_terms_of(own, one) for one in layout.forward_index])

    if not isinstance(layout, Fragment):
        return Layout(shape, index)
    return Fragment(
        shape,
        forward_thread_fn=lambda *own: in_terms_of(own, layout.forward_thread),
        forward_index_fn=index,
        replicate=int(layout.replicate_size),
    )


def _place(node: Any, variables: tuple[Any, ...]) -> dict[Any, Any]:
    """What stands for a placeholder, `_i`, `_j` and so on for the dimensions and `_rep`."""
    if not isinstance(node, tvm.tirx.Var):
        return {}
    if node.name == "_rep":
        return {node: variables[-1]}
    if len(node.name) == 2 and node.name[0] == "_" and ord(node.name[1]) >= FIRST:
        return {node: variables[ord(node.name[1]) - FIRST]}
    return {}
